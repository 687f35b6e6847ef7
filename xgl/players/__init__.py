"""Players (docs/specification.md, "Playing a game"). This module has those without a model: fixed
moves and random words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xgl.errors import OversizeError, PlayerError
from xgl.random_streams import stream
from xgl.runtime.requests import Move, Seeds, Turn

__all__ = ["FixedMovesPlayer", "RandomPlayer"]


class FixedMovesPlayer:
    """Makes fixed moves, given for each instance, in order.

    When they are used up (for example because a move failed an ensure) it repeats the last one, so
    moves that cannot satisfy a game end in a forfeit, as for any player.
    """

    def __init__(self, scripts: Mapping[Seeds, Sequence[str]]) -> None:
        self.scripts = scripts
        self._moves_made: dict[Seeds, int] = {}

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """The next scripted move of each turn's seeds. Raises PlayerError without a script."""
        return [Move(self._next(turn.seeds)) for turn in turns]

    def _next(self, seeds: Seeds) -> str:
        script = self.scripts.get(seeds, ())
        if not script:
            raise PlayerError(f"no scripted moves for {seeds}")
        index = self._moves_made.get(seeds, 0)
        self._moves_made[seeds] = index + 1
        return script[min(index, len(script) - 1)]


class RandomPlayer:
    """Says random words of a vocabulary, one for each token it may use."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        if not vocabulary:
            raise PlayerError("a random player needs words to say")
        self.vocabulary = tuple(vocabulary)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """Random words for each turn, a function of its seeds."""
        return [Move(self._words(turn)) for turn in turns]

    def _words(self, turn: Turn) -> str:
        rng = stream("random player", *turn.key)
        return " ".join(rng.choice(self.vocabulary, size=turn.request.max_len))
