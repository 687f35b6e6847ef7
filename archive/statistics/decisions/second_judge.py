"""Gains of accepted games under another judge, and whether they would be accepted again
(docs/transfer.md, "Another judge")."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archive.plays import Plays
from archive.run import Run
from archive.schema import BASE_POLICY, GainKind, PlaysKey, TaskId, Verdict
from archive.statistics.decisions.decision_cases import cases
from archive.statistics.decisions.decision_rule import Decision
from archive.statistics.decisions.replay import (
    Case,
    MissingPlaysError,
    Policies,
    decide_again,
    replay,
)
from archive.statistics.values.intervals import (
    CONFIDENCE,
    UNDEFINED,
    Interval,
    Scores,
    mean_interval,
    ratio_interval,
)
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import Metadata
from xgl.language.parser import parse

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Survival:
    """One accepted game under another ``judge``. ``total`` and ``specific``: share of the gain that
    survives, with its interval over plays; ``gain`` and ``second_gain``: the specific gain under
    the first and the other judge, bits a play. ``decision``: that of the rule on the other judge's
    scores; None if the rule needs more plays, which were not made."""

    task_id: TaskId
    judge: str
    total: Interval
    specific: Interval
    gain: Interval
    second_gain: Interval
    plays: int
    decision: Decision | None

    @property
    def stays_accepted(self) -> bool:
        """Whether the verdict is the same."""
        return self.decision is not None and self.decision.verdict is Verdict.ACCEPTED


class PlayRecorder(Mapping[PlaysKey, Plays]):
    """A mapping of plays that records which keys were read."""

    def __init__(self, plays: Mapping[PlaysKey, Plays]) -> None:
        self.plays, self.read = plays, dict[PlaysKey, None]()

    def __getitem__(self, key: PlaysKey) -> Plays:
        sample = self.plays[key]
        self.read[key] = None
        return sample

    def __iter__(self) -> Iterator[PlaysKey]:
        return iter(self.plays)

    def __len__(self) -> int:
        return len(self.plays)


@dataclass(frozen=True)
class AcceptedCase:
    """An accepted decision with its case and policies."""

    row: Row
    case: Case
    policies: Policies


def accepted_cases(run: Run) -> list[AcceptedCase]:
    """Every accepted decision of a run that rests on plays."""
    return [
        AcceptedCase(row, case, run.policies_at(row))
        for row, case in cases(run)
        if case is not None and row["verdict"] == Verdict.ACCEPTED
    ]


def plays_behind(accepted_case: AcceptedCase, run: Run) -> dict[PlaysKey, list[tuple[int, int]]]:
    """The plays that a decision rests on: pairs of map and play seed in the order of play seeds.

    Empty if the decision cannot be repeated.
    """
    plays = PlayRecorder(run.plays)
    case = accepted_case.case
    try:
        replay(case, plays, accepted_case.policies)
    except (MissingPlaysError, ValueError):
        return {}
    return {
        key: _seeds(plays.plays[key], case.first_play, max(case.looks.plays)) for key in plays.read
    }


def _seeds(plays: Plays, first: int, count: int) -> list[tuple[int, int]]:
    own = plays.seeds[(plays.seeds[:, 1] >= first) & (plays.seeds[:, 1] < first + count)]
    return [(int(seed), int(play)) for seed, play in own[np.argsort(own[:, 1], kind="stable")]]


def read_survivals(run: Run) -> list[Survival]:
    """Every accepted game that was scored again, once for each other judge; in the order of
    acceptance."""
    rows = run.rows("second_scores")
    if not rows:
        return []
    tokens = _move_tokens(run, {TaskId.of(row) for row in rows})
    survivals = []
    for judge in dict.fromkeys(row["judge"] for row in rows):
        second = second_plays([row for row in rows if row["judge"] == judge], tokens)
        survivals_of_judge = (_survival(case, run, second, judge) for case in accepted_cases(run))
        survivals += [survival for survival in survivals_of_judge if survival is not None]
    return survivals


def _move_tokens(run: Run, tasks: set[TaskId]) -> dict[TaskId, int]:
    games_by_id = run.games(task_id.game_id for task_id in tasks)
    return {
        task_id: analyse(
            parse(games_by_id[task_id.game_id]["code"], games_by_id[task_id.game_id]["dialect"]),
            Metadata(**json.loads(games_by_id[task_id.game_id]["metadata_json"])),
            task_id.role,
        ).move_tokens
        for task_id in tasks
    }


def second_plays(rows: Sequence[Row], tokens: Mapping[TaskId, int]) -> dict[PlaysKey, Plays]:
    """Rows of one judge by policy, game and purpose, in the order of play seeds.

    An unfinished play counts as a floor under this judge: the base player's lowest finished score
    on the game, minus one bit for each of the move ``tokens``.
    """
    floors: dict[TaskId, float] = {}
    for row in rows:
        if row["policy_id"] == BASE_POLICY and row["score"] is not None:
            task_id = TaskId.of(row)
            least = row["score"] - tokens[task_id]
            floors[task_id] = min(least, floors.get(task_id, math.inf))
    by_key: dict[PlaysKey, list[Row]] = {}
    for row in rows:
        by_key.setdefault(PlaysKey.of(row), []).append(row)
    return {key: _plays(of, floors.get(key.task_id, 0.0)) for key, of in by_key.items()}


def _plays(rows: Sequence[Row], floor: float) -> Plays:
    rows_in_order = sorted(rows, key=lambda row: row["play_seed"])
    seeds = np.array([(row["map_seed"], row["play_seed"]) for row in rows_in_order], np.int64)
    own, permuted_scores = (
        np.array([floor if row[name] is None else row[name] for row in rows_in_order], float)
        for name in ("score", "permuted_score")
    )
    return Plays(seeds, own, permuted_scores)


def _survival(
    accepted_case: AcceptedCase, run: Run, second: Mapping[PlaysKey, Plays], judge: str
) -> Survival | None:
    task_id, case = accepted_case.case.candidate, accepted_case.case
    policies = accepted_case.policies[task_id][0]
    try:
        first = {kind: _gain(run.plays, policies, case, kind) for kind in GainKind}
        other = {kind: _gain(second, policies, case, kind) for kind in GainKind}
    except KeyError:
        return None
    plays = min(gains.shape[-1] for gains in (*first.values(), *other.values()))
    first, other = ({k: v[..., :plays] for k, v in gains.items()} for gains in (first, other))
    shares = {kind: ratio_interval(other[kind], first[kind], CONFIDENCE) for kind in GainKind}
    specific = GainKind.SPECIFIC
    return Survival(
        task_id,
        judge,
        shares[GainKind.TOTAL],
        shares[specific],
        mean_interval(first[specific], CONFIDENCE),
        mean_interval(other[specific], CONFIDENCE),
        plays,
        _again(case, second, accepted_case.policies),
    )


def _gain(
    plays: Mapping[PlaysKey, Plays], policies: Sequence[str], case: Case, kind: GainKind
) -> Scores:
    """Gains in bits (n,), or (R, n) over several fine-tunes, from the case's first play on."""
    base = plays[PlaysKey(BASE_POLICY, case.candidate, case.purpose)]
    finetunes = [plays[PlaysKey(policy, case.candidate, case.purpose)] for policy in policies]
    common = set.intersection(*({*map(int, sample.seeds[:, 1])} for sample in (base, *finetunes)))
    last = case.first_play + max(case.looks.plays)
    play_seeds = sorted(seed for seed in common if case.first_play <= seed < last)
    gains = [
        _at(finetune, play_seeds, kind) - _at(base, play_seeds, kind) for finetune in finetunes
    ]
    return gains[0] if len(gains) == 1 else np.stack(gains)


def _at(plays: Plays, play_seeds: Sequence[int], kind: GainKind) -> Scores:
    index = {int(seed): row for row, seed in enumerate(plays.seeds[:, 1])}
    return plays.kind(kind)[[index[seed] for seed in play_seeds]]


def _again(case: Case, second: Mapping[PlaysKey, Plays], policies: Policies) -> Decision | None:
    try:
        return decide_again(case, replay(case, second, policies))
    except (MissingPlaysError, ValueError):
        return None


def surviving(survivals: Sequence[Survival]) -> Interval:
    """The median share of specific gains that survives, over games, with the smallest and the
    largest; undefined if none is known."""
    shares = [
        survival.specific.value for survival in survivals if survival.specific.value is not None
    ]
    if not shares:
        return UNDEFINED
    return Interval(float(np.median(shares)), min(shares), max(shares))
