"""From paired scores to preferences between models.

``outcomes`` of a task is (maps, models, models) float64 in [−1, 1]: by how much the first model was
better than the second on each map. The task's preferences u are their mean; the action of the task
player is the task, not a task on a map: a player that chose maps would choose the lucky ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from archive.errors import RatingError
from archive.ratings.normal_form import Array, Indices, NormalFormGame, check_memory, equal_rows

TIE = 1e-9
"""Relative difference up to which two scores are equal."""


class Preference(StrEnum):
    """How two models are compared on one map."""

    WIN = "win"
    """The model that scored more: free of the game's scale, needs no base player."""
    MARGIN = "margin"
    """The difference in units of the base player's improvement mθ, not for games without levels;
    of a table, as a share of the largest difference on the task."""


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


def resample_maps(outcomes: Sequence[Array], stream: Sequence[int]) -> tuple[list[Array], Indices]:
    """Each task's maps resampled with replacement, and the tasks, which are all: one draw for all
    models, and for all tasks with the same number of maps. So copies stay copies, and texts shared
    by several tasks are drawn together. ``stream`` is the seed of the draw."""
    drawn = [
        outcome[_random(stream, outcome).integers(len(outcome), size=len(outcome))]
        for outcome in outcomes
    ]
    return drawn, np.arange(len(outcomes))


def resample_tasks(outcomes: Sequence[Array], stream: Sequence[int]) -> tuple[list[Array], Indices]:
    """Tasks drawn with replacement, each kept once since a copy would change nothing; exact copies
    are drawn together, as one task."""
    numbers: dict[bytes, int] = {}
    class_of = [numbers.setdefault(outcome.tobytes(), len(numbers)) for outcome in outcomes]
    drawn = np.random.default_rng(stream).integers(len(numbers), size=len(numbers))
    indices = np.flatnonzero(np.isin(class_of, drawn))
    return [outcomes[int(index)] for index in indices], indices


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


# -- games between models and tasks ----------------------------------------------------------------

TASK, KING, REBEL = 0, 1, 2
"""Players of king of the hill, by axis."""


def check_preferences(preferences: Array) -> None:
    """``preferences`` (tasks, models, models): u(g, m, m') in [−1, 1], by how much m is better
    than m' on g; u(g, m, m') = −u(g, m', m). Raises :class:`RatingError` for anything else."""
    shape = preferences.shape
    if preferences.ndim != 3 or shape[1] != shape[2] or not preferences.size:
        raise RatingError(
            f"found preferences of shape {shape}, expected (tasks, models, models), at least one "
            "of each"
        )
    wrong = ~(np.abs(preferences + preferences.swapaxes(1, 2)) <= 1e-9)  # NaN and ∞ too
    if wrong.any():
        task, one, other = np.argwhere(wrong)[0]
        raise RatingError(
            f"found {preferences[task, one, other]} for models {one} and {other} on task {task}, "
            "expected finite numbers with u(g, m, m') = −u(g, m', m)"
        )


def king_of_the_hill(preferences: Array) -> NormalFormGame:
    """Task against king against rebel (section 3.1 of the ratings paper): u_task = |u|, u_king = u,
    u_rebel = −u.

    ``preferences`` as for :func:`check_preferences`; means over judgements, of which the task
    player gets the absolute value. The rebel pays 1 for the king's own model, and for a model that
    no task distinguishes from it: otherwise it could choose a copy of the king's model.
    """
    check_memory(preferences.shape)
    check_preferences(preferences)
    models = preferences.shape[1]
    same = equal_rows(np.moveaxis(preferences, 1, 0).reshape(models, -1))
    rebel = np.where(same[:, None] == same, -1.0, -preferences)
    return NormalFormGame((np.abs(preferences), np.asarray(preferences, np.float64), rebel))


# -- Elo, the baseline -----------------------------------------------------------------------------
# Bradley–Terry strengths by maximum likelihood, every task counting once.


def elo(preferences: Array) -> Array:
    """Elo (models,), mean 1000; 400 points are odds of 10 to 1.

    ``preferences`` (tasks, models, models) in [−1, 1]: each task is one comparison a pair, with
    the share (1 + u)/2 won. One draw is added to each pair: without it a group of models that won
    everything against the rest is infinitely strong.
    """
    wins = ((1 + preferences) / 2).sum(axis=0) + 1 / 2
    np.fill_diagonal(wins, 0.0)
    return 1000.0 + 400.0 / np.log(10.0) * _strengths(wins)


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
