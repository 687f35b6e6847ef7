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
    """The mean gain of each curriculum on each held-out program, with its interval; and over all
    programs (``game_id``: None), where ``lead`` is that of the first curriculum over this one."""
    curricula = run.rows("curricula", ["finetune_id", "curriculum", "game_ids"])
    if not curricula:
        return []
    games = {row["curriculum"]: len(row["game_ids"]) for row in curricula}
    ids = {row["finetune_id"] for row in curricula}
    tasks = sorted({key.task_id for key in run.plays if key.policy_id in ids})
    rows: list[Row] = []
    for kind in GainKind:
        first: Scores | None = None
        for name, gains in curriculum_gains(run, tasks, kind).items():
            if gains.shape[-1] == 1:
                continue  # one play has no interval
            facts = {"curriculum": name, "games": games[name], "kind": kind, "lead": None}
            for task, each in zip(tasks, gains, strict=True):
                rows.append(task._asdict() | facts | {"gain": mean_interval(each, CONFIDENCE)})
            mean = gains.mean(axis=0)
            if first is not None:
                facts["lead"] = mean_interval(first - mean, CONFIDENCE)
            nowhere = {"game_id": None, "role": None}
            rows.append(nowhere | facts | {"gain": mean_interval(mean, CONFIDENCE)})
            first = mean if first is None else first
    return rows
