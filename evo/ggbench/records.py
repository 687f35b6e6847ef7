"""The archive's rows of a run of gg-bench: reading and adding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from archive import Archive, PairPurpose
from archive.statistics.measures.win_rates import (
    Tally,
    bootstrap,
    over_answers,
    over_plays,
    tallies_of,
)
from evo.ggbench.author import WrittenGame
from evo.ggbench.evaluation import ProgramPlay
from evo.ggbench.filters import FilterVerdict
from evo.ggbench.game import ProgramGame
from evo.ggbench.jobs import Opponent, Preparation
from evo.ggbench.opponents import OPTIMAL
from evo.ggbench.players import Player, ProgramChatPlayer
from evo.record.cost import Cost

Row = dict[str, Any]
NAMES = ("gg_games", "gg_filters", "gg_agents", "gg_pairs", "gg_plays", "gg_scores")


class Records:
    """Reads a run's rows once, then keeps up with what it commits itself."""

    def __init__(self, archive: Archive, run_id: str) -> None:
        self.archive, self.run_id = archive, run_id
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in NAMES}

    def commit(self, **tables: Sequence[Mapping[str, Any]]) -> None:
        """Rows without the run's id. Raises :class:`archive.ArchiveError`."""
        complete = {
            name: [{"run_id": self.run_id, **row} for row in rows] for name, rows in tables.items()
        }
        self.archive.commit({name: rows for name, rows in complete.items() if rows})
        for name, rows in complete.items():
            self.rows[name] += rows

    # -- what is there -------------------------------------------------------------------------

    def games(self) -> list[ProgramGame]:
        """Games in their order, without those for which a request failed."""
        rows = sorted(self.rows["gg_games"], key=lambda row: row["place"])
        return [_game(row) for row in rows if row["failed"] is None]

    def verdicts(self, game: ProgramGame) -> list[Row]:
        """Verdicts of the game's filters, in their order."""
        return self._of("gg_filters", game)

    def opponent(self, game: ProgramGame) -> Opponent | None:
        """The game's opponent; None if none was confirmed."""
        for row in self._of("gg_pairs", game):
            if row["purpose"] == PairPurpose.CONFIRMATION and row["passed"]:
                return Opponent(row["loser"], row["rung"])
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
        paid_rows = [*self.rows["gg_plays"], *self.rows["gg_games"]]
        tokens = sum(row["tokens"] or 0 for row in paid_rows)
        return Cost(tokens, seconds, sum(row["dollars"] or 0.0 for row in paid_rows))

    def tallies(self, player: str) -> list[Tally]:
        """The player's tallies, one for each game that it has played."""
        return tallies_of(self.rows["gg_plays"], player)

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

    def add_preparation(self, game: ProgramGame, preparation: Preparation, run_seed: int) -> None:
        """Filters, checkpoints and pairs of one game, one commit."""
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
        pairs = [{"program_id": game.game_id, **asdict(pair)} for pair in preparation.pairings]
        filters = [verdict_row(game, verdict) for verdict in preparation.verdicts]
        self.commit(gg_filters=filters, gg_agents=agents, gg_pairs=pairs)

    def add_plays(
        self, game: ProgramGame, player: Player, opponent: Opponent, plays: Sequence[ProgramPlay]
    ) -> None:
        """All plays of one player on one game, one commit."""
        rows = [_play_row(game, player, opponent, play) for play in plays]
        self.commit(gg_plays=rows)

    def add_score(self, player: str) -> None:
        """Add the score of a player that has played all games."""
        if tallies := self.tallies(player):
            self.commit(gg_scores=[{"player": player, **score(tallies)}])


def score(tallies: Sequence[Tally]) -> Row:
    """The row of ``gg_scores``, but for run and player."""
    rate, paper, (low, high) = over_plays(tallies), over_answers(tallies), bootstrap(tallies)
    return {
        "games": rate.games,
        "win_rate": rate.mean,
        "low": low,
        "high": high,
        "half_width": rate.half_width,
        "paper_rate": paper.mean if paper else None,
        "paper_half_width": paper.half_width if paper else None,
    }


def game_row(
    game: ProgramGame,
    place: int,
    failure: str | None = None,
    tokens: int | None = None,
    dollars: float | None = None,
) -> Row:
    """The row of ``gg_games``, but for the run."""
    return {
        "program_id": game.game_id,
        "place": place,
        "name": game.name,
        "title": game.title,
        "category": game.category,
        "author": game.author,
        "rules": game.rules,
        "source": game.source,
        "moves": game.moves,
        "failed": failure,
        "tokens": tokens,
        "dollars": dollars,
    }


def games_of(run: Path) -> list[ProgramGame]:
    """The games of a run that have all their texts. Raises :class:`archive.ArchiveError`."""
    with Archive.open(run) as archive:
        return Records(archive, "").games()


def _game(row: Row) -> ProgramGame:
    texts = (row["rules"], row["source"], row["moves"])
    return ProgramGame(row["name"], *texts, row["category"], row["author"])


def verdict_row(game: ProgramGame, verdict: FilterVerdict) -> Row:
    """The row of ``gg_filters``, but for the run."""
    return {"program_id": game.game_id, **asdict(verdict)}


def _play_row(game: ProgramGame, player: Player, opponent: Opponent, play: ProgramPlay) -> Row:
    has_prices = isinstance(player, ProgramChatPlayer) and bool(player.settings.prices)
    return {
        "program_id": game.game_id,
        "player": player.name,
        "opponent": opponent.title,
        "number": play.number,
        "seat": play.seat,
        "seed": play.seed,
        "outcome": play.outcome,
        "moves": play.moves,
        "asked": play.usage.requests if play.usage.requests else None,
        "tokens": play.usage.tokens if play.usage.requests else None,
        "dollars": play.usage.dollars if has_prices else None,
        "reason": play.reason,
        "seconds": play.seconds,
    }
