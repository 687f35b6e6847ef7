"""A player without a model that says anything."""

from __future__ import annotations

from collections.abc import Sequence

from xgl.errors import OversizeError
from xgl.random_streams import stream
from xgl.runtime.requests import Move, Turn


class RandomPlayer:
    """Says random words of a vocabulary, one for each token it may use."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = tuple(vocabulary)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """Random words for each turn, a function of its seeds."""
        return [Move(self._words(turn)) for turn in turns]

    def _words(self, turn: Turn) -> str:
        rng = stream("random player", *turn.key)
        return " ".join(rng.choice(self.vocabulary, size=turn.request.max_len))
