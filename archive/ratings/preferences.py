"""From paired scores to preferences between models.

``outcomes`` of a task is (maps, models, models) float64 in [−1, 1]: by how much the first model was
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
    """How two models are compared on one map."""

    WIN = "win"
    """The model that scored more: free of the game's scale, needs no base player."""
    MARGIN = "margin"
    """The difference in units of the base player's improvement mθ; not for games without levels."""


def wins(scores: Array) -> Array:
    """Outcomes of ``scores`` (models, maps), of any unit: the sign of the difference. A score of
    −∞ loses to every number; NaN stays NaN."""
    first, second = scores.T[:, :, None], scores.T[:, None, :]
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        apart = first - second
        near = np.abs(apart) <= TIE * np.maximum(np.abs(first), np.abs(second))
        equal = (first == second) | (near & np.isfinite(apart))
        return np.where(equal, 0.0, np.sign(apart))


def margins(scores: Array, step: float) -> Array:
    """Outcomes of ``scores`` (models, maps) in units of ``step`` > 0, clipped to [−1, 1]."""
    first, second = scores.T[:, :, None], scores.T[:, None, :]
    return np.clip((first - second) / step, -1.0, 1.0)


def mean_preferences(outcomes: Sequence[Array]) -> Array:
    """u (tasks, models, models)."""
    return np.stack([outcome.mean(axis=0) for outcome in outcomes])


def resample(outcomes: Sequence[Array], stream: Sequence[int]) -> list[Array]:
    """Each task's maps resampled with replacement: one draw for all models, and for all tasks with
    the same number of maps. So copies stay copies, and texts shared by several tasks are drawn
    together. ``stream`` is the seed of the draw."""
    return [
        outcome[_random(stream, outcome).integers(len(outcome), size=len(outcome))]
        for outcome in outcomes
    ]


def halves(outcomes: Sequence[Array], stream: Sequence[int]) -> tuple[list[Array], list[Array]]:
    """Each task's maps (at least two) divided at random, at least one on each side. Tasks with the
    same number of maps are divided alike. ``stream`` is the seed of the division."""
    one, other = [], []
    for outcome in outcomes:
        order = _random(stream, outcome).permutation(len(outcome))
        one.append(outcome[order[: len(outcome) // 2]])
        other.append(outcome[order[len(outcome) // 2 :]])
    return one, other


def _random(stream: Sequence[int], maps: Array) -> np.random.Generator:
    return np.random.default_rng([*stream, len(maps)])
