"""Clones: actions with equal payoffs for every player, whatever the others do.

A game is solved with one action for each class. Then copies change nothing at all: neither the
kernel, which averages over the actions of others, nor where a path of equilibria begins.

Near copies are the same task on other maps, whose preferences differ by sampling noise alone. The
kernel's σ² = 1e-6 knows a copy on the same maps, not on fresh ones. How far a task's preferences
move with its maps is estimated by bootstrap, and sets how near two tasks must be to count as one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from archive.ratings.affinity import mixed_places
from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.preferences import mean_preferences, resampled

Labels = NDArray[np.int64]
Places = NDArray[np.int64]

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
    known: list[tuple[float, int]] = []  # sums of the first rows of classes, in order, and places
    for place, row in enumerate(rows):
        start = bisect_left(known, (sums[place] - reach, -1))
        end = bisect_right(known, (sums[place] + reach, len(rows)))
        likely = sorted(first for _, first in known[start:end])
        near = np.abs(rows[likely] - row).max(axis=1, initial=0.0)
        equal = np.flatnonzero(near <= tolerance)
        if len(equal):
            labels[place] = labels[likely[int(equal[0])]]
        else:
            labels[place], classes = classes, classes + 1
            insort(known, (float(sums[place]), place))
    return labels


@dataclass(frozen=True)
class CloneClasses:
    """``labels`` (|A_i|,) of each player: the class of each of its actions."""

    labels: tuple[Labels, ...]

    def first(self, player: int) -> Places:
        """The first action of each class."""
        return np.unique(self.labels[player], return_index=True)[1]

    def reduce(self, game: NormalFormGame) -> NormalFormGame:
        """The game with one action a class."""
        places = np.ix_(*(self.first(player) for player in game.players))
        return NormalFormGame(tuple(each[places] for each in game.payoffs))

    def fold(self, player: int, values: Array) -> Array:
        """Sums over the classes, (classes,), of values (|A_i|,)."""
        return np.bincount(self.labels[player], values).astype(np.float64)

    def share(self, player: int, values: Array) -> Array:
        """Values (classes,) divided equally among the actions of each class, (|A_i|,)."""
        labels = self.labels[player]
        return np.asarray((values / np.bincount(labels))[labels])

    def expand(self, joint: Array) -> Array:
        """The joint distribution over all actions, each class in equal shares."""
        shares = [1.0 / np.bincount(each)[each] for each in self.labels]
        for player, each in enumerate(self.labels):
            shape = [-1 if axis == player else 1 for axis in range(joint.ndim)]
            joint = joint.take(each, axis=player) * shares[player].reshape(shape)
        return joint


def clone_classes(game: NormalFormGame) -> CloneClasses:
    """Which actions of each player are equal for all players."""
    unit = game.rescaled_by_player()
    return CloneClasses(tuple(equal_rows(_rows(unit, player)) for player in game.players))


def no_classes(shape: Sequence[int]) -> CloneClasses:
    """Every action by itself."""
    return CloneClasses(tuple(np.arange(size) for size in shape))


def _rows(game: NormalFormGame, player: int) -> Array:
    """(|A_i|, n·Π|A_j|): what every player gets, whatever the others do."""
    return np.hstack(
        [np.moveaxis(each, player, 0).reshape(game.shape[player], -1) for each in game.payoffs]
    )


RESAMPLES = 200
WIDTH = 2.0
"""Distance within a cluster, in units of the noise of its two tasks together."""


class Copies(StrEnum):
    """Which tasks count as copies of each other."""

    EXACT = "exact"
    """Those with equal preferences: the same task on the same maps."""
    NOISE = "noise"
    """The nearer, the more: a kernel as wide as the sampling noise."""
    MERGED = "merged"
    """Those within the noise of each other become one task, with the preferences of all maps."""


def different_models(preferences: Array) -> Places:
    """The first of each class of models that no task tells apart, of (tasks, models, models)."""
    rows = np.moveaxis(preferences, 1, 0).reshape(preferences.shape[1], -1)
    return np.unique(equal_rows(rows), return_index=True)[1]


def different_tasks(outcomes: Sequence[Array]) -> Places:
    """The first of each class of tasks with equal outcomes on every map, in order."""
    classes: dict[bytes, int] = {}
    for task, each in enumerate(outcomes):
        classes.setdefault(each.tobytes(), task)
    return np.array(sorted(classes.values()), np.int64)


def task_distances(preferences: Array, others: Array) -> Array:
    """D (tasks, tasks') of preferences (tasks, models, models) and (tasks', models, models): the
    larger of what the task player and what the models see, against mixed opponents."""
    views = [
        cdist(mixed_places(of(preferences)), mixed_places(of(others)), "sqeuclidean")
        for of in (np.abs, np.asarray)
    ]
    return np.maximum(*views)


def noises(outcomes: Sequence[Array], seed: int = 0) -> Array:
    """ν (tasks,): the mean of D between a task and itself with its maps drawn again."""
    found = []
    for each in outcomes:
        drawn = mean_preferences([resampled([each], (seed, n))[0] for n in range(RESAMPLES)])
        found.append(float(task_distances(mean_preferences([each]), drawn).mean()))
    return np.array(found)


def noise_kernel(preferences: Array, noise: Array) -> Array:
    """K_gh = exp(−max(0, D_gh − ν_g − ν_h)/(ν_g + ν_h)), (tasks, tasks)."""
    squared = task_distances(preferences, preferences)
    width = noise[:, None] + noise[None, :]
    beyond = np.maximum(0.0, squared - width)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(beyond > 0, beyond / width, 0.0)
    return np.exp(-scaled)


def clusters(preferences: Array, noise: Array) -> Labels:
    """The cluster of each task (tasks,), by complete linkage on D_gh/(ν_g + ν_h)."""
    if len(preferences) == 1:
        return np.zeros(1, np.int64)
    squared = task_distances(preferences, preferences)
    width = noise[:, None] + noise[None, :]
    scaled = np.where(squared > 0, squared / np.maximum(width, 1e-12), 0.0)
    tree = linkage(squareform((scaled + scaled.T) / 2, checks=False), "complete")
    found = fcluster(tree, WIDTH, "distance")
    return equal_rows(found[:, None].astype(np.float64))
