"""Agents: random moves, a learned policy, and tree search."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from evo.ggbench.guest.position import Position

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

    Raises KeyError for a policy that was not sent before.
    """
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
    """Visits by move. A game ends undecided after ``most`` moves.

    Nodes are lines of moves rather than states, and each simulation has its own random draws, so
    the search cannot foresee dice. ``policy`` orders the moves that are tried first and plays the
    roll-outs; None: all at random.
    """
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
