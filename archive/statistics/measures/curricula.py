"""Gains of players trained on several games together (docs/curriculum.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archive.run import Run
from archive.schema import BASE_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.values.intervals import Scores
from archive.statistics.values.transfer_values import replicated_gains


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
        if all(key in run.plays for row in keys for key in row):
            samples = [[run.plays[key] for key in row] for row in keys]
            gains[name] = np.stack([replicated_gains(own, base, kind) for base, *own in samples])
    return gains
