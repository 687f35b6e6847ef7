"""Players without a model (docs/specification.md, "Playing a game"): fixed moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xgl.errors import OversizeError, PlayerError
from xgl.runtime.requests import Move, Player, Seeds, Turn


class FixedMovesPlayer:
    """Makes fixed moves, given for each instance, in order.

    When they are used up (for example because a move failed an ensure) it repeats the last one, so
    moves that cannot satisfy a game end in a forfeit, as for any player.
    """

    def __init__(self, scripts: Mapping[Seeds, Sequence[str]]) -> None:
        self.scripts = scripts
        self._moves_made: Counter[Seeds] = Counter()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """The next scripted move of each turn's seeds. Raises PlayerError without a script."""
        return [Move(self._next(turn.seeds)) for turn in turns]

    def _next(self, seeds: Seeds) -> str:
        script = self.scripts.get(seeds, ())
        if not script:
            raise PlayerError(f"no scripted moves for {seeds}")
        self._moves_made[seeds] += 1
        return script[min(self._moves_made[seeds], len(script)) - 1]


class OneAttempt(NamedTuple):
    """A player that gives up after a failed ensure."""

    player: Player

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        failed = OversizeError("there is no second attempt")
        moves = zip(turns, self.player.moves(turns), strict=True)
        return [failed if turn.request.view.has_failed else move for turn, move in moves]
