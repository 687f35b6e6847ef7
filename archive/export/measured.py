"""The games of a run of ``+experiment=measure``, and the fewest that tell its players apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from archive.errors import ExportError
from archive.run import Run, read_settings
from archive.schema import TaskId
from archive.statistics.discriminating import discriminating_games


def played_tasks(run: Run) -> list[TaskId]:
    """Every game that the run's players have played, in the order of the archive. Raises
    ExportError if there is none."""
    tasks = list(dict.fromkeys(map(TaskId.of, run.rows("rounds", ["game_id", "role"]))))
    if not tasks:
        raise ExportError(f"found no play of run {run.run_id}, expected games that were played")
    return tasks


def discriminating(run: Run, tolerance: float) -> tuple[list[TaskId], float]:
    """The fewest games that rank the measured players as all games with levels do (§5.5 (2)), and
    the largest difference of a player's mean narms, as a share of the distance between the best and
    the worst: at most ``tolerance``, or all games. Raises ExportError if no two players differ."""
    players = read_settings(run.config_json).get("players") or []
    narms = {(row["policy_id"], TaskId.of(row)): row["narms"] for row in run.rows("measures")}
    tasks = [t for t in played_tasks(run) if all((player, t) in narms for player in players)]
    scores = np.array([[narms[player, task] for task in tasks] for player in players])
    try:
        found = discriminating_games(scores.reshape(len(players), len(tasks)), tolerance)
    except ValueError as error:
        raise ExportError(f"--discriminating: {error}, expected two players and more") from None
    return [tasks[index] for index in found.members], found.error


def levels_of(run: Run, task_id: TaskId) -> dict[str, Any] | None:
    """The levels that the run's players were measured against, with their floor; None if the base
    never improved."""
    names = ["b", "theta", "m", "rounds", "maps", "k_m", "floor", "base"]
    rows = run.rows_of(task_id, "measures", names)
    if not rows:
        return None
    levels = rows[0]
    return {**levels, "policy": levels.pop("base")}
