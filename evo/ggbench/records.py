"""The archive's rows of a run of gg-bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from archive import Archive, PairPurpose
from archive.statistics.programs import NAMES
from evo.ggbench.filters import FilterVerdict
from evo.ggbench.game import ProgramGame
from evo.ggbench.opponents import Pairing
from evo.record.cost import Cost

Row = dict[str, Any]
Values = Sequence[Row | FilterVerdict | Pairing]


class Records:
    """Reads a run's rows once, then keeps up with what it commits itself."""

    def __init__(self, archive: Archive, run_id: str) -> None:
        self.archive, self.run_id = archive, run_id
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in NAMES}

    def commit(self, game: ProgramGame | None = None, **tables: Values) -> None:
        """One commit of rows, given without the run's id and the game's: mappings, verdicts or
        pairs. Raises :class:`archive.ArchiveError`."""
        ids = {"run_id": self.run_id} | ({"program_id": game.game_id} if game else {})
        complete = {
            name: [ids | _mapping(value) for value in values]
            for name, values in tables.items()
            if values
        }
        self.archive.commit(complete)
        for name, rows in complete.items():
            self.rows[name] += rows

    def of(self, table: str, game: ProgramGame) -> list[Row]:
        """A game's rows."""
        return [row for row in self.rows[table] if row["program_id"] == game.game_id]

    def games(self) -> list[ProgramGame]:
        """Games in their order, without those for which a request failed."""
        rows = sorted(self.rows["gg_games"], key=lambda row: row["place"])
        names = ("name", "rules", "source", "moves", "category", "author")
        return [ProgramGame(*(r[name] for name in names)) for r in rows if r["failed"] is None]

    def last_verdict(self, game: ProgramGame) -> Row | None:
        """The verdict of the last filter that the game came to."""
        return next(reversed(self.of("gg_filters", game)), None)

    def opponent(self, game: ProgramGame) -> str | None:
        """The game's opponent, a checkpoint; None if none was confirmed."""
        confirmed = (
            str(row["loser"])
            for row in self.of("gg_pairs", game)
            if row["purpose"] == PairPurpose.CONFIRMATION and row["passed"]
        )
        return next(confirmed, None)

    def waits_for(self, game: ProgramGame, player: str) -> bool:
        """Whether the game has an opponent and no plays of a player, which are committed all at
        once."""
        played = any(row["player"] == player for row in self.of("gg_plays", game))
        return not played and self.opponent(game) is not None

    def weights(self, game: ProgramGame) -> dict[int, bytes]:
        """Weights of the game's checkpoints, by quarter."""
        rows = self.of("gg_agents", game)
        return {row["quarter"]: self.archive.get_adapter(row["weights_sha256"]) for row in rows}

    def total_cost(self) -> Cost:
        """The cost of the work in all sessions."""
        rows = [row for table in self.rows.values() for row in table]
        return Cost(
            sum(row.get("tokens") or 0 for row in rows),
            sum(row.get("seconds") or 0.0 for row in rows),
            sum(row.get("dollars") or 0.0 for row in rows),
        )


def _mapping(value: Row | FilterVerdict | Pairing) -> Row:
    return value if isinstance(value, dict) else asdict(value)
