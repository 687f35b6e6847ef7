"""Rows that fit the schema."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from archive import TABLES, Archive
from archive.store.archive import MARKER
from xgl import Game, analyse
from xgl.language.canonical import metadata_json

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def row(table: str, **values: object) -> dict[str, Any]:
    """A row of the run ``r1``: what is not given is null, or empty where null has no meaning."""
    plain = {column.name: _empty(column) for column in TABLES[table].columns}
    assert values.keys() <= plain.keys(), values.keys() - plain.keys()
    return plain | ({"run_id": "r1"} if "run_id" in plain else {}) | values


def game_row(game: Game) -> dict[str, Any]:
    """The row of a game."""
    texts = {"game_id": game.game_id, "dialect": game.dialect, "code": game.code}
    steps = analyse(game.program).steps
    return row("games", **texts, metadata_json=metadata_json(game.metadata), steps=steps)


def write(folder: Path, **rows: list[dict[str, Any]]) -> Path:
    """Rows by table, added to the archive in a folder; where there is none, one is made."""
    is_there = (folder / MARKER).is_file()
    with Archive.open(folder, "a") if is_there else Archive.create(folder) as archive:
        archive.commit(rows)
    return folder


def _empty(column: Any) -> object:
    if column.null is not None:
        return None
    if column.values:
        return column.values[0]
    if pa.types.is_list(column.type):
        return []
    if pa.types.is_timestamp(column.type):
        return AT
    return {pa.string(): "", pa.bool_(): False, pa.float64(): 0.0}.get(column.type, 0)
