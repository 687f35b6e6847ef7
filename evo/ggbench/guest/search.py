"""Monte-Carlo tree search: UCB1, roll-outs by a policy or at random, the most visited move."""

from __future__ import annotations

import math
from random import Random

from evo.ggbench.guest.policy import Policy
from evo.ggbench.guest.position import SEED_BITS, Position

EXPLORATION = 1.4
"""c of UCB1."""


class Node:
    """Statistics of a line of moves; ``wins`` of the player who made the last of them."""

    __slots__ = ("children", "visits", "wins")

    def __init__(self) -> None:
        self.visits, self.wins = 0, 0.0
        self.children: dict[int, Node] = {}

    def best(self, legal: list[int]) -> int:
        """The move of the highest upper confidence bound; every one has been visited."""
        log = math.log(self.visits)
        children = self.children

        def bound(move: int) -> float:
            node = children[move]
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
    root = Node()
    for _ in range(simulations):
        _simulate(root, position.copy(rng.getrandbits(SEED_BITS)), policy, rng, most)
    return {move: node.visits for move, node in root.children.items()}


def most_visited(visits: dict[int, int]) -> int:
    """Ties: the lowest move."""
    return min(visits, key=lambda move: (-visits[move], move))


def _simulate(
    root: Node, position: Position, policy: Policy | None, rng: Random, most: int
) -> None:
    """One line from the root through the tree to the end of the game, and its result back."""
    node, line = root, [(root, 1 - position.mover)]
    while position.result is None and position.moves < most:
        untried = [move for move in position.legal if move not in node.children]
        move = _first_try(untried, position, policy, rng) if untried else node.best(position.legal)
        node = node.children.setdefault(move, Node())
        line.append((node, position.mover))
        position.play(move)
        if untried:
            break
    roll_out(position, policy, rng, most)
    for node, player in line:
        node.visits += 1
        node.wins += position.value(player)


def _first_try(untried: list[int], position: Position, policy: Policy | None, rng: Random) -> int:
    if policy is None:
        return untried[int(rng.random() * len(untried))]
    chances = dict(zip(position.legal, policy.probabilities(position), strict=True))
    return max(untried, key=lambda move: chances[move])


def roll_out(position: Position, policy: Policy | None, rng: Random, most: int) -> None:
    """Play on until the end, both players by ``policy``, or at random."""
    while position.result is None and position.moves < most:
        legal = position.legal
        if policy is None:
            position.play(legal[int(rng.random() * len(legal))])
        else:
            position.play(policy.sample(position, rng))
