"""Decisions of a run, and one of them walked back to the plays that it was taken on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from archive.cases import Record, Row, cases, record
from archive.derive.intervals import Interval
from archive.derive.matrix import Unit
from archive.derive.replay import Case, MissingPlaysError, Outcome, Replay, outcome, replay
from archive.errors import LookupFailedError
from archive.presentation import SHORT, add, interval, number, shown, table
from archive.query import resolve
from archive.store import Archive

SHOWN = (
    "generation",
    "parent_game_id",
    "round",
    "index",
    "game_id",
    "role",
    "verdict",
    "reason",
    "decided",
    "purpose",
)


@dataclass(frozen=True)
class Step:
    """One question of the rule: the gains it rests on, the estimate, the threshold, the answer.

    ``numerator`` and ``denominator`` name policy and game; gains are means in bits over
    ``plays`` paired plays.
    """

    question: str
    numerator: str
    numerator_gain: float | None
    denominator: str
    denominator_gain: float | None
    value: float | None
    low: float
    high: float
    threshold: str
    answer: str


@dataclass(frozen=True)
class Why:
    """A decision with its steps; ``again`` is what the rule says when asked again, ``failed`` the
    steps that kept the candidate out, ``missing`` what could not be looked up."""

    run_id: str
    row: Mapping[str, Any]
    purpose: str | None
    plays: int
    steps: Sequence[Step] = ()
    again: Mapping[str, Any] | None = None
    failed: Sequence[str] = field(default=())
    missing: str | None = None


def listed(archive: Archive, run_id: str, verdict: str | None) -> list[dict[str, Any]]:
    """The decisions of a run in order, all columns; of one verdict, or of all."""
    filters = [("run_id", "=", run_id)] + ([("verdict", "=", verdict)] if verdict else [])
    return archive.rows("decisions", filters=filters)


def why(archive: Archive, run_id: str, shortened: str) -> list[Why]:
    """Every decision of the run on the game that ``shortened`` names.

    Raises LookupFailedError where the run decided nothing on such a game.
    """
    found = record(archive, run_id)
    if not found.decisions:
        raise LookupFailedError(f"run {run_id}: found no decision, expected at least one")
    game_id = resolve(shortened, [row["game_id"] for row in found.decisions])
    return [_why(found, row, case) for row, case in cases(found) if row["game_id"] == game_id]


def _why(found: Record, row: Row, case: Case | None) -> Why:
    start = Why(found.run_id, row, row["purpose"], 0)
    if case is None:
        return start
    policies = found.policies(row)
    try:
        seen = replay(case, found.plays, policies)
    except (MissingPlaysError, ValueError) as error:
        return Why(found.run_id, row, case.purpose, 0, missing=str(error))
    again = outcome(case, seen)
    steps = tuple(_steps(case, seen, policies))
    return Why(
        found.run_id,
        row,
        case.purpose,
        seen.plays,
        steps,
        _again(again),
        tuple(step.question for step in steps if step.answer != "yes"),
    )


def _again(found: Outcome) -> dict[str, Any]:
    reason = found.reason or "passed selection; another of its list was preferred"
    return {"verdict": found.verdict, "reason": reason, "decided": found.decided}


def _steps(case: Case, seen: Replay, policies: Mapping[Unit, str]) -> list[Step]:
    """The questions that were asked, in order; of γ, one for each game of the scope."""
    rule = case.rule
    own = _answer(seen.own, low_above=0.0)
    on_itself = _policy(case.candidate, case.candidate, policies)
    steps = [
        Step("learns its own game", on_itself, seen.own.value, "", None,
             *_numbers(seen.own), "own_gain_low > 0", own)
    ]  # fmt: skip
    if "helps" in seen.asked:
        value = seen.values.of(rule.definition)
        on_parent = _policy(case.candidate, case.parent, policies)
        below = _policy(case.parent, case.parent, policies)
        if rule.definition == "def37":
            below = on_itself
        gain = seen.values.gain.value
        steps.append(
            Step("helps its parent", on_parent, gain, below, _below(gain, value),
                 *_numbers(value), f"low ≥ alpha1 = {rule.alpha1:g}",
                 _answer(value, low_from=rule.alpha1))
        )  # fmt: skip
    for source, value in seen.taught.items():
        bar = 1 - rule.alpha2
        taught = _policy(source, case.candidate, policies)
        below = on_itself if rule.definition == "captured" else _policy(source, source, policies)
        steps.append(
            Step("is not covered by " + source[0][:SHORT], taught, None, below, None,
                 *_numbers(value), f"high ≤ 1 − alpha2 = {bar:g}", _answer(value, high_to=bar))
        )  # fmt: skip
    return steps


def _answer(
    value: Interval,
    low_above: float | None = None,
    low_from: float | None = None,
    high_to: float | None = None,
) -> str:
    """yes, no, or open: on which side of the threshold the interval lies."""
    if low_above is not None:
        return "yes" if value.low > low_above else "no" if value.high <= low_above else "open"
    if low_from is not None:
        return "yes" if value.low >= low_from else "no" if value.high < low_from else "open"
    assert high_to is not None
    return "yes" if value.high <= high_to else "no" if value.low > high_to else "open"


def _below(gain: float | None, value: Interval) -> float | None:
    """The denominator that makes the gain that value."""
    return gain / value.value if gain is not None and value.value else None


def _numbers(found: Interval) -> tuple[float | None, float, float]:
    return found.value, found.low, found.high


def _policy(source: Unit, target: Unit, policies: Mapping[Unit, str]) -> str:
    name = policies.get(source, "unknown")
    return f"{name[:SHORT]} (of {source[0][:SHORT]}) on {target[0][:SHORT]}"


def show_list(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """A table of decisions."""
    found = table(
        f"Decisions ({len(rows):,})", "gen", "parent", "game", "verdict", "captured", "γ", "on"
    )
    for row in rows:
        value = "captured" if row["definition"] == "captured" else "captured_def37"
        add(
            found,
            row["generation"],
            (row["parent_game_id"] or "–")[:SHORT],
            row["game_id"][:SHORT],
            f"{row['verdict']}\n{row['reason']}",
            interval(row[value], row[f"{value}_low"], row[f"{value}_high"]),
            interval(row["gamma"], row["gamma_low"], row["gamma_high"]),
            row["purpose"] or "no scores",
        )
    console.print(found)


def show_why(found: Why, console: Console) -> None:
    """A decision, then every question with the gains that answer it."""
    row = found.row
    console.print(shown(f"Game {row['game_id']} ({row['role']}), run {found.run_id}"))
    console.print(
        shown(
            f"  generation {row['generation']}, parent {row['parent_game_id']}, "
            f"round {row['round']}, index {row['index']}\n"
            f"  {row['verdict']}: {row['reason']}"
            + ("" if row["decided"] else " (the intervals did not settle it)")
        )
    )
    if found.missing:
        console.print(shown(f"  The plays it rests on are not archived: {found.missing}"))
    elif found.again is None:
        console.print(shown("  Refused before any play of its own fine-tuning: no bounds."))
    else:
        _show_steps(found, console)


def _show_steps(found: Why, console: Console) -> None:
    console.print(
        shown(
            f"  on {found.plays} {found.purpose} plays, gain_kind {found.row['gain_kind']}, "
            f"{found.row['definition']}, bounds at {found.row['confidence']:g}"
        )
    )
    steps = table("Questions", "question", "gain (bits)", "over (bits)", "value", "asks", "answer")
    for step in found.steps:
        gain = f"{step.numerator}\n{number(step.numerator_gain)}"
        below = f"{step.denominator}\n{number(step.denominator_gain)}" if step.denominator else ""
        value = interval(step.value, step.low, step.high)
        add(steps, step.question, gain, below, value, step.threshold, step.answer)
    console.print(steps)
    again = found.again or {}
    if found.failed:
        console.print(shown(f"Not passed: {', '.join(found.failed)}."))
    console.print(shown(f"Taken again from the scores: {again['verdict']}, {again['reason']}."))
