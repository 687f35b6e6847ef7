"""The archive's rows of a run of gg-bench: reading and adding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from archive import Archive, PairPurpose
from archive.statistics.programs import NAMES
from evo.ggbench.author import WrittenGame
from evo.ggbench.box import OPTIMAL
from evo.ggbench.evaluation import ProgramPlay
from evo.ggbench.filters import FilterVerdict
from evo.ggbench.game import ProgramGame
from evo.ggbench.opponents import Pairing
from evo.ggbench.selfplay import Checkpoint
from evo.measure.players import RemotePlayer
from evo.record.cost import Cost

Row = dict[str, Any]


@dataclass(frozen=True)
class Preparation:
    """Results of a game's self-play and search for an opponent, as far as they went."""

    verdicts: Sequence[FilterVerdict]
    checkpoints: Sequence[Checkpoint] = ()
    pairings: Sequence[Pairing] = ()


class Records:
    """Reads a run's rows once, then keeps up with what it commits itself."""

    def __init__(self, archive: Archive, run_id: str) -> None:
        self.archive, self.run_id = archive, run_id
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in NAMES}

    def commit(self, **tables: Sequence[Mapping[str, Any]]) -> None:
        """Rows without the run's id. Raises :class:`archive.ArchiveError`."""
        complete = {
            name: [{"run_id": self.run_id, **row} for row in rows]
            for name, rows in tables.items()
            if rows
        }
        self.archive.commit(complete)
        for name, rows in complete.items():
            self.rows[name] += rows

    # -- what is there -------------------------------------------------------------------------

    def games(self) -> list[ProgramGame]:
        """Games in their order, without those for which a request failed."""
        rows = sorted(self.rows["gg_games"], key=lambda row: row["place"])
        names = ("name", "rules", "source", "moves", "category", "author")
        return [ProgramGame(*(r[name] for name in names)) for r in rows if r["failed"] is None]

    def last_verdict(self, game: ProgramGame) -> Row | None:
        """The verdict of the last filter that the game came to."""
        rows = self._of("gg_filters", game)
        return rows[-1] if rows else None

    def opponent(self, game: ProgramGame) -> str | None:
        """The game's opponent, a checkpoint; None if none was confirmed."""
        for row in self._of("gg_pairs", game):
            if row["purpose"] == PairPurpose.CONFIRMATION and row["passed"]:
                return str(row["loser"])
        return None

    def is_solved(self, game: ProgramGame) -> bool:
        """Whether perfect play is known, so that it was one of the agents."""
        return any(row["winner"] == OPTIMAL for row in self._of("gg_pairs", game))

    def weights(self, game: ProgramGame) -> dict[int, bytes]:
        """Weights of the game's checkpoints, by quarter."""
        rows = self._of("gg_agents", game)
        return {row["quarter"]: self.archive.get_adapter(row["weights_sha256"]) for row in rows}

    def has_plays(self, game: ProgramGame, player: str) -> bool:
        """Whether the player's plays are there, which are committed all at once."""
        return any(row["player"] == player for row in self._of("gg_plays", game))

    def total_cost(self) -> Cost:
        """The cost of the work in all sessions."""
        timed_tables = ("gg_filters", "gg_agents", "gg_pairs", "gg_plays")
        seconds = sum(row["seconds"] for name in timed_tables for row in self.rows[name])
        paid = [row for name in ("gg_games", "gg_filters", "gg_plays") for row in self.rows[name]]
        tokens = sum(row["tokens"] or 0 for row in paid)
        return Cost(tokens, seconds, sum(row["dollars"] or 0.0 for row in paid))

    def _of(self, table: str, game: ProgramGame) -> list[Row]:
        return [row for row in self.rows[table] if row["program_id"] == game.game_id]

    # -- what is new ---------------------------------------------------------------------------

    def add_games(
        self, written_games: Sequence[WrittenGame], places: Sequence[int], has_prices: bool
    ) -> None:
        """Add an author's games in one commit. A game whose texts are another's counts as
        failed."""
        rows = []
        names_by_id = {row["program_id"]: row["name"] for row in self.rows["gg_games"]}
        for each, place in zip(written_games, places, strict=True):
            game, failure = each.game, each.failure
            if failure is None and game.game_id in names_by_id:
                failure = f"known: its three texts are those of {names_by_id[game.game_id]}"
                game = replace(game, rules="", source="", moves="")
            elif failure is None:
                names_by_id[game.game_id] = game.name
            dollars = each.usage.dollars if has_prices else None
            rows.append(game_row(game, place, failure, each.usage.tokens, dollars))
        self.commit(gg_games=rows)

    def add_verdicts(self, game: ProgramGame, verdicts: Sequence[FilterVerdict]) -> None:
        """The verdicts of a game's filters before self-play, one commit."""
        self.commit(gg_filters=_rows(game, verdicts))

    def add_preparation(self, game: ProgramGame, preparation: Preparation, run_seed: int) -> None:
        """Checkpoints, pairs and their verdicts, one commit."""
        agents = [
            {
                "program_id": game.game_id,
                "quarter": each.quarter,
                "steps": each.steps,
                "weights_sha256": self.archive.put_adapter(each.weights),
                "seed": run_seed,
                "seconds": each.seconds,
            }
            for each in preparation.checkpoints
        ]
        verdicts, pairs = _rows(game, preparation.verdicts), _rows(game, preparation.pairings)
        self.commit(gg_filters=verdicts, gg_agents=agents, gg_pairs=pairs)

    def add_plays(
        self, game: ProgramGame, player: Any, opponent: str, plays: Sequence[ProgramPlay]
    ) -> None:
        """All plays of one player on one game, one commit."""
        has_prices = isinstance(player, RemotePlayer) and bool(player.settings.prices)
        rows = []
        for play in plays:
            asked = play.usage.requests or None
            usage = {
                "asked": asked,
                "tokens": play.usage.tokens if asked else None,
                "dollars": play.usage.dollars if has_prices else None,
            }
            facts = {name: value for name, value in vars(play).items() if name != "usage"}
            names = {"player": player.name, "opponent": opponent}
            rows.append({"program_id": game.game_id, **names, **facts, **usage})
        self.commit(gg_plays=rows)


def _rows(game: ProgramGame, values: Sequence[Any]) -> list[Row]:
    return [{"program_id": game.game_id, **asdict(value)} for value in values]


def game_row(
    game: ProgramGame,
    place: int,
    failure: str | None = None,
    tokens: int | None = None,
    dollars: float | None = None,
) -> Row:
    """The row of ``gg_games``, but for the run."""
    facts = {"program_id": game.game_id, "title": game.title, "place": place}
    return {**facts, **asdict(game), "failed": failure, "tokens": tokens, "dollars": dollars}


def games_of(run: Path) -> list[ProgramGame]:
    """The games of a run that have all their texts. Raises :class:`archive.ArchiveError`."""
    with Archive.open(run) as archive:
        return Records(archive, "").games()
