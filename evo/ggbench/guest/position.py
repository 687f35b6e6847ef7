"""A game in progress: the environment, the player to move, the result, and copies for searches; and
agents that move in it: random moves, a learned policy, and tree search."""

from __future__ import annotations

import base64
import copy
import copyreg
import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

INVALID = -10
"""What an environment pays for a move that the rules forbid."""
MOST_MOVES = 100_000
"""Most moves that a position may offer: a game that offers moves without end would fill the box."""
APART = 0x5EED0000
"""Divides the seeds of games from those of agents: both may draw by ``random.Random(seed)``."""
_NOT_STATE = ("action_space", "observation_space", "_np_random_seed", "metadata")
_GENERATORS: dict[type, Callable[[int], Any]] = {
    np.random.Generator: lambda seed: np.random.Generator(np.random.SFC64(seed)),
    np.random.RandomState: np.random.RandomState,
    random.Random: random.Random,
}
_draws: list[int] = []
"""The seed of the generators in the copy that a search is making."""


def _reduced(generator: Any) -> Any:
    """Wherever it lies in a game: a search must not foresee dice."""
    if _draws:
        return _GENERATORS[type(generator)], (_draws[0],)
    return generator.__reduce_ex__(4)


for _kind in _GENERATORS:
    copyreg.pickle(_kind, _reduced)


class GameError(Exception):
    """The game breaks the interface; the message says how."""


def valid_moves(env: Any) -> list[int]:
    """The moves that a game offers now. Raises :class:`GameError` for too many."""
    moves = list(islice(env.valid_moves(), MOST_MOVES + 1))
    if len(moves) > MOST_MOVES:
        raise GameError(f"valid_moves offers more than {MOST_MOVES:,} moves")
    return moves


class Position:
    """Strict alternation: the player who moves changes with every step. ``mover``: 0 for who moved
    first, else 1. ``result``: 1 a win of the first player, −1 of the second, 0 of neither; None
    while the game goes on."""

    def __init__(self, kind: Callable[[], Any], seed: int) -> None:
        own = seed ^ APART
        random.seed(own)
        np.random.seed(own)
        self.env: Any = kind()
        self.kind, self.seed, self.mover, self.is_copied = kind, seed, 0, True
        self.line: tuple[int, ...] = ()
        self.result: int | None = None
        self.observation, _ = self.env.reset(seed=own)
        self.legal = valid_moves(self.env)

    def play(self, move: int) -> None:
        """Make a move of the player whose turn it is."""
        self.observation, reward, terminated, truncated, _ = self.env.step(move)
        reward = float(reward + 0)
        if not math.isfinite(reward):
            raise GameError(f"step returns the reward {reward}, expected a finite number")
        if reward <= INVALID:
            raise GameError(f"move {move} of valid_moves is called invalid (reward {INVALID})")
        self.line += (move,)
        if terminated or truncated:
            won = (reward > 0) - (reward < 0) if terminated else 0
            self.result, self.legal = (-won if self.mover else won), []
        else:
            self.legal = valid_moves(self.env)
        self.mover ^= 1

    def copy(self, seed: int) -> Position:
        """The same position with other future random draws, named by ``seed``; a state that cannot
        be copied is played again."""
        env = self._copied_env(seed) if self.is_copied else None
        if env is None:
            twin = Position(self.kind, self.seed)
            for move in self.line:
                twin.play(move)
            self.is_copied = twin.is_copied = False
            random.seed(seed)
            np.random.seed(seed)
            _draws.append(seed)
            memo: dict[int, Any] = {id(twin.env): twin.env}
            for name, value in getattr(twin.env, "__dict__", {}).items():
                with suppress(Exception):  # what has no copy is as it was played
                    twin.env.__dict__[name] = copy.deepcopy(value, memo)
            _draws.clear()
            return twin
        twin = object.__new__(Position)
        twin.__dict__.update(self.__dict__, env=env)
        return twin

    def _copied_env(self, seed: int) -> Any:
        """None for an environment that cannot be copied, or is its own copy."""
        state = getattr(self.env, "__dict__", {})
        # deepcopy takes what the memo holds as it is
        memo = {id(state[name]): state[name] for name in _NOT_STATE if name in state}
        _draws.append(seed)
        try:
            env = copy.deepcopy(self.env, memo)
        except Exception:  # noqa: BLE001 – of the game's own methods, or of a state without copies
            return None
        finally:
            _draws.clear()
        return None if env is self.env else env

    def features(self) -> NDArray[np.float32]:
        """The observation, flat, and whether the first player moves: (size + 1,)."""
        return np.append(np.asarray(self.observation, np.float32), np.float32(1 - self.mover))

    def value(self, player: int) -> float:
        """1 if ``player`` has won, 0 if it has lost, ½ if nobody has won."""
        return 0.5 + (self.result or 0) * (0.5 - player)


# -- agents ----------------------------------------------------------------------------------------

EXPLORATION = 1.4
"""c of UCB1."""
MOST_POSITIONS = 50_000
"""Most positions whose probabilities are cached: roll-outs meet the same ones many times."""


class Policy:
    """A learned policy of tanh layers, from ``{"weights": base64, "biases": base64}``, float32,
    layer by layer."""

    def __init__(self, layers: Sequence[Mapping[str, str]]) -> None:
        arrays = [
            [np.frombuffer(base64.b64decode(each[name]), np.float32) for name in sorted(each)]
            for each in layers
        ]
        self.layers = [(weights.reshape(-1, biases.size), biases) for biases, weights in arrays]
        self._known: dict[tuple[bytes, tuple[int, ...]], list[float]] = {}

    def chances(self, position: Position) -> list[float]:
        """Probability of each legal move, in their order; they sum to 1."""
        features = position.features()
        key = features.tobytes(), tuple(position.legal)
        if key not in self._known:
            if len(self._known) >= MOST_POSITIONS:
                self._known.clear()
            values = features
            for weights, biases in self.layers[:-1]:
                values = np.tanh(values @ weights + biases)
            weights, biases = self.layers[-1]
            logits = (values @ weights + biases)[position.legal]
            shares = np.exp(logits - logits.max())
            self._known[key] = (shares / shares.sum()).tolist()
        return self._known[key]

    def sample(self, position: Position, rng: Random) -> int:
        """A move drawn from the probabilities."""
        rest = rng.random()
        for move, chance in zip(position.legal, self.chances(position), strict=True):
            rest -= chance
            if rest < 0:
                return move
        return position.legal[-1]


def random_move(position: Position, rng: Random) -> int:
    """Any legal move."""
    return position.legal[int(rng.random() * len(position.legal))]


def chosen_move(
    agent: Mapping[str, Any],
    policies: Mapping[str, Policy],
    position: Position,
    rng: Random,
    most: int,
) -> int:
    """The move of an agent, by its ``kind``: random; greedy, the likeliest move of ``policy``; or
    search, the most visited move (ties: the lowest) of ``simulations`` with ``policy`` or none.
    Raises KeyError for a policy that was not sent before."""
    policy = policies[agent["policy"]] if agent.get("policy") else None
    if agent["kind"] == "random":
        return random_move(position, rng)
    if agent["kind"] == "greedy" and policy:
        chances = policy.chances(position)
        return position.legal[chances.index(max(chances))]
    if len(position.legal) == 1:
        return position.legal[0]
    before = random.getstate(), np.random.get_state()  # the game's own chance stays as it was
    random.seed(rng.getrandbits(32))
    np.random.seed(rng.getrandbits(32))
    try:
        visits = search(position, agent["simulations"], policy, rng, most)
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
    return min(visits, key=lambda move: (-visits[move], move))


# -- Monte-Carlo tree search -----------------------------------------------------------------------


class _Node:
    """Statistics of a line of moves; ``wins`` of the player who made the last of them."""

    __slots__ = ("children", "visits", "wins")

    def __init__(self) -> None:
        self.visits, self.wins = 0, 0.0
        self.children: dict[int, _Node] = {}

    def best(self, legal: list[int]) -> int:
        """The move of the highest upper confidence bound; every one has been visited."""
        log = math.log(self.visits)

        def bound(move: int) -> float:
            node = self.children[move]
            return node.wins / node.visits + EXPLORATION * math.sqrt(log / node.visits)

        return max(legal, key=bound)


def search(
    position: Position, simulations: int, policy: Policy | None, rng: Random, most: int
) -> dict[int, int]:
    """Visits by move. A game ends undecided after ``most`` moves. Nodes are lines of moves rather
    than states, and each simulation has its own random draws, so that no search foresees dice.
    ``policy`` orders the moves that are tried first and plays the roll-outs; None: random."""
    root, roll = _Node(), policy.sample if policy else random_move
    for _ in range(simulations):
        place = position.copy(rng.getrandbits(32))
        node, line = root, [(root, 1 - place.mover)]
        untried: list[int] = []
        while place.result is None and len(place.line) < most and not untried:
            untried = [move for move in place.legal if move not in node.children]
            if not untried:
                move = node.best(place.legal)
            elif policy is None:
                move = untried[int(rng.random() * len(untried))]
            else:
                chances = dict(zip(place.legal, policy.chances(place), strict=True))
                move = max(untried, key=chances.__getitem__)
            node = node.children.setdefault(move, _Node())
            line.append((node, place.mover))
            place.play(move)
        while place.result is None and len(place.line) < most:
            place.play(roll(place, rng))
        for node, player in line:
            node.visits += 1
            node.wins += place.value(player)
    return {move: node.visits for move, node in root.children.items()}
