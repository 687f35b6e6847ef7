"""Models and tasks rated together from paired outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.ratings.affinity import target, uniform
from archive.ratings.clones import Indices, Labels, clone_classes
from archive.ratings.evaluation_games import KING, REBEL, TASK, king_of_the_hill
from archive.ratings.logit_path import LogitEquilibrium
from archive.ratings.near_copies import (
    Copies,
    clusters,
    different_models,
    noise_kernel,
    noises,
)
from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.preferences import different_tasks, mean_preferences
from archive.ratings.rating import EquilibriumKind, Ratings, RatingSettings, default_targets, rate

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
