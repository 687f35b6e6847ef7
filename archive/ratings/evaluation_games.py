"""Games between models and tasks, from preferences or scores."""

from __future__ import annotations

import numpy as np

from archive.errors import RatingError
from archive.ratings.clones import equal_rows
from archive.ratings.normal_form import Array, NormalFormGame, check_memory

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
    if not np.isfinite(preferences).all():
        task, one, other = np.argwhere(~np.isfinite(preferences))[0]
        raise RatingError(
            f"found {preferences[task, one, other]} for models {one} and {other} on task {task}, "
            "expected a number: leave out the task or the model"
        )
    if np.abs(preferences + preferences.swapaxes(1, 2)).max() > 1e-9:
        raise RatingError(
            "found preferences that differ when the models change places, expected "
            "u(g, m, m') = −u(g, m', m)"
        )


def king_of_the_hill(preferences: Array, *, rebel_may_copy: bool = False) -> NormalFormGame:
    """Task against king against rebel (section 3.1 of the ratings paper): u_task = |u|, u_king = u,
    u_rebel = −u.

    ``preferences`` as for :func:`check_preferences`; means over judgements, of which the task
    player gets the absolute value. The rebel pays 1 for the king's own model, and for a model that
    no task distinguishes from it: otherwise the rebel could choose a copy of the king's model.
    ``rebel_may_copy``: the paper's game, in which only the same index costs 1.
    """
    check_memory(preferences.shape)
    check_preferences(preferences)
    models = preferences.shape[1]
    same = np.arange(models)
    if not rebel_may_copy:
        same = equal_rows(np.moveaxis(preferences, 1, 0).reshape(models, -1))
    rebel = np.where(same[:, None] == same, -1.0, -preferences)
    return NormalFormGame((np.abs(preferences), np.asarray(preferences, np.float64), rebel))


def model_against_task(scores: Array) -> NormalFormGame:
    """Zero-sum (Balduzzi et al. 2018): the model player gets ``scores`` (models, tasks), the task
    player their negative."""
    check_memory(np.shape(scores))
    scores = np.asarray(scores, np.float64)
    return NormalFormGame((scores, -scores))


def model_against_model(wins: Array) -> NormalFormGame:
    """Zero-sum and symmetric: ``wins`` (models, models), antisymmetric."""
    check_preferences(np.asarray(wins)[None])
    return model_against_task(wins)
