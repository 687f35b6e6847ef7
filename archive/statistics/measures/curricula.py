"""Gains of players trained on several games together, on programs that no growth saw
(docs/curriculum.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archive.plays import Plays
from archive.run import Run
from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.values.intervals import CONFIDENCE, Interval, Scores, mean_interval
from archive.statistics.values.transfer_values import replicated_gains

ALL = "mean"
"""The mean over all held-out programs."""


@dataclass(frozen=True)
class CurriculumGains:
    """Gains over the base player, bits a play, with intervals over plays and training seeds.

    ``gains``: by kind and curriculum, gains on each held-out program, and their mean under ``ALL``.
    ``leads``: by kind and pair of curricula, the first's mean gain minus the second's, on the same
    maps and under training seeds of the same rank.
    """

    curricula: tuple[str, ...]
    games: Mapping[str, int]
    tasks: tuple[TaskId, ...]
    gains: Mapping[GainKind, Mapping[str, Mapping[TaskId | str, Interval]]]
    leads: Mapping[GainKind, Mapping[tuple[str, str], Interval]]


def curriculum_gains(
    run: Run, tasks: Sequence[TaskId], confidence: float = CONFIDENCE
) -> CurriculumGains:
    """Gains of all curricula of a run that have played all ``tasks``, on acceptance plays."""
    plays = {k: v for k, v in run.plays.items() if k.purpose == Purpose.ACCEPTANCE}
    rows = run.rows("curricula")
    policies: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row["replicate"]):
        policies.setdefault(row["curriculum"], []).append(row["finetune_id"])
    complete = {
        name: ids
        for name, ids in policies.items()
        if all(_key(policy, task) in plays for policy in (*ids, BASE_POLICY) for task in tasks)
    }
    by_kind = {
        kind: {name: _gains(plays, ids, tasks, kind) for name, ids in complete.items()}
        for kind in GainKind
    }
    return CurriculumGains(
        tuple(complete),
        {row["curriculum"]: len(row["game_ids"]) for row in rows},
        tuple(tasks),
        {
            kind: {name: _intervals(of, confidence) for name, of in gains.items()}
            for kind, gains in by_kind.items()
        },
        {kind: _leads(gains, confidence) for kind, gains in by_kind.items()},
    )


def _key(policy: str, task: TaskId) -> PlaysKey:
    return PlaysKey(policy, task, str(Purpose.ACCEPTANCE))


def _gains(
    plays: Mapping[PlaysKey, Plays],
    policies: Sequence[str],
    tasks: Sequence[TaskId],
    kind: GainKind,
) -> dict[TaskId, Scores]:
    """Gains (R, n) in bits on each task, or (n,) with one training seed."""
    return {
        task: replicated_gains(
            [plays[_key(policy, task)] for policy in policies], plays[_key(BASE_POLICY, task)], kind
        )
        for task in tasks
    }


def _mean(gains: Mapping[TaskId, Scores]) -> Scores:
    """Mean over programs, map by map: all are played on the same seeds."""
    return np.mean(np.stack(list(gains.values())), axis=0)


def _intervals(gains: Mapping[TaskId, Scores], confidence: float) -> dict[TaskId | str, Interval]:
    intervals: dict[TaskId | str, Interval] = {
        task: mean_interval(of, confidence) for task, of in gains.items()
    }
    return intervals | {ALL: mean_interval(_mean(gains), confidence)}


def _leads(
    gains: Mapping[str, Mapping[TaskId, Scores]], confidence: float
) -> dict[tuple[str, str], Interval]:
    means = {name: _mean(of) for name, of in gains.items()}
    first = next(iter(means), "")
    return {
        (first, other): mean_interval(means[first] - means[other], confidence)
        for other in means
        if other != first and means[other].shape == means[first].shape
    }
