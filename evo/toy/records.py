"""The two tables that a toy growth leaves, as Parquet files that explain themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from archive.schema.column import FLOAT64, FLOATS, INT32, INT64, STRING, Column, Table
from evo.toy.growths import Growth

_TITLE = Column("setting", STRING, "name", "the setting, by its title")
_SEED = Column("seed", INT64, "seed", "of the growth")

GROWTHS = Table(
    "growths",
    "One growth of a scope on the toy model.",
    (
        _TITLE,
        _SEED,
        Column("games", INT32, "count", "games of the last scope"),
        Column("generations", INT32, "count", "generations in which a game was accepted"),
        Column("covered", FLOAT64, "share", "of the grid, covered at 1 − alpha2"),
        Column("setting_json", STRING, "JSON", "all values of the setting"),
    ),
)
MEMBERS = Table(
    "members",
    "One game of the last scope of one growth.",
    (
        _TITLE,
        _SEED,
        Column("place", INT32, "count", "place in the scope, in the order of acceptance, from 0"),
        Column("generation", INT32, "count", "generation that accepted it; 0: initial scope"),
        Column("parent", INT32, "count", "place of its parent", "of the initial scope"),
        Column("skills", FLOATS, "1", "the game's vector"),
        Column("gamma", FLOAT64, "1", "γ when it was accepted", "of the initial scope"),
    ),
)


def growth_rows(found: Sequence[Growth]) -> list[dict[str, Any]]:
    return [
        {
            "setting": growth.title,
            "seed": growth.seed,
            "games": len(growth.members),
            "generations": growth.generations,
            "covered": growth.covered,
            "setting_json": json.dumps(asdict(growth.setting)),
        }
        for growth in found
    ]


def member_rows(found: Sequence[Growth]) -> list[dict[str, Any]]:
    return [row for growth in found for row in _member_rows(growth)]


def _member_rows(growth: Growth) -> list[dict[str, Any]]:
    places = {member.game: place for place, member in enumerate(growth.members)}
    return [
        {
            "setting": growth.title,
            "seed": growth.seed,
            "place": place,
            "generation": member.generation,
            "parent": None if member.parent is None else places[member.parent],
            "skills": list(member.game.skills),
            "gamma": member.gamma,
        }
        for place, member in enumerate(growth.members)
    ]


def parquet(table: Table, rows: Sequence[dict[str, Any]]) -> bytes:
    """The bytes of a Parquet file of the table's schema."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=table.schema), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
