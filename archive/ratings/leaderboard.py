"""Models and tasks rated together from paired outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

from archive.ratings.affinity import mixed_points, target, uniform
from archive.ratings.clones import Indices, Labels, clone_classes, equal_rows
from archive.ratings.logit_path import LogitEquilibrium
from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.preferences import (
    KING,
    REBEL,
    TASK,
    different_tasks,
    king_of_the_hill,
    mean_preferences,
    resample,
)
from archive.ratings.rating import EquilibriumKind, Ratings, RatingSettings, default_targets, rate

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


TEMPERATURE = 0.1
"""Temperature of the ratings shown next to those of the limit, in units of preference."""


@dataclass(frozen=True)
class CopyRule:
    """How copies among tasks are recognised. It does not change when maps are resampled.

    ``noise`` (tasks,); ``labels`` (tasks,): the cluster of each task. ``pooled_tasks``: tasks whose
    maps make up those of their clusters, the first of exact copies; ``compared_models``: models by
    which tasks are compared, the first of equal ones.
    """

    copies: Copies
    noise: Array
    labels: Labels
    pooled_tasks: Indices
    compared_models: Indices


def copy_rule(outcomes: Sequence[Array], copies: Copies) -> CopyRule:
    """The rule from the outcomes (maps, models, models) of each task."""
    alone, preferences = np.arange(len(outcomes)), mean_preferences(outcomes)
    models = different_models(preferences)
    if copies is Copies.EXACT:
        return CopyRule(copies, np.zeros(len(outcomes)), alone, alone, models)
    noise = noises([between(outcome, models) for outcome in outcomes])
    if copies is Copies.NOISE:
        return CopyRule(copies, noise, alone, alone, models)
    labels = clusters(between(preferences, models), noise)
    return CopyRule(copies, noise, labels, different_tasks(outcomes), models)


def between(table: Array, models: Indices) -> Array:
    """The rows and columns ``models`` of a table (…, models, models)."""
    return table[..., models[:, None], models]


@dataclass(frozen=True)
class Leaderboard:
    """One equilibrium, ``joint`` (tasks, models, models): mass of task, king and rebel.

    ``models`` (models,): rating of each as king; ``tasks`` (tasks,), in units of preference.
    ``classes`` (tasks,): tasks that count as one share a number. ``by_task`` (models, tasks) and
    ``by_rival`` (models, models): the contribution of each task, or rival, to a model's rating;
    each row sums to the rating. ``task_value``: payoff of the task player. ``effective_tasks``:
    from 1 to the number of classes.
    """

    joint: Array
    models: Array
    tasks: Array
    classes: Labels
    by_task: Array
    by_rival: Array
    task_value: float
    effective_tasks: float
    exploitability: float
    path: LogitEquilibrium | None

    @property
    def model_masses(self) -> Array:
        """Probability of each model as king (models,)."""
        return self.joint.sum(axis=(TASK, REBEL))

    @property
    def task_masses(self) -> Array:
        """Probability of each task (tasks,); copies share theirs."""
        return self.joint.sum(axis=(KING, REBEL))

    @property
    def opponents(self) -> Array:
        """Probability of each pair of king and rebel (models, models)."""
        return self.joint.sum(axis=TASK)


def leaderboard(
    outcomes: Sequence[Array], solution: EquilibriumKind, rule: CopyRule, temperature: float = 0.0
) -> Leaderboard:
    """Rate at one equilibrium. Raises :class:`RatingError` if none is reached."""
    labels = rule.labels[rule.pooled_tasks]
    in_order = rule.pooled_tasks[np.argsort(labels, kind="stable")]
    clusters_of_tasks = np.split(in_order, np.cumsum(np.bincount(labels))[:-1])
    pooled_outcomes = [
        np.concatenate([outcomes[int(task)] for task in cluster]) for cluster in clusters_of_tasks
    ]
    preferences = mean_preferences(pooled_outcomes)
    game = king_of_the_hill(preferences)
    settings = RatingSettings(solution, temperature=temperature)
    ratings = rate(game, settings, _targets(game, preferences, rule, settings))
    return _spread(ratings, mean_preferences(outcomes), rule.labels)


def _targets(
    game: NormalFormGame, preferences: Array, rule: CopyRule, settings: RatingSettings
) -> list[Array]:
    classes = clone_classes(game)
    targets = default_targets(game, classes, settings)
    if rule.copies is Copies.NOISE:
        noise = np.zeros(len(classes.first(TASK)))
        np.maximum.at(noise, classes.labels[TASK], rule.noise)
        once = between(preferences[classes.first(TASK)], rule.compared_models)
        targets[TASK] = classes.share(TASK, target(noise_kernel(once, noise)))
    if rule.copies is Copies.MERGED:
        targets[TASK] = uniform(len(preferences))
    return targets


def _spread(ratings: Ratings, preferences: Array, labels: Labels) -> Leaderboard:
    """The leaderboard of single tasks from that of clusters; tasks share their cluster's mass."""
    sizes = np.bincount(labels)[labels]
    separation = np.tensordot(np.abs(preferences), ratings.joint.sum(axis=TASK), 2)
    value = float(np.vdot(ratings.game.payoffs[TASK], ratings.joint))
    return Leaderboard(
        joint=ratings.joint[labels] / sizes[:, None, None],
        models=ratings.ratings[KING],
        tasks=separation - value,
        classes=ratings.classes.labels[TASK][labels],
        by_task=ratings.contributions(KING, TASK)[:, labels] / sizes,
        by_rival=ratings.contributions(KING, REBEL),
        task_value=value,
        effective_tasks=ratings.effective_number(TASK),
        exploitability=ratings.exploitability,
        path=ratings.path,
    )
