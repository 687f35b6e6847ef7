"""A run's rows: those in the archive, and the only way to add more (docs/architecture.md).

Everything that a decision needs is a row. A resumed run is an ordinary run whose ledger already
holds the rows of its first part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, product
from operator import itemgetter
from typing import Any

import numpy as np

from archive import Archive
from archive.plays import Plays
from archive.run import games, map_source, stored_game
from archive.schema import PlaysKey, TaskId
from evo.config.schema import BudgetConfig
from evo.jobs.evaluation import Row, Task
from evo.jobs.job import MapText
from evo.record.budget import Cost, check
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import metadata_json
from xgl.runtime.requests import Seeds

Callback = Callable[[str, Row], None]
"""Is called with the table and each committed row of ``TOLD_TABLES``, in the process that drives
the run; no result depends on it."""


class Ledger:
    """Reads a run's rows once, then keeps up with what it commits itself.

    With a ``budget``, the commit that reaches it is the last: it is written, then ``commit`` raises
    :class:`~xgl.errors.BudgetError`.
    """

    def __init__(self, archive: Archive, run_id: str, budget: BudgetConfig | None = None) -> None:
        self.archive, self.run_id, self.budget = archive, run_id, budget
        self.callbacks: list[Callback] = []
        self.total_cost = Cost()
        self.scores: dict[PlaysKey, dict[Seeds, Row]] = defaultdict(dict)
        self.rounds: dict[PlaysKey, list[Row]] = defaultdict(list)
        self.finetunes: dict[str, Row] = {}
        self.curricula: dict[str, Row] = {}
        self.decisions: dict[tuple[Any, ...], Row] = {}
        self.proposals: dict[str, Row] = {}
        self.scopes: set[int] = set()
        self.newest_scope: list[Row] = []
        self._games = {row["game_id"] for row in archive.rows("games", ["game_id"])}
        self._maps = {_map_key(row) for row in archive.rows("maps")}
        mine = [("run_id", "==", run_id)]
        for table in LEDGER_TABLES:
            for row in archive.rows(table, filters=mine):
                self._remember(table, row)

    def commit(self, **tables: Sequence[Row]) -> None:
        """Write rows as one commit, if there are any; rows that name a run get this one."""
        if not any(tables.values()):
            return
        rows_by_table: dict[str, list[Row]] = {}
        for name, rows in tables.items():
            own: Row = {} if name in ("games", "maps") else {"run_id": self.run_id}
            rows_by_table[name] = [own | row for row in rows]
        self.archive.commit({name: rows for name, rows in rows_by_table.items() if rows})
        for name, rows in rows_by_table.items():
            for row in rows:
                self._remember(name, row)
        told = [(name, row) for name in TOLD_TABLES for row in rows_by_table.get(name, ())]
        for (name, row), callback in product(told, self.callbacks):
            callback(name, dict(row))
        if self.budget and any(rows_by_table.get(table) for table in COST_TABLES):
            check(self.budget, self.total_cost)

    def _remember(self, table: str, row: Row) -> None:
        if table in COST_TABLES:
            self.total_cost += Cost.of(row)
        match table:
            case "scores":
                self.scores[PlaysKey.of(row)][Seeds(row["map_seed"], row["play_seed"])] = row
            case "rounds":
                self.rounds[PlaysKey.of(row)] += [row]
            case "finetunes" | "curricula":
                getattr(self, table)[row["finetune_id"]] = row
            case "decisions":
                self.decisions[decision_key(row)] = row
            case "proposals":
                self.proposals[row["proposal_id"]] = row
            case "scopes":
                if row["scope"] not in self.scopes:
                    self.newest_scope = []
                self.scopes.add(row["scope"])
                self.newest_scope.append(row)
            case "games":
                self._games.add(row["game_id"])
            case "maps":
                self._maps.add(_map_key(row))

    def game_rows(self, tasks: Iterable[Task]) -> list[Row]:
        """Rows for the games that are not in the archive yet."""
        new = {t.game.game_id: t.game for t in tasks if t.game.game_id not in self._games}
        return [
            {
                "game_id": game.game_id,
                "dialect": game.dialect,
                "code": game.code,
                "metadata_json": metadata_json(game.metadata),
                "steps": analyse(game.program).steps,
            }
            for game in new.values()
        ]

    def tasks(self, task_ids: Iterable[TaskId]) -> dict[TaskId, Task]:
        """Games of the archive as they are played, without their floors."""
        task_ids = list(task_ids)
        rows = games(self.archive, [task_id.game_id for task_id in task_ids])
        return {each: Task(stored_game(rows[each.game_id]), each.role) for each in task_ids}

    def map_rows(self, texts: Iterable[MapText], purpose: str, source: str) -> list[Row]:
        """Rows for the map texts that are not in the archive yet."""
        rows = [
            {
                "map_seed": each.map_seed,
                "site": each.site,
                "purpose": purpose,
                "source": map_source(source, each.prompt, each.count),
                "text": each.text,
                "n_tokens": each.tokens,
            }
            for each in texts
        ]
        return [row for row in rows if _map_key(row) not in self._maps]

    def sample(self, key: PlaysKey, seeds: Sequence[Seeds]) -> Plays:
        """A policy's scores on these seeds; raises ``KeyError`` when one was not played."""
        rows = [self.scores[key][each] for each in seeds]
        return Plays(
            seeds=np.array([(each.map_seed, each.play_seed) for each in seeds], np.int64),
            own=np.array([row["score"] for row in rows]),
            permuted_scores=np.array([row["permuted_score"] for row in rows]),
        )

    def spent_on(self, task: Task) -> Row:
        """Plays, tokens and seconds that a candidate has cost so far: its own game's plays, its
        adapters' plays elsewhere, its fine-tunes. Scripted plays cost only seconds."""
        finetunes = [row for row in self.finetunes.values() if TaskId.of(row) == task.id]
        own = {row["finetune_id"] for row in finetunes}

        def is_its(key: PlaysKey) -> bool:
            return key.task_id == task.id or key.policy_id in own

        its = [(key, [*rows.values()]) for key, rows in self.scores.items() if is_its(key)]
        its += [(key, rows) for key, rows in self.rounds.items() if is_its(key)]
        cost = sum(map(Cost.of, chain(*(rows for _, rows in its), finetunes)), Cost())
        plays = sum(len(rows) for key, rows in its if not key.scripted)
        return {"plays": plays, "tokens": cost.tokens, "seconds": cost.seconds}


decision_key = itemgetter(
    *("generation", "parent_game_id", "parent_role", "round", "index", "game_id", "role")
)
"""Key of a decision: its place in the run."""
_map_key = itemgetter("map_seed", "site", "source", "text")
LEDGER_TABLES = ("scores", "rounds", "finetunes", "curricula", "decisions", "proposals", "scopes")
TOLD_TABLES = ("finetunes", "curricula", "decisions", "scopes")
"""The tables whose rows callbacks are told."""
COST_TABLES = ("finetunes", "curricula", "scores", "rounds", "proposals")
"""The tables whose rows have a cost that counts towards the budget."""
