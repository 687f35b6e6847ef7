"""Clones: actions with equal payoffs for every player under all actions of the others.

A game is solved with one action for each class, so that copies change nothing: neither the kernel,
which averages over the actions of others, nor the start of a path of equilibria.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archive.ratings.normal_form import Array, NormalFormGame

Labels = NDArray[np.int64]
Indices = NDArray[np.int64]

TOLERANCE = 1e-9
"""Largest difference of two payoffs that count as equal, as a share of the player's span."""


def equal_rows(rows: Array, tolerance: float = TOLERANCE) -> Labels:
    """The class of each row of (n, d): 0, 1, … in order of first appearance. Two rows are equal
    where no entry differs by more than ``tolerance``."""
    labels = np.full(len(rows), -1, np.int64)
    classes = 0
    # Equal rows have nearly equal weighted sums, so few rows are compared entry by entry.
    weights = np.random.default_rng(0).uniform(0.5, 1.5, (rows.shape[1],))
    sums = rows @ weights
    reach = tolerance * float(np.sum(weights)) + 1e-12 * np.abs(sums).max(initial=0.0)
    first_rows: list[tuple[float, int]] = []  # sum and index of each class's first row, sorted
    for index, row in enumerate(rows):
        start = bisect_left(first_rows, (sums[index] - reach, -1))
        end = bisect_right(first_rows, (sums[index] + reach, len(rows)))
        likely = sorted(first for _, first in first_rows[start:end])
        near = np.abs(rows[likely] - row).max(axis=1, initial=0.0)
        equal = np.flatnonzero(near <= tolerance)
        if len(equal):
            labels[index] = labels[likely[int(equal[0])]]
        else:
            labels[index], classes = classes, classes + 1
            insort(first_rows, (float(sums[index]), index))
    return labels


@dataclass(frozen=True)
class CloneClasses:
    """``labels`` (|A_i|,) of each player: the class of each of its actions."""

    labels: tuple[Labels, ...]

    def first(self, player: int) -> Indices:
        """The first action of each class."""
        return np.unique(self.labels[player], return_index=True)[1]

    def reduce(self, game: NormalFormGame) -> NormalFormGame:
        """The game with one action a class."""
        indices = np.ix_(*(self.first(player) for player in game.players))
        return NormalFormGame(tuple(payoff[indices] for payoff in game.payoffs))

    def fold(self, player: int, values: Array) -> Array:
        """Sums over the classes, (classes,), of values (|A_i|,)."""
        return np.bincount(self.labels[player], values).astype(np.float64)

    def share(self, player: int, values: Array) -> Array:
        """Values (classes,) divided equally among the actions of each class, (|A_i|,)."""
        labels = self.labels[player]
        return np.asarray((values / np.bincount(labels))[labels])

    def expand(self, joint: Array) -> Array:
        """The joint distribution over all actions, each class in equal shares."""
        shares = [1.0 / np.bincount(labels)[labels] for labels in self.labels]
        for player, labels in enumerate(self.labels):
            shape = [-1 if axis == player else 1 for axis in range(joint.ndim)]
            joint = joint.take(labels, axis=player) * shares[player].reshape(shape)
        return joint


def clone_classes(game: NormalFormGame) -> CloneClasses:
    """The classes of each player's actions that are equal for all players."""
    unit = game.rescale_by_player()
    return CloneClasses(tuple(equal_rows(_rows(unit, player)) for player in game.players))


def no_classes(shape: Sequence[int]) -> CloneClasses:
    """Every action by itself."""
    return CloneClasses(tuple(np.arange(size) for size in shape))


def _rows(game: NormalFormGame, player: int) -> Array:
    """Payoffs of all players for each action of one player, (|A_i|, n·Π|A_j|)."""
    return np.hstack(
        [np.moveaxis(payoff, player, 0).reshape(game.shape[player], -1) for payoff in game.payoffs]
    )
