"""Decisions of a run, and one of them walked back to the plays that it was taken on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from rich.console import Console

from archive.errors import LookupFailedError
from archive.run import Row, Run, explanation
from archive.schema import DecisionRule, Definition, GainKind, TaskId, Verdict
from archive.statistics.intervals import Interval
from archive.statistics.replay import (
    Case,
    MissingPlaysError,
    Policies,
    RaceReplay,
    cases,
    decide_again,
    replay,
)
from archive.statistics.rule import Answer, Decision, bounds_of, helps, is_new
from archive.statistics.scripts import ScriptComparison, apply_script_gate, replay_script_comparison
from archive.text import listed, number, plural
from archive.views.inspection import verdict_text
from archive.views.tables import LEGEND, SHORT, listing, plain_text, short, stacked

Pairs = Sequence[tuple[TaskId, TaskId]]
"""Games trained on and played."""


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
    """One question of the rule: the estimate with its bounds, what they are compared with, the
    answer. The value is the product of ``gains`` over that of ``of``; beside a script the gain
    above it, ``relation`` says which."""

    question: str
    gains: tuple[Gain, ...]
    relation: str
    of: tuple[Gain, ...]
    value: float | None
    low: float
    high: float
    threshold: str
    answer: Answer


def decision_rows(run: Run, verdict: str | None) -> list[Row]:
    """The decisions of a run in order, all columns; of one verdict, or of all."""
    return [row for row in run.decisions if verdict in (None, row["verdict"])]


def explain(run: Run, game: str) -> list[dict[str, Any]]:
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


def _why(run: Run, row: Row, case: Case | None) -> dict[str, Any]:
    """A decision with its steps: ``again`` is what the rule says today, ``failed`` the steps that
    kept the candidate out, ``missing`` what could not be looked up."""
    why = {"run_id": run.run_id, "row": row, "purpose": row["purpose"], "steps": ()}
    why |= {"again": None, "failed": (), "missing": None}
    if case is None:
        return why
    why["purpose"], policies = case.purpose, run.policies_at(row)
    try:
        result = replay(case, run.plays, policies)
    except (MissingPlaysError, ValueError) as error:
        return why | {"missing": str(error)}
    again, steps = decide_again(case, result), [*_Questions(case, result, policies).steps()]
    if run.setting("growth", "beyond_scripts"):
        scripts = replay_script_comparison(case, row, run.plays, policies)
        again = again and apply_script_gate(again, scripts)
        steps += _script_steps(case, policies, scripts)
    failed = [step.question for step in steps if step.answer is not Answer.YES]
    return why | {"steps": steps, "again": _decision_facts(again), "failed": failed}


def _decision_facts(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        reason = "passed selection; another of its list was preferred"
        return {"verdict": Verdict.REFUSED, "reason": reason, "decided": False}
    return {name: getattr(decision, name) for name in ("verdict", "reason", "decided")}


@dataclass(frozen=True)
class _Questions:
    """The questions of a repeated decision as steps."""

    case: Case
    result: RaceReplay
    policies: Policies

    def steps(self) -> Iterator[Step]:
        """In their order; for γ one for each game of the scope, then cross-ratios."""
        rule, evidence, candidate = self.case.thresholds, self.result.evidence, self.case.candidate
        is_more, parent = rule.rule is not DecisionRule.VALUES, self.case.parent
        yield self._mean("learns its own game", candidate, evidence.own.gain)
        if is_more and rule.gain != GainKind.TOTAL:
            yield self._mean("plays it better in all", candidate, evidence.own.total)
        if "helps" in self.result.questions:
            if is_more:
                yield self._mean("plays its parent better in all", parent, evidence.help_gain)
            value, asks = evidence.value(rule), f"low ≥ alpha1 = {rule.alpha1:g}"
            question = ("helps its parent", asks, helps(value, rule.alpha1))
            yield self._share(*question, candidate, parent, value)
        for game, value in evidence.scope_values.items():
            question = self._newness(f"is not taught by {game.game_id[:SHORT]}", value)
            yield self._share(*question, game, candidate, value)
        most, (with_parent, with_most) = evidence.gamma.task_id, evidence.ratios
        ratios = {parent: with_parent} if "mutual" in self.result.questions else {}
        if ratios and most is not None:
            ratios.setdefault(most, with_most)
        for game, value in ratios.items():
            pairs = ((candidate, game), (game, candidate)), ((game, game), (candidate, candidate))
            question = self._newness(f"is no copy of {game.game_id[:SHORT]} (C·γ)", value)
            yield self._ratio(*question, *pairs, value)

    def _newness(self, question: str, value: Interval) -> tuple[str, str, Answer]:
        alpha2 = self.case.thresholds.alpha2
        return question, f"high ≤ 1 − alpha2 = {1 - alpha2:g}", is_new(value, alpha2)

    def _mean(self, question: str, target: TaskId, bounds: Interval) -> Step:
        gain = self._gain((self.case.candidate, target), bounds.value, bounds.plays)
        return Step(question, (gain,), "", (), *_numbers(bounds), "low > 0", _is_positive(bounds))

    def _share(
        self,
        question: str,
        asks: str,
        answer: Answer,
        source: TaskId,
        target: TaskId,
        value: Interval,
    ) -> Step:
        is_captured = self.case.thresholds.definition == Definition.CAPTURED
        own = target if is_captured else source
        return self._ratio(question, asks, answer, ((source, target),), ((own, own),), value)

    def _ratio(
        self, question: str, asks: str, answer: Answer, above: Pairs, below: Pairs, value: Interval
    ) -> Step:
        means = value.terms or ((None,) * len(above), (None,) * len(below))
        is_def37 = self.case.thresholds.definition == Definition.DEF37 and len(below) == 1
        plays = self.result.evidence.own.gain.plays if is_def37 else value.plays
        gains = tuple(map(self._gain, above, means[0], repeat(value.plays)))
        of = tuple(map(self._gain, below, means[1], repeat(plays)))
        return Step(question, gains, "over", of, *_numbers(value), asks, answer)

    def _gain(self, pair: tuple[TaskId, TaskId], bits: float | None, plays: int) -> Gain:
        """A gain, of the attempt at its source whose mean it is."""
        source, target = pair
        attempts, means = self.policies.get(source, ()), self.result.gains
        policy = attempts[0][0] if attempts else "unknown"
        for rank, attempt in enumerate(attempts):
            mean = means.get((source, target, plays, rank))
            if mean is not None and bits is not None and math.isclose(mean, bits):
                policy = attempt[0]
        return Gain(policy, source.game_id, target.game_id, bits, plays)


def _script_steps(case: Case, policies: Policies, scripts: ScriptComparison | None) -> list[Step]:
    """Whether training is beyond every scripted player, in all and about the map."""
    if scripts is None:
        return []
    its, total, specific = case.candidate.game_id, scripts.total, scripts.specific
    attempt = next(iter(policies.get(case.candidate, ())), ())
    bits = None if total.value is None else scripts.best_gain + total.value
    own = Gain(next(iter(attempt), "unknown"), its, its, bits, scripts.plays)
    best = Gain(scripts.best, its, its, scripts.best_gain, scripts.plays)
    in_all, about_map = "earns more than any script", "and so about the map"
    asks = "low > 0"
    return [
        Step(in_all, (own,), "above", (best,), *_numbers(total), asks, _is_positive(total)),
        Step(about_map, (), "", (), *_numbers(specific), asks, _is_positive(specific)),
    ]


def _is_positive(lead: Interval) -> Answer:
    if lead.low > 0:
        return Answer.YES
    return Answer.NO if lead.high <= 0 else Answer.OPEN


def _numbers(interval: Interval) -> tuple[float | None, float, float]:
    return interval.value, interval.low, interval.high


def show_list(rows: Sequence[Row], console: Console) -> None:
    """A table of decisions; below each game its parent, below each reason the plays that decided.
    It fits into 80 columns."""
    columns: dict[str, str | Callable[[Row], object]] = {
        "generation": "generation",
        "game": lambda row: f"{short(row['game_id'])}\n← {short(row['parent_game_id'])}",
        "verdict": verdict_text,
        "helps parent": lambda row: stacked(bounds_of(row, Definition(row["definition"]).column)),
        "known already": lambda row: stacked(bounds_of(row, "gamma")),
    }
    console.print(listing(f"Decisions ({len(rows):,})", rows, columns))
    console.print(plain_text(LEGEND))


def show_why(explanations: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Each decision, then every question with the gains that answer it."""
    for why in explanations:
        row = why["row"]
        lines = [
            f"Game {row['game_id']} ({row['role']}), run {why['run_id']}",
            f"  generation {row['generation']}, parent {row['parent_game_id']}, "
            f"round {row['round']}, index {row['index']}",
            f"  {row['verdict']}: {explanation(row)}"
            + ("" if row["decided"] else " (the intervals did not decide it)"),
        ]
        if why["missing"]:
            lines.append(f"  The plays it rests on are not archived: {why['missing']}")
        elif why["again"] is None:
            lines.append("  Refused before any play of its own fine-tuning: no bounds.")
        for line in lines:
            console.print(plain_text(line))
        if why["again"] is not None:
            _show_steps(why, console)


def _show_steps(why: Mapping[str, Any], console: Console) -> None:
    row, again = why["row"], why["again"]
    looks = listed([str(look) for look in row["looks"]])
    console.print(
        plain_text(
            f"  on {why['purpose']} plays, looked at after {looks}; {row['gain_kind']} gains; "
            f"values by {row['definition']}; bounds hold at {row['confidence']:g} over all looks"
        )
    )
    columns: dict[str, str | Callable[[Step], object]] = {
        "question": lambda step: step.question,
        "gains in bits": _gains_text,
        "value": stacked,
        "asks": lambda step: step.threshold,
        "answer": lambda step: step.answer,
    }
    console.print(listing("Questions", why["steps"], columns))
    if why["failed"]:
        console.print(plain_text(f"Not passed: {', '.join(why['failed'])}."))
    taken = f"Taken again from the scores: {again['verdict']}, {again['reason']}."
    console.print(plain_text(taken))


def _gains_text(step: Step) -> str:
    sides = ("\ntimes\n".join(map(_gain_text, side)) for side in (step.gains, step.of) if side)
    return f"\n{step.relation}\n".join(sides)


def _gain_text(gain: Gain) -> str:
    of = f"(of {short(gain.trained_on)})"
    where = f"on {short(gain.played)}, {plural(gain.plays, 'play')}"
    return f"{number(gain.bits)}: {gain.policy_id[:SHORT]}\n{of}\n{where}"
