"""Toy growths in an archive: each is one commit, under a run id of its own.

A toy game is a row of ``games`` whose code lists its skills; this is enough to draw a growth, to
count its games, and to continue after the last commit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from archive import Archive, RunEvent
from archive.schema.column import FLOAT64, FLOATS, INT32, INT64, STRING, Column, Table
from evo.config.toy import ToyRunConfig
from evo.experiments.toy.growths import Scope, ToyGrowth
from evo.experiments.toy.world import ToyGame
from evo.growth.algorithm import ScopeMember
from evo.record.run_folder import RunIdentity, run_row

DIALECT, ROLE = "skills", "all"


class ToyLedger:
    """Reads an archive's growths once, then keeps up with what it commits itself."""

    def __init__(self, archive: Archive, config: ToyRunConfig) -> None:
        self.archive, self.config = archive, config
        codes = {row["game_id"]: row["code"] for row in archive.rows("games")}
        self.games = {name: _game(code) for name, code in codes.items()}
        self.last: dict[str, Scope] = {}
        generations: dict[str, int] = {}
        for row in archive.rows("scopes"):
            run_id = row["run_id"]
            if generations.get(run_id) != row["generation"]:
                generations[run_id], self.last[run_id] = row["generation"], []
            self.last[run_id].append(self._member(row))

    @property
    def identity(self) -> RunIdentity:
        """Identity of the run of all growths."""
        return self._identity(self.config.name, self.config.seed)

    def commit(self, title: str, seed: int, scopes: Sequence[Scope]) -> None:
        """One growth: its games, and its scope in each generation."""
        run_id, scope_games = growth_id(title, seed), {m.game for scope in scopes for m in scope}
        new = {game_id(game): game for game in sorted(scope_games, key=game_id)}
        rows = [
            {"run_id": run_id, "generation": generation, **_scope_row(member)}
            for generation, scope in enumerate(scopes)
            for member in scope
        ]
        games = [_game_row(name, new[name]) for name in new if name not in self.games]
        finished_row = run_row(self._identity(run_id, seed), RunEvent.FINISHED)
        self.archive.commit({"games": games, "scopes": rows, "runs": [finished_row]})
        self.games |= new
        self.last[run_id] = list(scopes[-1])

    def _member(self, row: dict[str, Any]) -> ScopeMember[ToyGame]:
        parent = row["parent_game_id"]
        return ScopeMember(
            self.games[row["game_id"]],
            row["accepted_in"],
            row["gamma"],
            self.games[parent] if parent else None,
        )

    def _identity(self, run_id: str, seed: int) -> RunIdentity:
        text = json.dumps(asdict(self.config), sort_keys=True)
        return RunIdentity(run_id, seed, text, sha256(text.encode()).hexdigest()[:16])


def growth_id(title: str, seed: int) -> str:
    """The run id of one growth."""
    return f"{title}, seed {seed}"


def game_id(game: ToyGame) -> str:
    """Hash of a toy game's skills, 16 hex digits."""
    return sha256(game.skill_bytes).hexdigest()[:16]


def _game(code: str) -> ToyGame:
    return ToyGame.of([float(skill) for skill in code.split()])


def _game_row(name: str, game: ToyGame) -> dict[str, Any]:
    code = " ".join(map(repr, game.skills))
    return {"game_id": name, "dialect": DIALECT, "code": code, "metadata_json": "{}", "steps": 0}


def _scope_row(member: ScopeMember[ToyGame]) -> dict[str, Any]:
    return {
        "game_id": game_id(member.game),
        "role": ROLE,
        "parent_game_id": game_id(member.parent) if member.parent else None,
        "gamma": member.gamma,
        "accepted_in": member.generation,
    }


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


def growth_rows(growths: Sequence[ToyGrowth]) -> list[dict[str, Any]]:
    """One row for each growth."""
    return [
        {
            "setting": growth.title,
            "seed": growth.seed,
            "games": len(growth.members),
            "generations": growth.generations,
            "covered": growth.covered_share,
            "setting_json": json.dumps(asdict(growth.setting)),
        }
        for growth in growths
    ]


def member_rows(growths: Sequence[ToyGrowth]) -> list[dict[str, Any]]:
    """One row for each game of each growth's last scope."""
    return [row for growth in growths for row in _member_rows(growth)]


def _member_rows(growth: ToyGrowth) -> list[dict[str, Any]]:
    places = {member.game: index for index, member in enumerate(growth.members)}
    return [
        {
            "setting": growth.title,
            "seed": growth.seed,
            "place": index,
            "generation": member.generation,
            "parent": None if member.parent is None else places[member.parent],
            "skills": list(member.game.skills),
            "gamma": member.gamma,
        }
        for index, member in enumerate(growth.members)
    ]


def parquet(table: Table, rows: Sequence[dict[str, Any]]) -> bytes:
    """The bytes of a Parquet file of the table's schema."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=table.schema), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
