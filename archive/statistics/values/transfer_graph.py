"""The graph of games, with an edge if a value reaches α, and its components (Def. 54)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archive.schema import TaskId
from archive.statistics.values.intervals import Scores


@dataclass(frozen=True)
class TransferGraph:
    """``games``, and ``down``: for each game the games that it has an edge to (G1 ☽ G2 iff its
    value on G2 reaches α). A game is in its own components even without an edge to itself."""

    games: tuple[TaskId, ...]
    down: Mapping[TaskId, tuple[TaskId, ...]]

    @property
    def up(self) -> dict[TaskId, tuple[TaskId, ...]]:
        """The reversed edges."""
        sources_of: dict[TaskId, list[TaskId]] = {game: [] for game in self.games}
        for source in self.games:
            for target in self.down[source]:
                sources_of[target].append(source)
        return {game: tuple(sources) for game, sources in sources_of.items()}

    def downstream(self, start: Iterable[TaskId]) -> frozenset[TaskId]:
        """All games that downstream paths from ``start`` reach, these included."""
        return _reachable(self.down, start)

    def upstream(self, start: Iterable[TaskId]) -> frozenset[TaskId]:
        """All games from which downstream paths reach ``start``, these included."""
        return _reachable(self.up, start)

    def strong(self) -> list[tuple[TaskId, ...]]:
        """Sets of games that reach one another both ways, each in the order of the games."""
        remaining, components = list(self.games), []
        while remaining:
            reach = self.downstream(remaining[:1]) & self.upstream(remaining[:1])
            components.append(tuple(game for game in remaining if game in reach))
            remaining = [game for game in remaining if game not in reach]
        return components


def transfer_graph(games: Sequence[TaskId], values: Scores, alpha: float) -> TransferGraph:
    """Edges among ``games`` of a matrix of values (n, n), rows teach columns.

    A value that is not measured (NaN) or not defined (−inf) is no edge. Raises ValueError unless
    α > 0.
    """
    if not alpha > 0:
        raise ValueError(f"found α = {alpha}, expected it above 0")
    is_edge = np.nan_to_num(values, nan=-np.inf) >= alpha
    down = {
        game: tuple(
            other for column, other in enumerate(games) if is_edge[row, column] and other != game
        )
        for row, game in enumerate(games)
    }
    return TransferGraph(tuple(games), down)


def _reachable(
    edges: Mapping[TaskId, Sequence[TaskId]], start: Iterable[TaskId]
) -> frozenset[TaskId]:
    found_games = set(start)
    waiting = list(found_games)
    while waiting:
        for game in edges[waiting.pop()]:
            if game not in found_games:
                found_games.add(game)
                waiting.append(game)
    return frozenset(found_games)
