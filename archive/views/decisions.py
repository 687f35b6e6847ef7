"""Decisions of a run, and one of them walked back to the plays that it was taken on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console

from archive.errors import LookupFailedError
from archive.run import Row, Run, explanation
from archive.schema import DecisionRule, Definition, GainKind, TaskId, Verdict
from archive.statistics.decisions.decision_cases import cases
from archive.statistics.decisions.decision_rule import Answer, Decision, helps, is_new
from archive.statistics.decisions.replay import (
    Case,
    MissingPlaysError,
    Policies,
    RaceReplay,
    decide_again,
    replay,
)
from archive.statistics.decisions.scripts import (
    ScriptComparison,
    apply_script_gate,
    replay_script_comparison,
)
from archive.statistics.values.intervals import Interval
from archive.views.tables import SHORT, add, interval, number, plain_text, table


@dataclass(frozen=True)
class Gain:
    """What fine-tuning on ``trained_on`` gained on ``played``: the mean, in bits, of the scores of
    ``policy_id`` (and its replicates) minus those of the base player, over ``plays`` plays."""

    policy_id: str
    trained_on: str
    played: str
    bits: float | None
    plays: int


@dataclass(frozen=True)
class Step:
    """One question of the rule: the gain it rests on, and the one that it is a share of; the
    estimate with its bounds, what they are compared with, the answer."""

    question: str
    gain: Gain
    of: Gain | None
    value: float | None
    low: float
    high: float
    threshold: str
    answer: Answer


@dataclass(frozen=True)
class Why:
    """A decision with its steps; ``again`` is what the rule says today, ``failed`` the
    steps that kept the candidate out, ``missing`` what could not be looked up."""

    run_id: str
    row: Mapping[str, Any]
    purpose: str | None
    steps: Sequence[Step] = ()
    again: Mapping[str, Any] | None = None
    failed: Sequence[str] = field(default=())
    missing: str | None = None


def decision_rows(run: Run, verdict: str | None) -> list[Row]:
    """The decisions of a run in order, all columns; of one verdict, or of all."""
    return [row for row in run.decisions if verdict in (None, row["verdict"])]


def explain(run: Run, game: str) -> list[Why]:
    """Every decision of the run on a game, given by id or name.

    Raises LookupFailedError if the run decided nothing on such a game.
    """
    if not run.decisions:
        raise LookupFailedError(f"run {run.run_id}: found no decision, expected at least one")
    initial_ids = [member.game_id for member in run.scopes.get(0, ())]
    decided_ids = [row["game_id"] for row in run.decisions]
    game_id = run.find_game(game, [*decided_ids, *initial_ids])
    if game_id not in decided_ids:
        raise LookupFailedError(
            f"game {game_id}: found no decision, since the run began with it; expected another game"
        )
    return [_why(run, row, case) for row, case in cases(run) if row["game_id"] == game_id]


def _why(run: Run, row: Row, case: Case | None) -> Why:
    start = Why(run.run_id, row, row["purpose"])
    if case is None:
        return start
    policies = run.policies_at(row)
    try:
        result = replay(case, run.plays, policies)
    except (MissingPlaysError, ValueError) as error:
        return Why(run.run_id, row, case.purpose, missing=str(error))
    again, steps = decide_again(case, result), _steps(case, result, policies)
    if run.setting("growth", "beyond_scripts"):
        scripts = replay_script_comparison(case, row, run.plays, policies)
        again = again and apply_script_gate(again, scripts)
        steps += _script_steps(case, policies, result, scripts)
    return Why(
        run.run_id,
        row,
        case.purpose,
        tuple(steps),
        _decision_facts(again),
        tuple(step.question for step in steps if step.answer is not Answer.YES),
    )


def _decision_facts(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        reason = "passed selection; another of its list was preferred"
        return {"verdict": Verdict.REFUSED, "reason": reason, "decided": False}
    return {"verdict": decision.verdict, "reason": decision.reason, "decided": decision.decided}


def _steps(case: Case, result: RaceReplay, policies: Policies) -> list[Step]:
    """The questions in their order; for γ one for each game of the scope, then cross-ratios."""
    rule, candidate, evidence = case.thresholds, case.candidate, result.evidence

    def gain(source: TaskId, target: TaskId) -> Gain:
        mean = result.gains.get((source, target))
        attempts = policies.get(source, ())
        policy = attempts[0][0] if attempts else "unknown"
        bits, plays = (mean.bits, mean.plays) if mean else (None, 0)
        return Gain(policy, source.game_id, target.game_id, bits, plays)

    def share(
        question: str, pair: tuple[TaskId, TaskId], value: Interval, asks: str, answer: Answer
    ) -> Step:
        source, target = pair
        below = (
            gain(target, target) if rule.definition == Definition.CAPTURED else gain(source, source)
        )
        return Step(question, gain(*pair), below, *_numbers(value), asks, answer)

    itself, own = gain(candidate, candidate), evidence.own
    steps = [_gain_step("learns its own game", itself, own.gain)]
    more = rule.rule is not DecisionRule.VALUES
    if more and rule.gain != GainKind.TOTAL:
        steps.append(_gain_step("plays it better in all", itself, own.total, GainKind.TOTAL))
    if more and "helps" in result.questions:
        on_parent = gain(candidate, case.parent)
        total = evidence.help_gain
        steps.append(_gain_step("plays its parent better in all", on_parent, total, GainKind.TOTAL))
    if "helps" in result.questions:
        value, asks = evidence.value(rule), f"low ≥ alpha1 = {rule.alpha1:g}"
        pair, answer = (candidate, case.parent), helps(value, rule.alpha1)
        steps.append(share("helps its parent", pair, value, asks, answer))
    asks = f"high ≤ 1 − alpha2 = {1 - rule.alpha2:g}"
    for game, value in evidence.scope_values.items():
        question = f"is not covered by {game.game_id[:SHORT]}"
        answer = is_new(value, rule.alpha2)
        steps.append(share(question, (game, candidate), value, asks, answer))
    ratios = {case.parent: evidence.parent_cross_ratio} if "mutual" in result.questions else {}
    for game, value in (ratios | dict(evidence.scope_cross_ratios)).items():
        question = f"C·γ with {game.game_id[:SHORT]}"
        answer = is_new(value, rule.alpha2)
        steps.append(share(question, (candidate, game), value, asks, answer))
    return steps


def _gain_step(question: str, gain: Gain, bounds: Interval, kind: GainKind | None = None) -> Step:
    """A gain that must lie above 0; with ``kind``, a gain of that kind and its own mean."""
    answer = Answer.YES if bounds.low > 0 else Answer.NO if bounds.high <= 0 else Answer.OPEN
    shown_gain = gain if kind is None else replace(gain, bits=bounds.value)
    return Step(question, shown_gain, None, *_numbers(bounds), "low > 0", answer)


def _script_steps(
    case: Case, policies: Policies, result: RaceReplay, scripts: ScriptComparison | None
) -> list[Step]:
    """Whether training is beyond every scripted player, in all and about the map."""
    if scripts is None:
        return []
    mean = result.gains.get((case.candidate, case.candidate))
    its = case.candidate.game_id
    attempt = next(iter(policies.get(case.candidate, ())), ())
    policy = next(iter(attempt), "unknown")
    own = Gain(policy, its, its, mean.bits if mean else None, mean.plays if mean else 0)
    best = Gain(scripts.best, its, its, scripts.best_gain, scripts.plays)
    leads = {
        "earns more than any script": scripts.total,
        "and so about the map": scripts.specific,
    }
    return [
        Step(question, own, best, *_numbers(lead), "low > 0", _is_positive(lead))
        for question, lead in leads.items()
    ]


def _is_positive(lead: Interval) -> Answer:
    if lead.low > 0:
        return Answer.YES
    return Answer.NO if lead.high <= 0 else Answer.OPEN


def _numbers(interval: Interval) -> tuple[float | None, float, float]:
    return interval.value, interval.low, interval.high


def show_list(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """A table of decisions; below each game its parent, below each reason the plays that decided.
    It fits into 80 columns."""
    view = table(f"Decisions ({len(rows):,})", "gen", "game", "verdict", "captured", "γ")
    for row in rows:
        value = Definition(row["definition"]).column
        game, parent = row["game_id"][:SHORT], (row["parent_game_id"] or "–")[:SHORT]
        plays = f"{row['purpose']} plays" if row["purpose"] else "no scores"
        add(
            view,
            row["generation"],
            f"{game}\n← {parent}",
            f"{row['verdict']}\n{explanation(row)}\n({plays})",
            interval(row[value], row[f"{value}_low"], row[f"{value}_high"]),
            interval(row["gamma"], row["gamma_low"], row["gamma_high"]),
        )
    console.print(view)


def show_why(explanations: Sequence[Why], console: Console) -> None:
    """Each decision, then every question with the gains that answer it."""
    for why in explanations:
        _show_one(why, console)


def _show_one(why: Why, console: Console) -> None:
    row = why.row
    console.print(plain_text(f"Game {row['game_id']} ({row['role']}), run {why.run_id}"))
    console.print(
        plain_text(
            f"  generation {row['generation']}, parent {row['parent_game_id']}, "
            f"round {row['round']}, index {row['index']}\n"
            f"  {row['verdict']}: {explanation(row)}"
            + ("" if row["decided"] else " (the intervals did not decide it)")
        )
    )
    if why.missing:
        console.print(plain_text(f"  The plays it rests on are not archived: {why.missing}"))
    elif why.again is None:
        console.print(plain_text("  Refused before any play of its own fine-tuning: no bounds."))
    else:
        _show_steps(why, console)


def _show_steps(why: Why, console: Console) -> None:
    console.print(
        plain_text(
            f"  on {why.purpose} plays, at looks after {_looks(why.row)}, gain_kind "
            f"{why.row['gain_kind']}, {why.row['definition']}, "
            f"confidence {why.row['confidence']:g} over all looks"
        )
    )
    steps = table("Questions", "question", "gains in bits", "value", "asks", "answer")
    for step in why.steps:
        gains = "\nover\n".join(_gain_text(gain) for gain in (step.gain, step.of) if gain)
        value = interval(step.value, step.low, step.high)
        add(steps, step.question, gains, value, step.threshold, step.answer)
    console.print(steps)
    again = why.again or {}
    if why.failed:
        console.print(plain_text(f"Not passed: {', '.join(why.failed)}."))
    console.print(
        plain_text(f"Taken again from the scores: {again['verdict']}, {again['reason']}.")
    )


def _looks(row: Mapping[str, Any]) -> str:
    return " and ".join(map(str, row["looks"]))


def _gain_text(gain: Gain) -> str:
    where = f"on {gain.played[:SHORT]}"
    of = f"(of {gain.trained_on[:SHORT]})"
    return f"{number(gain.bits)}: {gain.policy_id[:SHORT]}\n{of}\n{where}, {gain.plays} plays"
