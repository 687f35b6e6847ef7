"""Near copies: the same task on other maps, whose preferences differ only by sampling noise.

The kernel's σ² = 1e-6 recognises copies on the same maps, but not on other maps. The variation of a
task's preferences with its maps is estimated by bootstrap; it sets how near two tasks must be to
count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from archive.ratings.affinity import mixed_points
from archive.ratings.clones import Indices, Labels, equal_rows
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, resample

RESAMPLES = 200
WIDTH = 2.0
"""Distance within a cluster, in units of the noise of its two tasks together."""


class Copies(StrEnum):
    """Which tasks count as copies of each other."""

    EXACT = "exact"
    """Those with equal preferences: the same task on the same maps."""
    NOISE = "noise"
    """The nearer two tasks are, the more they count as copies: a kernel as wide as the sampling
    noise."""
    MERGED = "merged"
    """Those within the noise of each other become one task, with the preferences of all maps."""


def different_models(preferences: Array) -> Indices:
    """The index of the first model of each class that no task tells apart; ``preferences`` (tasks,
    models, models)."""
    rows = np.moveaxis(preferences, 1, 0).reshape(preferences.shape[1], -1)
    return np.unique(equal_rows(rows), return_index=True)[1]


def task_distances(preferences: Array, others: Array) -> Array:
    """D (tasks, tasks') of preferences (tasks, models, models) and (tasks', models, models) against
    mixed opponents: the larger of the distances by the task player's and by the models' payoffs."""
    views = [
        cdist(mixed_points(of(preferences)), mixed_points(of(others)), "sqeuclidean")
        for of in (np.abs, np.asarray)
    ]
    return np.maximum(*views)


def noises(outcomes: Sequence[Array], seed: int = 0) -> Array:
    """ν (tasks,): the mean of D between a task and itself with resampled maps."""
    distances = []
    for outcome in outcomes:
        resamples = mean_preferences([resample([outcome], (seed, n))[0] for n in range(RESAMPLES)])
        distances.append(float(task_distances(mean_preferences([outcome]), resamples).mean()))
    return np.array(distances)


def noise_kernel(preferences: Array, noise: Array) -> Array:
    """K_gh = exp(−max(0, D_gh − ν_g − ν_h)/(ν_g + ν_h)), (tasks, tasks)."""
    distances = task_distances(preferences, preferences)
    width = noise[:, None] + noise[None, :]
    beyond = np.maximum(0.0, distances - width)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(beyond > 0, beyond / width, 0.0)
    return np.exp(-ratios)


def clusters(preferences: Array, noise: Array) -> Labels:
    """The cluster of each task (tasks,), by complete linkage on D_gh/(ν_g + ν_h)."""
    if len(preferences) == 1:
        return np.zeros(1, np.int64)
    distances = task_distances(preferences, preferences)
    width = noise[:, None] + noise[None, :]
    ratios = np.where(distances > 0, distances / np.maximum(width, 1e-12), 0.0)
    tree = linkage(squareform((ratios + ratios.T) / 2, checks=False), "complete")
    clusters = fcluster(tree, WIDTH, "distance")
    return equal_rows(clusters[:, None].astype(np.float64))
