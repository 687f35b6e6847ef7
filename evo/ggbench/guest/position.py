"""A game in progress: the environment, the player to move, and the result."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evo.ggbench.guest.copies import copy_of, reseed

INVALID = -10
"""What an environment pays for a move that the rules forbid."""
SEED_BITS = 32


class GameError(Exception):
    """The game breaks the interface; the message says how."""


class Position:
    """Strict alternation: the player who moves changes with every step.

    ``mover``: 0 for who moved first, else 1. ``result``: 1 a win of the first player, −1 of the
    second, 0 of neither; None while the game goes on. ``reward``: the mover's, of the last step.
    """

    __slots__ = (
        *("env", "kind", "legal", "line", "mover", "observation", "result", "reward", "seed"),
        "truncated",
    )

    line: tuple[int, ...]

    def __init__(self, kind: Callable[[], Any], seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        self.env = kind()
        self.kind, self.seed, self.mover, self.line = kind, seed, 0, ()
        self.result: int | None = None
        self.reward, self.truncated = 0.0, False
        answer = self.env.reset(seed=seed)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise GameError(f"reset returns {_form(answer)}, expected (observation, info)")
        self.observation = answer[0]
        self.legal: list[int] = list(self.env.valid_moves())

    def play(self, move: int) -> None:
        """Make a move of the player whose turn it is."""
        answer = self.env.step(move)
        if not isinstance(answer, tuple) or len(answer) != 5:
            expected = "(observation, reward, terminated, truncated, info)"
            raise GameError(f"step returns {_form(answer)}, expected {expected}")
        self.observation, reward, terminated, self.truncated, _ = answer
        self.reward = float(reward + 0)
        if not math.isfinite(self.reward):
            raise GameError(f"step returns the reward {self.reward}, expected a finite number")
        self.line += (move,)
        if terminated or self.truncated:
            self.result = self._result(terminated)
            self.legal = []
        else:
            if self.reward <= INVALID:
                raise GameError(f"move {move} of valid_moves is called invalid (reward -10)")
            legal = self.env.valid_moves()
            self.legal = legal if type(legal) is list else list(legal)
            if not self.legal:
                raise GameError("no valid move is left and the game is not over")
        self.mover ^= 1

    def _result(self, terminated: bool) -> int:
        if self.reward <= INVALID:
            raise GameError("a move of valid_moves is called invalid (reward -10)")
        if not terminated or not self.reward:
            return 0
        return 1 if (self.reward > 0) == (self.mover == 0) else -1

    @property
    def moves(self) -> int:
        """Number of moves so far."""
        return len(self.line)

    def copy(self, seed: int) -> Position:
        """The same position with other future random draws, named by ``seed``; a state that cannot
        be copied is played again."""
        try:
            env = copy_of(self.env, seed)
        except TypeError:
            return self._played_again(seed)
        twin = object.__new__(Position)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.env = env
        return twin

    def _played_again(self, seed: int) -> Position:
        twin = Position(self.kind, self.seed)
        for move in self.line:
            twin.play(move)
        reseed(twin.env, seed)
        random.seed(seed)
        np.random.seed(seed)
        return twin

    def features(self) -> NDArray[np.float32]:
        """The observation, flat, and whether the first player moves: (size + 1,)."""
        observation = np.asarray(self.observation, np.float32).ravel()
        features = np.empty(observation.size + 1, np.float32)
        features[:-1], features[-1] = observation, 1 - self.mover
        return features

    def value(self, player: int) -> float:
        """1 if ``player`` has won, 0 if it has lost, ½ if nobody has won."""
        if not self.result:
            return 0.5
        return float((self.result > 0) == (player == 0))


def _form(answer: object) -> str:
    if isinstance(answer, tuple):
        return f"{len(answer)} values"
    return type(answer).__name__
