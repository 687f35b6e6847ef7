"""Near copies: the same task on other maps, whose preferences differ by sampling noise alone.

The kernel's σ² = 1e-6 knows a copy on the same maps, not on fresh ones. How far a task's
preferences move with its maps is estimated by bootstrap, and sets how near two tasks must be to
count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from archive.ratings.affinity import mixed_places
from archive.ratings.clones import Labels, Places, equal_rows
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, resampled

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
    distances = []
    for each in outcomes:
        drawn = mean_preferences([resampled([each], (seed, n))[0] for n in range(RESAMPLES)])
        distances.append(float(task_distances(mean_preferences([each]), drawn).mean()))
    return np.array(distances)


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
    clusters = fcluster(tree, WIDTH, "distance")
    return equal_rows(clusters[:, None].astype(np.float64))
