"""From paired scores to preferences between models.

``outcomes`` of a task is (maps, models, models) float64 in [−1, 1]: by how much the first model did
better than the second on each map. The task's preferences u are their mean; the action of the task
player is the task, not a task on a map: a player that chose maps would choose the lucky ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from archive.ratings.normal_form import Array

TIE = 1e-9
"""Relative difference up to which two scores are equal."""


class Preference(StrEnum):
    """What one map says of two models."""

    WIN = "win"
    """Who scored more: free of the game's scale, needs no base player."""
    MARGIN = "margin"
    """By how much, in units of the base player's improvement mθ; not for games without levels."""


def wins(scores: Array) -> Array:
    """Outcomes of ``scores`` (models, maps), of any unit: the sign of the difference."""
    first, second = scores.T[:, :, None], scores.T[:, None, :]
    equal = np.abs(first - second) <= TIE * np.maximum(np.abs(first), np.abs(second))
    return np.where(equal, 0.0, np.sign(first - second))


def margins(scores: Array, step: float) -> Array:
    """Outcomes of ``scores`` (models, maps) in units of ``step`` > 0, clipped to [−1, 1]."""
    first, second = scores.T[:, :, None], scores.T[:, None, :]
    return np.clip((first - second) / step, -1.0, 1.0)


def mean_preferences(outcomes: Sequence[Array]) -> Array:
    """u (tasks, models, models)."""
    return np.stack([each.mean(axis=0) for each in outcomes])


def resampled(outcomes: Sequence[Array], random: np.random.Generator) -> list[Array]:
    """Each task's maps drawn again with replacement, the same draw for all models."""
    return [each[random.integers(len(each), size=len(each))] for each in outcomes]


def halves(
    outcomes: Sequence[Array], random: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """Each task's maps divided at random, at least one on each side; needs two."""
    one, other = [], []
    for each in outcomes:
        order = random.permutation(len(each))
        one.append(each[order[: len(each) // 2]])
        other.append(each[order[len(each) // 2 :]])
    return one, other
