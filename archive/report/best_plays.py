"""The best plays of each game's own fine-tuned player."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from archive.query import map_texts, story_texts
from archive.report.contents import BestPlay
from archive.schema import BASE_POLICY, Purpose, TaskId
from archive.store.archive import Archive

PLAYS = 3
"""Best plays of a game that a report shows."""
FEW = 60
"""Of more games than these, one play each is shown: the page stays readable and small."""
_COLUMNS = (
    "policy_id",
    "game_id",
    "role",
    "map_seed",
    "play_seed",
    "score",
    "outcome",
    "moves",
)
Row = Mapping[str, Any]


def best_plays(
    archive: Archive,
    run_id: str,
    policies: Mapping[TaskId, Sequence[str]],
    games: Mapping[str, Row],
) -> dict[TaskId, tuple[BestPlay, ...]]:
    """The plays with the highest scores by task, on different maps, best first.

    Plays on acceptance maps where there are any, else on selection maps: the first chose nothing.
    """
    wanted = PLAYS if len(policies) <= FEW else 1
    best: dict[TaskId, list[Row]] = {}
    for purpose in (Purpose.SELECTION, Purpose.ACCEPTANCE):
        rows = _own_plays(archive, run_id, policies, purpose)
        best |= {task_id: _best(rows, picked, wanted) for task_id, picked in _by_task(rows).items()}
    maps = map_texts(archive, [row["map_seed"] for rows in best.values() for row in rows])
    base = _base_scores(archive, run_id, best)
    return {
        task_id: tuple(_play(row, task_id, maps, base, games[task_id.game_id]) for row in rows)
        for task_id, rows in best.items()
    }


def _own_plays(
    archive: Archive, run_id: str, policies: Mapping[TaskId, Sequence[str]], purpose: str
) -> pa.Table:
    """Finished plays of games by their own policies, highest scores first."""
    own = {policy: task_id for task_id, several in policies.items() for policy in several}
    filters = [
        ("run_id", "=", run_id),
        ("purpose", "=", str(purpose)),
        ("policy_id", "in", list(own)),
        ("outcome", "=", "finished"),
    ]
    if not own:
        filters = [("run_id", "=", run_id), ("policy_id", "=", "")]
    rows = archive.table("scores", _COLUMNS, filters)
    policy, game_id, role = (rows[name].to_pylist() for name in _COLUMNS[:3])
    is_own = [own[p] == (g, r) for p, g, r in zip(policy, game_id, role, strict=True)]
    return rows.filter(pa.array(is_own, pa.bool_())).sort_by([("score", "descending")])


def _by_task(rows: pa.Table) -> dict[TaskId, list[int]]:
    places: dict[TaskId, list[int]] = defaultdict(list)
    task_ids = map(TaskId, rows["game_id"].to_pylist(), rows["role"].to_pylist())
    for place, task_id in enumerate(task_ids):
        places[task_id].append(place)
    return places


def _best(rows: pa.Table, picked: Sequence[int], wanted: int) -> list[Row]:
    """The first ``wanted`` rows among those picked, each with another map."""
    seeds: list[int] = []
    places = []
    for place in picked:
        seed = rows["map_seed"][place].as_py()
        if seed not in seeds:
            seeds.append(seed)
            places.append(place)
        if len(places) == wanted:
            break
    return [dict(row) for row in rows.take(pa.array(places, pa.int64())).to_pylist()]


def _base_scores(
    archive: Archive, run_id: str, plays: Mapping[TaskId, Sequence[Row]]
) -> dict[tuple[TaskId, int, int], float]:
    """The base player's scores on the same seeds."""
    seeds = sorted({row["map_seed"] for rows in plays.values() for row in rows})
    if not seeds:
        return {}
    filters = [
        ("run_id", "=", run_id),
        ("policy_id", "=", BASE_POLICY),
        ("map_seed", "in", seeds),
    ]
    columns = ["game_id", "role", "map_seed", "play_seed", "score"]
    rows = archive.rows("scores", columns, filters)
    return {(TaskId.of(row), row["map_seed"], row["play_seed"]): row["score"] for row in rows}


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
