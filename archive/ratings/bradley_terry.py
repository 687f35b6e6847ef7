"""Elo, the baseline: Bradley–Terry strengths by maximum likelihood, every task counting once."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from archive.errors import RatingError
from archive.ratings.normal_form import Array
from archive.ratings.preferences import check_preferences

MEAN = 1000.0
"""Mean Elo over all models."""
POINTS = 400.0 / np.log(10.0)
"""Elo points for one unit of log odds."""


def elo(preferences: Array, draws: float = 0.0, counts: Array | None = None) -> Array:
    """Elo (models,), mean 1000; 400 points are odds of 10 to 1.

    ``preferences`` (tasks, models, models) in [−1, 1]: each task is one comparison a pair, with
    the share (1 + u)/2 won; with ``counts`` (tasks, models, models) it is so many. ``draws`` ≥ 0:
    number of draws added to each pair. Without them a group of models that won everything against
    the rest is infinitely strong, and :class:`RatingError` is raised.
    """
    check_preferences(preferences)
    shares = (1 + preferences) / 2
    wins = (shares if counts is None else shares * counts).sum(axis=0) + draws / 2
    np.fill_diagonal(wins, 0.0)
    if connected_components(wins > 0, connection="strong")[0] > 1:
        raise RatingError(
            "Elo is infinite where some models won every comparison with all others: found such "
            "models, expected none, or drawn comparisons to be added"
        )
    return MEAN + POINTS * _strengths(wins)


def _strengths(wins: Array) -> Array:
    """argmax Σ wins(m, m') log σ(θ_m − θ_m'), mean 0, by Newton's method."""
    theta = np.zeros(len(wins))
    games = wins + wins.T
    for _ in range(200):
        chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        slope = (wins - games * chance).sum(axis=1)
        weight = games * chance * (1 - chance)
        curvature = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        theta += step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-11:
            break
    return theta - theta.mean()


def separability(preferences: Array) -> Array:
    """The rating of each task under Elo (tasks,): (1/M²) Σ |u(g, m, m')| (section 1.1 of the
    ratings paper)."""
    return np.abs(preferences).mean(axis=(1, 2))
