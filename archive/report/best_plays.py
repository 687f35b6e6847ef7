"""The best plays of each game's own fine-tuned player."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

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
    maps = _maps(archive, [row for rows in best.values() for row in rows])
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


def _maps(archive: Archive, plays: Sequence[Row]) -> dict[int, dict[int, list[Row]]]:
    """Archived texts by map seed and site, of the maps played."""
    seeds = sorted({row["map_seed"] for row in plays})
    columns = ["map_seed", "site", "text", "n_tokens"]
    rows = archive.rows("maps", columns, [("map_seed", "in", seeds)]) if seeds else []
    texts: dict[int, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        texts[row["map_seed"]][row["site"]].append(row)
    return texts


def text_of(candidates: Sequence[Row], tokens: int) -> str | None:
    """The text that a story of so many judge tokens tells: the longest that is no longer.

    One map serves games whose stories have different lengths.
    """
    short = [row for row in candidates if row["n_tokens"] <= tokens]
    return max(short, key=lambda row: row["n_tokens"])["text"] if short else None


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
    sites = maps.get(row["map_seed"], {})
    length = _story_tokens(game)
    texts = [text_of(sites[site], length) for site in range(stories(game)) if site in sites]
    return BestPlay(
        row["map_seed"],
        row["play_seed"],
        tuple(text for text in texts if text is not None),
        tuple(row["moves"]),
        row["score"],
        base.get((task_id, row["map_seed"], row["play_seed"])),
    )


def stories(game: Row) -> int:
    """How many stories a program calls for, as far as its text tells."""
    return str(game["code"]).count("story(")


def _story_tokens(game: Row) -> int:
    try:
        return int(json.loads(game["metadata_json"])["story_tokens"])
    except (ValueError, KeyError, TypeError):
        return 1 << 30
