"""What training on several games together gains on programs that the player was not trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archive.run import Row, Run
from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.intervals import CONFIDENCE, Scores, mean_interval, replicated_gains


def curriculum_gains(run: Run, tasks: Sequence[TaskId], kind: GainKind) -> dict[str, Scores]:
    """Gains over the base player of every curriculum that has played all ``tasks`` for acceptance,
    bits (tasks, training seeds, plays), or (tasks, plays) with one seed. All tasks have the same
    play seeds, and training seeds stand in the order of their ranks."""
    policies: dict[str, list[str]] = {}
    for row in sorted(run.rows("curricula"), key=lambda row: int(row["replicate"])):
        policies.setdefault(row["curriculum"], []).append(row["finetune_id"])
    gains: dict[str, Scores] = {}
    for name, ids in policies.items():
        keys = [[PlaysKey(p, t, Purpose.ACCEPTANCE) for p in (BASE_POLICY, *ids)] for t in tasks]
        plays = [run.plays.get(key) for row in keys for key in row]
        if len({each.seeds.tobytes() if each else b"" for each in plays}) == 1 and plays[0]:
            samples = [[run.plays[key] for key in row] for row in keys]
            gains[name] = np.stack([replicated_gains(own, base, kind) for base, *own in samples])
    return gains


def gains_rows(run: Run) -> list[Row]:
    """The mean gain of each curriculum on each held-out program, with its interval."""
    ids = {row["finetune_id"] for row in run.rows("curricula", ["finetune_id"])}
    if not ids:
        return []
    tasks = sorted({key.task_id for key in run.plays if key.policy_id in ids})
    return [
        task._asdict() | {"curriculum": name, "kind": kind, "gain": mean_interval(each, CONFIDENCE)}
        for kind in GainKind
        for name, gains in curriculum_gains(run, tasks, kind).items()
        for task, each in zip(tasks, gains, strict=True)
        if each.shape[-1] > 1
    ]
