"""How far ratings move with the maps: bootstrap, and equilibria on one half of the maps, rated on
the other.

The task player looks for large |u|, noise included, so masses and ratings flatter noisy tasks.
Cross-fitted, an equilibrium and the payoffs that it is rated by share no map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from archive.errors import RatingError
from archive.ratings.evaluation_games import KING, TASK
from archive.ratings.leaderboard import CopyRule, leaderboard
from archive.ratings.normal_form import Array, NormalFormGame, regrets
from archive.ratings.preferences import halves, mean_preferences, resampled
from archive.ratings.rating import TIE, Solution, ranks

SPLITS = 8
"""Random halvings that a cross-fit averages over."""
CHUNK = 20
"""Resamples that a worker computes before it reports."""

Progress = Callable[[int, int], None]
"""Called with resamples done and in all."""


@dataclass(frozen=True)
class Resampled:
    """``models`` (B, models), ``tasks`` and ``task_masses`` (B, tasks) of B resamples; ``failed``:
    resamples that reached no equilibrium, which are left out."""

    models: Array
    tasks: Array
    task_masses: Array
    failed: int

    def bounds(self, values: Array, confidence: float) -> tuple[Array, Array]:
        """Percentiles of each column; NaN where every resample failed."""
        if not len(values):
            return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
        ends = ((1 - confidence) / 2, (1 + confidence) / 2)
        low, high = np.quantile(values, ends, axis=0)
        return low, high

    @property
    def ranks(self) -> Array:
        """(B, models), 1 for the best."""
        rows = [ranks(each) for each in self.models]
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
    solution: Solution,
    rule: CopyRule,
    resamples: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Resampled:
    """Each task's maps drawn again, preferences and equilibrium computed anew; the same numbers for
    any number of ``workers``, processes."""
    jobs = [
        _Chunk(outcomes, solution, rule, seed, range(start, min(start + CHUNK, resamples)))
        for start in range(0, resamples, CHUNK)
    ]
    draws: list[_Draw | None] = []
    for part in _mapped(workers, jobs):
        draws += part
        if progress:
            progress(len(draws), resamples)
    models, tasks = outcomes[0].shape[1], len(outcomes)
    drawn = [each for each in draws if each is not None]
    return Resampled(
        np.array([each[0] for each in drawn]).reshape(-1, models),
        np.array([each[1] for each in drawn]).reshape(-1, tasks),
        np.array([each[2] for each in drawn]).reshape(-1, tasks),
        len(draws) - len(drawn),
    )


_Draw = tuple[Array, Array, Array]


@dataclass(frozen=True)
class _Chunk:
    """Resamples with these ``numbers``."""

    outcomes: Sequence[Array]
    solution: Solution
    rule: CopyRule
    seed: int
    numbers: range


def _mapped(workers: int, jobs: Sequence[_Chunk]) -> Iterator[list[_Draw | None]]:
    if workers == 1:
        yield from map(_draw, jobs)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield from pool.map(_draw, jobs)


def _draw(chunk: _Chunk) -> list[_Draw | None]:
    """None for a resample that reached no equilibrium."""
    draws: list[_Draw | None] = []
    for number in chunk.numbers:
        try:
            drawn = resampled(chunk.outcomes, (chunk.seed, number))
            board = leaderboard(drawn, chunk.solution, chunk.rule)
            draws.append((board.models, board.tasks, board.task_masses))
        except RatingError:
            draws.append(None)
    return draws


@dataclass(frozen=True)
class CrossFitted:
    """Means over halvings of the maps, each used both ways: ratings (models,) and (tasks,), and
    what the task player gets, by payoffs of the half that the equilibrium was not computed from;
    masses (tasks,). All NaN where a task has one map, or no halving reached an equilibrium."""

    models: Array
    tasks: Array
    task_masses: Array
    task_value: float


def cross_fit(
    outcomes: Sequence[Array], solution: Solution, rule: CopyRule, seed: int = 0
) -> CrossFitted:
    """With as many maps as half of each task's, so noisier than what it corrects."""
    models, tasks = outcomes[0].shape[1], len(outcomes)
    folds = []
    if min(len(each) for each in outcomes) > 1:
        for split in range(SPLITS):
            one, other = halves(outcomes, (seed, split))
            folds += [_held_out(*pair, solution, rule) for pair in ((one, other), (other, one))]
    kept = [each for each in folds if each is not None]
    if not kept:
        nothing = np.full(tasks, np.nan)
        return CrossFitted(np.full(models, np.nan), nothing, nothing, np.nan)
    return CrossFitted(
        np.mean([each.models for each in kept], axis=0),
        np.mean([each.tasks for each in kept], axis=0),
        np.mean([each.task_masses for each in kept], axis=0),
        float(np.mean([each.task_value for each in kept])),
    )


def _held_out(
    fitted: Sequence[Array], held: Sequence[Array], solution: Solution, rule: CopyRule
) -> CrossFitted | None:
    """Ratings by the payoffs of ``held`` at the equilibrium of ``fitted``.

    The task player's |u| is judged by the sign that ``fitted`` gives: E sign(u₁) u₂ = |u| but for
    mistaken signs, where |u₂| alone would be too large by its noise.
    """
    try:
        board = leaderboard(fitted, solution, rule)
    except RatingError:
        return None
    preferences = mean_preferences(held)
    separated = np.sign(mean_preferences(fitted)) * preferences
    regret = regrets(NormalFormGame((separated, preferences, -preferences)), board.joint)
    value = float(np.vdot(separated, board.joint))
    return CrossFitted(regret[KING], regret[TASK], board.task_masses, value)
