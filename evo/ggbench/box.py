"""The host's side of the box: one game in a process of its own, whose answers have deadlines.

Every answer is checked before it is used: form, type, range and shape. A faulty game harms only
itself: each fault raises :class:`GameFaultError`, and its process is killed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evo.ggbench.answers import (
    GameFaultError,
    are_plain_numbers,
    as_base64,
    bytes_of,
    flag,
    floats,
    form_fault,
    one_line,
    result_of,
    shown,
    text_of,
    whole,
    wholes,
)
from evo.ggbench.game import ProgramGame
from evo.ggbench.guest.frames import MOST_PLAYER
from evo.ggbench.guest_process import LIMITS, BoxLimits, GuestProcess
from xgl.errors import ConfigError

MOST_ACTIONS = 20_000
MOST_OBSERVED = 8_192
"""Numbers in an observation."""
Agent = Mapping[str, Any]


class NoLockError(ConfigError):
    """This machine has no lock for the process of a game."""


@dataclass(frozen=True)
class Spaces:
    """``actions``: moves are 0 … actions − 1; ``shape`` of an observation."""

    actions: int
    shape: tuple[int, ...]

    @property
    def features(self) -> int:
        """Count of numbers that a policy reads: the observation, and who moves."""
        return math.prod(self.shape) + 1


@dataclass(frozen=True)
class ProgramView:
    """A game after a move. ``result``: 1 the first player won, −1 the second, 0 neither, None it
    goes on; ``player``: what the game says whose turn it is, if it does."""

    observation: bytes
    text: str
    legal: tuple[int, ...]
    mover: int
    result: int | None
    truncated: bool
    player: str | None
    inside: bool


@dataclass(frozen=True)
class Match:
    """A whole game: its moves, and its result as in :class:`ProgramView`; None: it was too long."""

    moves: tuple[int, ...]
    result: int | None


@dataclass(frozen=True)
class Batch:
    """Observations of a learner: features (games, size) and masks (games, actions); after a move
    also rewards (games,) and whether games ended (games,)."""

    features: NDArray[np.float32]
    masks: NDArray[np.bool_]
    rewards: NDArray[np.float32]
    ended: NDArray[np.bool_]


class Box:
    """One game in its process; a context manager. The process ends with the thread that began
    it."""

    def __init__(self, game: ProgramGame, limits: BoxLimits = LIMITS) -> None:
        self.game, self.limits = game, limits

    def __enter__(self) -> Self:
        """Raises :class:`NoLockError` and :class:`GameFaultError`."""
        self.guest = GuestProcess(self.limits)
        with ExitStack() as stack:
            stack.callback(self.close)
            self._check_locked(self.guest.greeting())
            self.spaces = self._open()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the game's process."""
        self.guest.close()

    # -- requests; each raises GameFaultError ------------------------------------------------

    def new(self, seed: int) -> ProgramView:
        """Begin a game that the host steps."""
        return self._view(self.guest.ask("new", seed=seed))

    def play(self, move: int) -> ProgramView:
        """Make a move in the host's game."""
        return self._view(self.guest.ask("play", move=move))

    def peek(self, move: int, seed: int) -> ProgramView:
        """The position after a move, without making it; ``seed``: of the chance in it."""
        return self._view(self.guest.ask("peek", move=move, seed=seed))

    def choose(self, agent: Agent, seed: int, seconds: float | None = None) -> int:
        """The move that an agent chooses in the host's game."""
        answer = self.guest.ask("choose", seconds, agent=agent, seed=seed)
        return whole(answer, "move", 0, self.spaces.actions - 1)

    def keep_policy(self, name: str, layers: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Give the guest a policy: weights (inputs, outputs) and biases (outputs,) by layer."""
        layer_texts = [
            {"weights": as_base64(weights), "biases": as_base64(biases)}
            for weights, biases in layers
        ]
        self.guest.ask("policy", name=name, layers=layer_texts)

    def match(self, agents: tuple[Agent, Agent], seed: int, seconds: float | None = None) -> Match:
        """A whole game; the first of the agents moves first."""
        answer = self.guest.ask("match", seconds, agents=agents, seed=seed)
        moves = wholes(answer, "moves", 0, self.spaces.actions - 1)
        if len(moves) > self.limits.most_moves:
            raise GameFaultError("a game is longer than it may be")
        return Match(moves, result_of(answer))

    def solve(self, most: int, seconds: float, seed: int = 0) -> tuple[int, int] | str:
        """Positions and the value for who moves first (1, 0, −1), or why it cannot be solved."""
        answer = self.guest.ask("solve", seconds, most=most, seed=seed)
        if "reason" in answer:
            return one_line(text_of(answer, "reason"))
        return whole(answer, "positions", 1, most), whole(answer, "value", -1, 1)

    def quiz(self, agent: Agent, positions: int, seed: int, seconds: float) -> tuple[int, int]:
        """Number of positions in which some moves win and some do not, and of winning answers."""
        answer = self.guest.ask(
            "quiz", seconds, agent=agent, positions=positions, seed=seed, game_seed=0
        )
        count = whole(answer, "asked", 0, positions)
        return count, whole(answer, "right", 0, count)

    def train(self, seeds: Sequence[int], opponents: Sequence[str], exploration: float) -> Batch:
        """Begin as many games as seeds, for a learner."""
        answer = self.guest.ask("train", seeds=seeds, opponents=opponents, exploration=exploration)
        nothing = {"rewards": [0.0] * len(seeds), "ended": [0] * len(seeds)}
        return self._batch({**answer, **nothing}, len(seeds))

    def learn(self, moves: Sequence[int], exploration: float) -> Batch:
        """The learner's move in each of them."""
        answer = self.guest.ask("learn", moves=moves, exploration=exploration)
        return self._batch(answer, len(moves))

    # -- answers -----------------------------------------------------------------------------

    def _open(self) -> Spaces:
        answer = self.guest.ask("open", source=self.game.source, most_moves=self.limits.most_moves)
        actions = whole(answer, "actions", 1, MOST_ACTIONS)
        spaces = Spaces(actions, wholes(answer, "shape", 0, MOST_OBSERVED))
        if not 1 <= math.prod(spaces.shape) <= MOST_OBSERVED or len(spaces.shape) > 8:
            raise GameFaultError(f"observations have the shape {list(spaces.shape)}")
        return spaces

    def _view(self, answer: Mapping[str, Any]) -> ProgramView:
        if list(self.spaces.shape) != answer.get("shape"):
            raise GameFaultError(
                f"an observation has the shape {shown(answer.get('shape'))}, expected "
                f"{list(self.spaces.shape)}"
            )
        size = math.prod(self.spaces.shape)
        observation = floats(answer, "observation", size)
        named = answer.get("player") is not None
        return ProgramView(
            observation.tobytes(),
            text_of(answer, "text"),
            self._legal(answer),
            whole(answer, "mover", 0, 1),
            result_of(answer),
            flag(answer, "truncated"),
            text_of(answer, "player", MOST_PLAYER) if named else None,
            flag(answer, "inside"),
        )

    def _legal(self, answer: Mapping[str, Any]) -> tuple[int, ...]:
        legal = wholes(answer, "legal", 0, self.spaces.actions - 1)
        if len(set(legal)) != len(legal):
            raise GameFaultError("valid_moves names a move twice")
        if not legal and result_of(answer) is None:
            raise GameFaultError("no valid move is left and the game is not over")
        return legal

    def _batch(self, answer: Mapping[str, Any], games: int) -> Batch:
        features = floats(answer, "features", games * self.spaces.features).copy()
        bits = np.frombuffer(bytes_of(answer, "masks"), np.uint8)
        if bits.size != -(-games * self.spaces.actions // 8):
            raise form_fault("masks")
        masks = np.unpackbits(bits)[: games * self.spaces.actions].astype(bool)
        masks = masks.reshape(games, self.spaces.actions)
        if not masks.any(axis=1).all():
            raise GameFaultError("no valid move is left and the game is not over")
        rewards, ended = (answer.get(name) for name in ("rewards", "ended"))
        if not are_plain_numbers(rewards, games, -10) or not are_plain_numbers(ended, games, 0):
            raise form_fault("rewards")
        return Batch(
            features.reshape(games, -1), masks, np.array(rewards, np.float32), np.array(ended, bool)
        )

    def _check_locked(self, hello: Any) -> None:
        """Raises :class:`NoLockError` for a game that is not included in this package and whose
        process is not locked."""
        if not (isinstance(hello, dict) and hello.get("locked") is True) and not self.game.ships:
            reason = hello.get("reason") if isinstance(hello, dict) else None
            raise NoLockError(
                f"game: {self.game.name} does not ship with this package, and this machine cannot "
                f"lock it in ({reason}), expected Linux with seccomp"
            )
