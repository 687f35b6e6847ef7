"""The best plays of each game's own fine-tuned player."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from archive.report.contents import BestPlay
from archive.run import Row, Run, story_texts
from archive.schema import BASE_POLICY, Purpose, TaskId

PLAYS = 3
"""Best plays of a game that a report shows."""
FEW = 60
"""With more games than this, one play of each is shown: the page stays readable and small."""
_COLUMNS = (
    "policy_id",
    "game_id",
    "role",
    "map_seed",
    "play_seed",
    "score",
    "outcome",
    "purpose",
    "moves",
)


def best_plays(
    run: Run,
    policies: Mapping[TaskId, Sequence[str]],
    games: Mapping[str, Row],
) -> dict[TaskId, tuple[BestPlay, ...]]:
    """The plays with the highest scores by task, on different maps, best first.

    Plays on acceptance maps where there are any, else on selection maps: the first chose nothing.
    """
    count = PLAYS if len(policies) <= FEW else 1
    own = {policy: task_id for task_id, several in policies.items() for policy in several}
    purposes = [str(Purpose.SELECTION), str(Purpose.ACCEPTANCE)]
    filters = [("purpose", "in", purposes), ("policy_id", "in", [BASE_POLICY, *own])]
    rows = run.table("scores", _COLUMNS, filters)
    best: dict[TaskId, list[Row]] = {}
    for purpose in (Purpose.SELECTION, Purpose.ACCEPTANCE):
        its = _own_plays(rows, own, purpose)
        for task_id, indices in _by_task(its).items():
            best[task_id] = _best_rows(its, indices, count)
    maps = run.map_texts([row["map_seed"] for rows in best.values() for row in rows])
    base = _base_scores(rows)
    return {
        task_id: tuple(_play(row, task_id, maps, base, games[task_id.game_id]) for row in rows)
        for task_id, rows in best.items()
    }


def _own_plays(rows: pa.Table, own: Mapping[str, TaskId], purpose: str) -> pa.Table:
    """Finished plays of games by their own policies, highest scores first."""
    rows = rows.filter((pc.field("purpose") == str(purpose)) & (pc.field("outcome") == "finished"))
    policy, game_id, role = (rows[name].to_pylist() for name in _COLUMNS[:3])
    is_own = [own.get(p) == (g, r) for p, g, r in zip(policy, game_id, role, strict=True)]
    return rows.filter(pa.array(is_own, pa.bool_())).sort_by([("score", "descending")])


def _by_task(rows: pa.Table) -> dict[TaskId, list[int]]:
    indices: dict[TaskId, list[int]] = defaultdict(list)
    task_ids = map(TaskId, rows["game_id"].to_pylist(), rows["role"].to_pylist())
    for index, task_id in enumerate(task_ids):
        indices[task_id].append(index)
    return indices


def _best_rows(rows: pa.Table, indices: Sequence[int], count: int) -> list[Row]:
    """The first ``count`` rows among ``indices``, each with another map."""
    seeds: list[int] = []
    chosen_indices = []
    for index in indices:
        seed = rows["map_seed"][index].as_py()
        if seed not in seeds:
            seeds.append(seed)
            chosen_indices.append(index)
        if len(chosen_indices) == count:
            break
    return [dict(row) for row in rows.take(pa.array(chosen_indices, pa.int64())).to_pylist()]


def _base_scores(rows: pa.Table) -> dict[tuple[TaskId, int, int], float]:
    """The base player's scores by task and seeds."""
    by_base = rows.filter(pc.field("policy_id") == BASE_POLICY)
    columns = by_base.select(["game_id", "role", "map_seed", "play_seed", "score"])
    return {
        (TaskId.of(row), row["map_seed"], row["play_seed"]): row["score"]
        for row in columns.to_pylist()
    }


def _play(
    row: Row,
    task_id: TaskId,
    maps: Mapping[int, Mapping[int, Sequence[Row]]],
    base: Mapping[tuple[TaskId, int, int], float],
    game: Row,
) -> BestPlay:
    return BestPlay(
        row["policy_id"],
        row["map_seed"],
        row["play_seed"],
        story_texts(game, maps.get(row["map_seed"], {})),
        tuple(row["moves"]),
        row["score"],
        base.get((task_id, row["map_seed"], row["play_seed"])),
    )
