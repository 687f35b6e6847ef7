"""Uncertainty of ratings from the choice of maps or tasks: bootstrap, and equilibria on one half of
the maps rated on the other half.

The task player looks for large |u|, noise included, so masses and ratings are too high for noisy
tasks. In a cross-fit an equilibrium and the payoffs that it is rated by share no map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from archive.errors import RatingError
from archive.ratings.affinity import Indices
from archive.ratings.normal_form import Array, NormalFormGame, regrets
from archive.ratings.preferences import (
    KING,
    TASK,
    halves,
    king_of_the_hill,
    mean_preferences,
    resample_maps,
)
from archive.ratings.rating import TIE, EquilibriumKind, Ratings, RatingSettings, ranks, rate

SPLITS = 8
"""Random halvings that a cross-fit averages over."""
CHUNK = 20
"""Number of resamples that a worker computes before it reports."""

Progress = Callable[[int, int], None]
"""Called with the number of finished resamples and their total."""
Resampling = Callable[[Sequence[int]], tuple[list[Array], Indices]]
"""Outcomes of one draw, named by a seed, and which tasks they are of; it is sent to workers."""


def rate_models(
    outcomes: Sequence[Array], solution: EquilibriumKind, temperature: float = 0.0
) -> Ratings:
    """Task, king and rebel at one equilibrium, from the outcomes (maps, models, models) of each
    task. Raises :class:`RatingError` if none is reached."""
    game = king_of_the_hill(mean_preferences(outcomes))
    return rate(game, RatingSettings(solution, temperature=temperature))


@dataclass(frozen=True)
class RatingSamples:
    """``models`` (B, models), ``tasks`` and ``task_masses`` (B, tasks) of B resamples;
    ``failures``: number of resamples that reached no equilibrium, which are left out."""

    models: Array
    tasks: Array
    task_masses: Array
    failures: int

    def bounds(self, values: Array, confidence: float) -> tuple[Array, Array]:
        """Percentiles of each column; NaN if every resample failed."""
        if not len(values):
            return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
        ends = ((1 - confidence) / 2, (1 + confidence) / 2)
        low, high = np.quantile(values, ends, axis=0)
        return low, high

    @property
    def ranks(self) -> Array:
        """Ranks (B, models), 1 for the best."""
        rows = [ranks(ratings) for ratings in self.models]
        return np.array(rows, np.float64).reshape(len(rows), self.models.shape[1])

    @property
    def first(self) -> Array:
        """P(rank 1) of each model; shared firsts count for all that share."""
        return (self.ranks == 1).mean(axis=0)

    @property
    def above(self) -> Array:
        """P(m is rated above m'), (models, models); a tie counts half."""
        apart = self.models[:, :, None] - self.models[:, None, :]
        return ((apart > TIE) + 0.5 * (np.abs(apart) <= TIE)).mean(axis=0)


def bootstrap(
    outcomes: Sequence[Array],
    solution: EquilibriumKind,
    resamples: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    resampling: Resampling | None = None,
) -> RatingSamples:
    """Ratings on resampled maps of each task, or on what ``resampling`` draws: NaN of a task that
    is not in the draw. The result does not depend on ``workers``, the number of processes."""
    resampling = resampling or partial(resample_maps, outcomes)
    draw = partial(_draw, resampling, len(outcomes), solution, seed)
    starts = range(0, resamples, CHUNK)
    chunks = [range(start, min(start + CHUNK, resamples)) for start in starts]
    draws: list[_Draw | None] = []
    for part in _map(workers, draw, chunks):
        draws += part
        if progress:
            progress(len(draws), resamples)
    models, tasks = outcomes[0].shape[1], len(outcomes)
    samples = [draw for draw in draws if draw is not None]
    return RatingSamples(
        np.array([sample[0] for sample in samples]).reshape(-1, models),
        np.array([sample[1] for sample in samples]).reshape(-1, tasks),
        np.array([sample[2] for sample in samples]).reshape(-1, tasks),
        len(draws) - len(samples),
    )


_Draw = tuple[Array, Array, Array]


def _map(
    workers: int, draw: Callable[[range], list[_Draw | None]], chunks: Sequence[range]
) -> Iterator[list[_Draw | None]]:
    if workers == 1:
        yield from map(draw, chunks)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(draw, chunks)


def _draw(
    resampling: Resampling,
    tasks: int,
    solution: EquilibriumKind,
    seed: int,
    numbers: range,
) -> list[_Draw | None]:
    """The resamples of these numbers, None for one that reached no equilibrium."""
    draws: list[_Draw | None] = []
    for number in numbers:
        try:
            outcomes, drawn = resampling((seed, number))
            result = rate_models(outcomes, solution)
            of_tasks = np.full((2, tasks), np.nan)
            of_tasks[:, drawn] = result.ratings[TASK], result.masses[TASK]
            draws.append((result.ratings[KING], *of_tasks))
        except RatingError:
            draws.append(None)
    return draws


@dataclass(frozen=True)
class CrossFit:
    """Means over halvings of the maps, each used both ways: ratings (models,) and (tasks,), and the
    task player's payoff, by payoffs of the half that the equilibrium was not computed from; masses
    (tasks,). All NaN if a task has one map, or no halving reached an equilibrium."""

    models: Array
    tasks: Array
    task_masses: Array
    task_value: float


def cross_fit(outcomes: Sequence[Array], solution: EquilibriumKind, seed: int = 0) -> CrossFit:
    """Cross-fitted ratings; each uses half of each task's maps, so they are noisier than the
    ratings that they correct."""
    models, tasks = outcomes[0].shape[1], len(outcomes)
    folds = []
    if min(len(outcome) for outcome in outcomes) > 1:
        for number in range(SPLITS):
            one, other = halves(outcomes, (seed, number))
            folds += [_held_out(*pair, solution) for pair in ((one, other), (other, one))]
    fits = [fold for fold in folds if fold is not None]
    if not fits:
        nothing = np.full(tasks, np.nan)
        return CrossFit(np.full(models, np.nan), nothing, nothing, np.nan)
    return CrossFit(
        np.mean([fit.models for fit in fits], axis=0),
        np.mean([fit.tasks for fit in fits], axis=0),
        np.mean([fit.task_masses for fit in fits], axis=0),
        float(np.mean([fit.task_value for fit in fits])),
    )


def _held_out(
    train: Sequence[Array], test: Sequence[Array], solution: EquilibriumKind
) -> CrossFit | None:
    """Ratings by the payoffs of ``test`` at the equilibrium of ``train``.

    The task player's |u| has the sign that ``train`` gives: E sign(u₁) u₂ = |u| except for wrong
    signs, while |u₂| itself would be too large because of its noise.
    """
    try:
        fit = rate_models(train, solution)
    except RatingError:
        return None
    preferences = mean_preferences(test)
    separation = np.sign(mean_preferences(train)) * preferences
    regret = regrets(NormalFormGame((separation, preferences, -preferences)), fit.joint)
    value = float(np.vdot(separation, fit.joint))
    return CrossFit(regret[KING], regret[TASK], fit.masses[TASK], value)
