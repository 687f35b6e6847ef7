"""The exact value of every position of a small game without chance, by retrograde analysis."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from evo.ggbench.guest.copies import GENERATOR, NoKeyError, key
from evo.ggbench.guest.position import Position


class UnsolvableError(Exception):
    """Why a game cannot be solved here."""


class _NoChance:
    """Stands for the generator of a game that must have no chance."""

    def __getattr__(self, name: str) -> Any:
        raise UnsolvableError("it has chance")


@dataclass
class Node:
    """A position: its moves lead to numbers of positions, or end the game with the mover's
    result. ``value``: 1 the mover wins, −1 loses, 0 neither; ``distance``: moves to the end."""

    after: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    before: list[int] = field(default_factory=list)
    value: int | None = None
    distance: int = 0


class Solution:
    """All positions that can be reached, and their values."""

    def __init__(self, start: Position, most: int) -> None:
        """Raises :class:`UnsolvableError` beyond ``most`` positions, with chance, or where states
        cannot be compared."""
        self.numbers: dict[Hashable, int] = {}
        self.nodes: list[Node] = []
        chance = _global_chance()
        try:
            self._reach(start, most)
        except NoKeyError as error:
            raise UnsolvableError(f"its state holds a {error}") from None
        if chance != _global_chance():
            raise UnsolvableError("it has chance")
        self._solve()

    def node(self, position: Position) -> Node:
        """The node of a position of the game."""
        return self.nodes[self.numbers[_key(position)]]

    def outcomes(self, position: Position) -> dict[int, tuple[int, int]]:
        """By legal move: the mover's result, and moves to the end."""
        node = self.node(position)
        outcomes = {move: (result, 1) for move, result in node.ends.items()}
        for move, number in node.after.items():
            after = self.nodes[number]
            outcomes[move] = -(after.value or 0), after.distance + 1
        return outcomes

    def best(self, position: Position, rng: Random) -> int:
        """A best move: the quickest win, or the slowest loss; equal ones at random."""
        outcomes = self.outcomes(position)
        ranks = {move: (value, -value * moves) for move, (value, moves) in outcomes.items()}
        top = max(ranks.values())
        equal = sorted(move for move, rank in ranks.items() if rank == top)
        return equal[int(rng.random() * len(equal))]

    def _reach(self, start: Position, most: int) -> None:
        waiting = deque([start])
        self.numbers[_key(start)] = 0
        self.nodes.append(Node())
        while waiting:
            position = waiting.popleft()
            number = self.numbers[_key(position)]
            for move in position.legal:
                after = _without_chance(position)
                after.play(move)
                if after.result is not None:
                    sign = 1 if position.mover == 0 else -1
                    self.nodes[number].ends[move] = sign * after.result
                    continue
                self._link(number, move, after, waiting)
            if len(self.nodes) > most:
                raise UnsolvableError(f"it has more than {most} positions")

    def _link(self, number: int, move: int, after: Position, waiting: deque[Position]) -> None:
        key_after = _key(after)
        if key_after not in self.numbers:
            self.numbers[key_after] = len(self.nodes)
            self.nodes.append(Node())
            waiting.append(after)
        self.nodes[number].after[move] = self.numbers[key_after]
        self.nodes[self.numbers[key_after]].before.append(number)

    def _solve(self) -> None:
        """From the ends backwards; a position in which nobody can force a win has the value 0."""
        waiting: deque[int] = deque()
        open_moves = [len(node.after) for node in self.nodes]
        for number, node in enumerate(self.nodes):
            if 1 in node.ends.values():
                node.value, node.distance = 1, 1
                waiting.append(number)
            elif not node.after and set(node.ends.values()) == {-1}:
                node.value, node.distance = -1, 1
                waiting.append(number)
        while waiting:
            number = waiting.popleft()
            node = self.nodes[number]
            for earlier in node.before:
                parent = self.nodes[earlier]
                if parent.value is not None:
                    continue
                open_moves[earlier] -= 1
                is_lost = not open_moves[earlier] and set(parent.ends.values()) <= {-1}
                if node.value == -1 or is_lost:
                    parent.value = 1 if node.value == -1 else -1
                    parent.distance = node.distance + 1
                    waiting.append(earlier)
        for node in self.nodes:
            node.value = node.value or 0


def _global_chance() -> tuple[object, str]:
    """The state of the two generators that a game may use beside gymnasium's."""
    state: Any = np.random.get_state(legacy=False)
    return random.getstate(), repr((state["state"]["key"].tolist(), state["state"]["pos"]))


def _key(position: Position) -> Hashable:
    return position.mover, key(position.env)


def _without_chance(position: Position) -> Position:
    twin = position.copy(0)
    if hasattr(twin.env, GENERATOR):
        setattr(twin.env, GENERATOR, _NoChance())
    return twin
