"""Gains of accepted games under another judge, and whether they would be accepted again
(docs/explanation/transfer.md, "Another judge")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from archive.plays import Plays
from archive.run import Row, Run, stored_game
from archive.schema import BASE_POLICY, GainKind, PlaysKey, TaskId, Verdict
from archive.statistics.intervals import (
    CONFIDENCE,
    UNDEFINED,
    Interval,
    Scores,
    over_seeds,
    ratio_interval,
)
from archive.statistics.replay import Case, MissingPlaysError, Policies, cases, decide_again, replay
from archive.statistics.rule import Decision
from xgl.analysis.static_facts import analyse


class Survival(NamedTuple):
    """One accepted game under another ``judge``. ``specific``: share of the gain about the map that
    survives, with its interval over ``plays``. ``decision``: that of the rule on the other judge's
    scores; None if the rule needs more plays, which were not made."""

    task_id: TaskId
    judge: str
    specific: Interval
    plays: int
    decision: Decision | None

    @property
    def stays_accepted(self) -> bool:
        """Whether the verdict is the same."""
        return self.decision is not None and self.decision.verdict is Verdict.ACCEPTED


def surviving(survivals: Sequence[Survival]) -> Interval:
    """The median share of specific gains that survives, over games, with the smallest and the
    largest; undefined if none is known."""
    shares = [each.specific.value for each in survivals if each.specific.value is not None]
    return Interval(float(np.median(shares)), min(shares), max(shares)) if shares else UNDEFINED


# -- the plays to score again ----------------------------------------------------------------------


def accepted_cases(run: Run) -> Iterator[tuple[Case, Policies]]:
    """Every accepted decision of a run that rests on plays."""
    for row, case in cases(run):
        if case is not None and row["verdict"] == Verdict.ACCEPTED:
            yield case, run.policies_at(row)


def plays_behind(case: Case, policies: Policies, run: Run) -> dict[PlaysKey, list[tuple[int, int]]]:
    """The plays that a decision rests on: pairs of map and play seed in the order of play seeds.

    Empty if the decision cannot be repeated.
    """
    try:
        read = replay(case, run.plays, policies).plays
    except (MissingPlaysError, ValueError):
        return {}
    return {key: [*map(tuple, _of_case(run.plays[key], case).seeds.tolist())] for key in read}


def _of_case(plays: Plays, case: Case) -> Plays:
    """The plays of a case, in the order of their play seeds."""
    return plays.of_play_seeds(range(case.first_play, case.first_play + max(case.looks.plays)))


# -- what survives ---------------------------------------------------------------------------------


def read_survivals(run: Run) -> list[Survival]:
    """Every accepted game that was scored again, once for each other judge; in the order of
    acceptance."""
    if not (rows := run.rows("second_scores")):
        return []
    games, found = run.games({row["game_id"] for row in rows}), list(accepted_cases(run))
    survivals = []
    for judge in dict.fromkeys(row["judge"] for row in rows):
        second = _second_plays([row for row in rows if row["judge"] == judge], games)
        survivals += [_survival(*each, run, second, judge) for each in found]
    return [each for each in survivals if each is not None]


def _second_plays(rows: Sequence[Row], games: Mapping[str, Row]) -> dict[PlaysKey, Plays]:
    """Rows of one judge by policy, game and purpose, in the order of play seeds.

    An unfinished play counts as a floor under this judge: the base player's lowest finished score
    on the game, minus one bit for each token that its moves may have.
    """
    least: dict[TaskId, float] = {}
    by_key: dict[PlaysKey, list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["play_seed"])):
        by_key.setdefault(PlaysKey.of(row), []).append(row)
        if row["policy_id"] == BASE_POLICY and row["score"] is not None:
            task_id = TaskId.of(row)
            least[task_id] = min(row["score"], least.get(task_id, row["score"]))
    whole = {task: stored_game(games[task.game_id]) for task in least}
    tokens = {t: analyse(g.program, g.metadata, t.role).move_tokens for t, g in whole.items()}
    floors = {task: low - tokens[task] for task, low in least.items()}
    return {key: _plays(of, floors.get(key.task_id, 0.0)) for key, of in by_key.items()}


def _plays(rows: Sequence[Row], floor: float) -> Plays:
    seeds = np.array([(row["map_seed"], row["play_seed"]) for row in rows], np.int64)
    own, permuted_scores = (
        np.array([floor if row[name] is None else row[name] for row in rows], float)
        for name in ("score", "permuted_score")
    )
    return Plays(seeds, own, permuted_scores)


def _survival(
    case: Case, policies: Policies, run: Run, second: Mapping[PlaysKey, Plays], judge: str
) -> Survival | None:
    try:
        old, new = (_gain(plays, policies, case) for plays in (run.plays, second))
    except KeyError:
        return None
    plays = min(old.shape[-1], new.shape[-1])
    specific = ratio_interval(new[..., :plays], old[..., :plays], CONFIDENCE)
    try:
        decision = decide_again(case, replay(case, second, policies))
    except (MissingPlaysError, ValueError):
        decision = None
    return Survival(case.candidate, judge, specific, plays, decision)


def _gain(plays: Mapping[PlaysKey, Plays], policies: Policies, case: Case) -> Scores:
    """Gains about the map in bits (n,), or (R, n) over fine-tunes, on the plays that all have."""
    names = (BASE_POLICY, *policies[case.candidate][0])
    keys = [PlaysKey(name, case.candidate, case.purpose) for name in names]
    samples = [_of_case(plays[key], case) for key in keys]
    common = reduce(np.intersect1d, (sample.seeds[:, 1] for sample in samples))
    base, *own = (
        each.kind(GainKind.SPECIFIC)[np.isin(each.seeds[:, 1], common)] for each in samples
    )
    return over_seeds([each - base for each in own])
