"""Many games at once for a learner: its moves come in, its opponents answer here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from evo.ggbench.guest.agents import Policy
from evo.ggbench.guest.position import INVALID, GameError, Position


class Slot:
    """One game after the other, the learner in a seat drawn for each."""

    def __init__(
        self, kind: Callable[[], Any], rng: Random, policies: Sequence[Policy], most: int
    ) -> None:
        self.kind, self.rng, self.policies, self.most = kind, rng, policies, most

    def begin(self, exploration: float) -> None:
        """A new game up to the learner's first move."""
        self.position = Position(self.kind, self.rng.getrandbits(32))
        self.seat = int(self.rng.random() * 2)
        # drawn in any case: the same luck whether or not there are earlier checkpoints
        place = self.rng.random() * len(self.policies)
        self.opponent = self.policies[int(place)] if self.policies else None
        if self.seat == 1:
            self._answer(exploration)
            if self.position.result is not None:
                raise GameError("a game ends with its first move")

    def move(self, move: int, exploration: float) -> tuple[float, bool]:
        """The learner's move and the answer to it: the learner's reward (1 win, −1 loss, 0 draw),
        and whether the game ended, after which the next has begun."""
        position, reward = self.position, float(INVALID)
        if move in position.legal:
            position.play(move)
            if position.result is None:
                self._answer(exploration)
            if position.result is None:
                if len(position.line) >= self.most:
                    raise GameError(f"a game of self-play lasts longer than {self.most} moves")
                return 0.0, False
            reward = 2 * position.value(self.seat) - 1
        self.begin(exploration)
        return reward, True

    def _answer(self, exploration: float) -> None:
        legal, rng = self.position.legal, self.rng
        if self.opponent is None or rng.random() < exploration:
            self.position.play(legal[int(rng.random() * len(legal))])
        else:
            self.position.play(self.opponent.sample(self.position, rng))
