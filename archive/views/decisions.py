"""Decisions of a run, and one of them walked back to the plays that it was taken on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from archive.errors import LookupFailedError
from archive.run import Row, Run, explanation
from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.replay import Case, MissingPlaysError, cases, replay
from archive.statistics.rule import Answer, Evidence, helps, is_new
from archive.text import bounds, listed
from archive.views.inspection import verdict_text
from archive.views.tables import LEGEND, add, judged, short, stacked, table

Step = dict[str, Any]
"""One question of the rule: the ``question``, the estimate (``value``, ``low``, ``high``) with the
``plays`` that it is over, the ``threshold`` that it is compared with, and the ``answer``."""


def explain(run: Run, game: str) -> list[dict[str, Any]]:
    """Every decision of the run on a game, given by id or name, in any role or in that which is
    named. Raises LookupFailedError if the run decided nothing on it."""
    if not run.decisions:
        raise LookupFailedError(f"run {run.run_id}: found no decision, expected at least one")
    decided = [*map(TaskId.of, run.decisions)]
    known = [*decided, *(member.task_id for member in run.scopes.get(0, ()))]
    game_id, role = run.find_game(game, [task_id.game_id for task_id in known])
    roles = sorted({each.role for each in decided if each.game_id == game_id})
    if not roles:
        raise LookupFailedError(f"game {game_id} is an initial one: nothing was decided on it")
    if role and role not in roles:
        raise LookupFailedError(f"game {game_id}: found role {role}, expected {listed(roles)}")
    named = {TaskId(game_id, each) for each in roles if role in ("", each)}
    return [_why(run, row, case) for row, case in cases(run) if TaskId.of(row) in named]


def _why(run: Run, row: Row, case: Case | None) -> dict[str, Any]:
    """A decision with its steps: ``again`` is what the rule says today, ``failed`` the steps that
    kept the candidate out, ``missing`` what could not be looked up; ``gamma`` with the ``game``
    that attains it and the numbers of plays on which games were ``compared``."""
    why = {"run_id": run.run_id, "row": row, "purpose": row["purpose"], "steps": ()}
    why |= {"gamma": None, "again": None, "failed": (), "missing": None}
    if case is None:
        return why
    try:
        evidence, again, _ = replay(case, run.plays, run.policies_at(row))
    except (MissingPlaysError, ValueError) as error:
        return why | {"missing": str(error)}
    steps = [*_steps(case, evidence)]
    failed = [step["question"] for step in steps if step["answer"] is not Answer.YES]
    facts = {"verdict": row["verdict"], "decided": False, "reason": "passed selection, was ranked"}
    if again is not None:
        facts = {name: getattr(again, name) for name in ("verdict", "reason", "decided")}
    if game := evidence.gamma.task_id:
        compared = sorted({value.plays for value in evidence.scope_values.values()})
        why["gamma"] = {**vars(evidence.gamma.interval), "game": game.label, "compared": compared}
    return why | {"steps": steps, "again": facts, "failed": failed}


def _steps(case: Case, evidence: Evidence) -> Iterator[Step]:
    """The questions of a repeated decision in their order; for γ one for each game of the scope,
    then cross-ratios."""
    rule = case.thresholds
    is_more = rule.rule is not DecisionRule.VALUES
    yield _gain("learns its own game", evidence.own.gain)
    if is_more and rule.gain != GainKind.TOTAL:
        yield _gain("plays it better in all", evidence.own.total)
    if evidence.help_gain.plays:  # it was asked
        if is_more:
            yield _gain("plays its parent better in all", evidence.help_gain)
        value, asks = evidence.value(rule), f"low ≥ alpha1 = {rule.alpha1:g}"
        yield _step("helps its parent", value, asks, helps(value, rule.alpha1))
    shares = {f"is not taught by {game.label}": v for game, v in evidence.scope_values.items()}
    if evidence.parent_cross_ratio.plays:
        most, (with_parent, with_most) = evidence.gamma.task_id, evidence.ratios
        ratios = {case.parent: with_parent}
        if most is not None:
            ratios.setdefault(most, with_most)
        shares |= {f"is no copy of {game.label} (C·γ)": value for game, value in ratios.items()}
    asks = f"high ≤ 1 − alpha2 = {1 - rule.alpha2:g}"
    for question, value in shares.items():
        yield _step(question, value, asks, is_new(value, rule.alpha2))


def _gain(question: str, bits: Interval) -> Step:
    answer = Answer.YES if bits.low > 0 else Answer.NO if bits.high <= 0 else Answer.OPEN
    return _step(question, bits, "low > 0", answer)


def _step(question: str, bounds: Interval, threshold: str, answer: Answer) -> Step:
    return {"question": question, **vars(bounds), "threshold": threshold, "answer": answer}


def show_list(rows: Sequence[Row], console: Console) -> None:
    """A table of decisions; below each game its parent, below each reason the plays that decided.
    It fits into 80 columns."""
    columns = ("generation", "game", "verdict", "helps parent", "known already")
    view = table(f"Decisions ({len(rows):,})", *columns)
    for row in rows:
        game = f"{TaskId.of(row).label}\n← {short(row['parent_game_id'])}"
        add(view, row["generation"], game, verdict_text(row), *judged(row)[:2])
    console.print(view)
    console.print(LEGEND)


def show_why(explanations: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Each decision, then every question with the bounds that answer it."""
    for why in explanations:
        row = why["row"]
        console.print(f"Game {row['game_id']} ({row['role']}), run {why['run_id']}")
        console.print(
            f"  generation {row['generation']}, parent {row['parent_game_id']}, "
            f"round {row['round']}, index {row['index']}"
        )
        is_open = row["purpose"] and not row["decided"]
        undecided = " (the intervals did not decide it)" if is_open else ""
        console.print(f"  {row['verdict']}: {explanation(row)}{undecided}")
        if why["missing"]:
            console.print(f"  The plays it rests on are not archived: {why['missing']}")
        elif why["again"] is None:
            console.print("  No play of its own fine-tune: no bounds.")
        else:
            _show_steps(why, console)


def _show_steps(why: Mapping[str, Any], console: Console) -> None:
    row, again = why["row"], why["again"]
    looks = listed([str(look) for look in row["looks"]])
    value = Definition(row["definition"]).symbol
    console.print(
        f"  on {why['purpose']} plays, looked at after {looks}; {row['gain_kind']} gains; "
        f"values of {value}; bounds hold at {row['confidence']:g} over all looks"
    )
    view = table("Questions", "question", "value", "plays", "asks", "answer")
    for step in why["steps"]:
        value = stacked(Interval(step["value"], step["low"], step["high"]))
        add(view, step["question"], value, step["plays"] or "–", step["threshold"], step["answer"])
    console.print(view)
    if gamma := why["gamma"]:
        value = bounds(Interval(gamma["value"], gamma["low"], gamma["high"]))
        most = f"γ, the largest share taught: {value}, of {gamma['game']} on {gamma['plays']} plays"
        plays = f"compared on {listed([str(count) for count in gamma['compared']])} plays"
        console.print(f"{most}; games {plays}, each until a bound sufficed or the looks ended.")
    if why["failed"]:
        console.print(f"Not passed: {', '.join(why['failed'])}.")
    console.print(f"Taken again from the scores: {again['verdict']}, {again['reason']}.")
