"""Ratings: the gain of each action of each player at the selected equilibrium.

Their uncertainty from the choice of maps or tasks: bootstrap, and cross-fits, in which an
equilibrium and the payoffs that it is rated by share no map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.equilibria import limiting_logit_equilibrium, nearest_cce
from archive.ratings.normal_form import (
    Array,
    CloneClasses,
    Indices,
    NormalFormGame,
    check_actions,
    clone_classes,
    distances,
    exploitability,
    kernel,
    product,
    regrets,
    target,
)
from archive.ratings.preferences import (
    KING,
    TASK,
    halves,
    king_of_the_hill,
    mean_preferences,
    resample_maps,
)

TIE = 1e-4
"""Difference of ratings, in units of payoff, up to which two actions share a rank (Fig. 11)."""


class EquilibriumKind(StrEnum):
    NE = "ne"
    """The limiting logit equilibrium: players choose independently."""
    CCE = "cce"
    """The coarse correlated equilibrium nearest to the target."""


class TargetEntropy(StrEnum):
    """The entropy that the target maximises."""

    AFFINITY = "affinity"
    """Affinity entropy: copies of an action share what one of them would have."""
    SHANNON = "shannon"
    """Shannon entropy: the uniform target, which copies change."""


@dataclass(frozen=True)
class Ratings:
    """``joint`` (|A_1|, …, |A_n|): the equilibrium. ``ratings`` (|A_i|,) of each player: regrets,
    in units of payoff; at an equilibrium at most ``exploitability``, and 0 for actions with mass in
    a Nash equilibrium."""

    game: NormalFormGame
    joint: Array
    ratings: tuple[Array, ...]
    classes: CloneClasses
    exploitability: float

    @cached_property
    def masses(self) -> list[Array]:
        """x_i (|A_i|,) of each player: the probability of each action, clones in equal shares."""
        axes = range(self.joint.ndim)
        return [self.joint.sum(axis=tuple(j for j in axes if j != i)) for i in axes]

    def contributions(self, player: int, co_player: int) -> Array:
        """δ (|A_i|, |A_j|): what each action of ``co_player`` adds to each rating of ``player``
        (section 4.3 of the ratings paper); rows sum to the ratings:
        δ(a'_i, a_j, x) = Σ_{a : a_j} x(a) [u_i(a'_i, a_-i) − u_i(a)]."""
        payoff, joint = self.game.payoffs[player], self.joint
        weights = np.expand_dims(joint.sum(axis=player), player)
        rest = tuple({*range(joint.ndim)} - {player, co_player})
        deviating = (payoff * weights).sum(axis=rest)
        others = tuple({*range(joint.ndim)} - {co_player})
        payoffs = (payoff * joint).sum(axis=others)
        return np.asarray((deviating.T if player > co_player else deviating) - payoffs)


def rate(
    game: NormalFormGame,
    solution: EquilibriumKind = EquilibriumKind.NE,
    selection: TargetEntropy = TargetEntropy.AFFINITY,
    temperature: float = 0.0,
) -> Ratings:
    """Rate all actions of all players; ``temperature`` in units of payoff, 0 for the limit. Raises
    :class:`RatingError` if no equilibrium is reached."""
    classes = clone_classes(game)
    small = classes.reduce(game)
    check_actions(sum(small.shape))
    targets = [_target(small, classes, player, selection) for player in game.players]
    if solution is EquilibriumKind.CCE:
        joint = nearest_cce(small, targets)
    else:
        joint = product(limiting_logit_equilibrium(small, targets, temperature))
    joint = classes.expand(joint)
    return Ratings(game, joint, tuple(regrets(game, joint)), classes, exploitability(game, joint))


def _target(
    small: NormalFormGame, classes: CloneClasses, player: int, selection: TargetEntropy
) -> Array:
    """A player's target over classes of clones (|A_i|,), of the game without clones."""
    if selection is TargetEntropy.SHANNON:
        size = len(classes.labels[player])
        return classes.fold(player, np.full(size, 1.0 / size))
    return target(kernel(distances(small, player)))


def ranks(ratings: Array) -> NDArray[np.int64]:
    """The rank of each action, 1 for the best; an action within ``TIE`` of the best action of a
    rank shares that rank."""
    ranks = np.zeros(len(ratings), np.int64)
    best = np.inf
    for position, action in enumerate(np.argsort(-ratings, kind="stable"), start=1):
        if best - ratings[action] > TIE or position == 1:
            best, rank = float(ratings[action]), position
        ranks[action] = rank
    return ranks


SPLITS = 8
"""Random halvings that a cross-fit averages over."""
Resample = Callable[[Sequence[Array], Sequence[int]], tuple[list[Array], Indices]]
"""Outcomes of one draw, named by a seed, and which tasks they are of."""


def rate_models(
    outcomes: Sequence[Array], solution: EquilibriumKind, temperature: float = 0.0
) -> Ratings:
    """Task, king and rebel at one equilibrium, from the outcomes (maps, models, models) of each
    task. Raises :class:`RatingError` if none is reached."""
    return rate(king_of_the_hill(mean_preferences(outcomes)), solution, temperature=temperature)


def percentiles(values: Array, confidence: float) -> tuple[Array, Array]:
    """Two-sided bounds of the numbers in each column of resamples (B, n); NaN without any."""
    bounds, known = np.full((2, values.shape[1]), np.nan), ~np.isnan(values).all(axis=0)
    if known.any():
        shares = (1 - confidence) / 2, (1 + confidence) / 2
        bounds[:, known] = np.nanquantile(values[:, known], shares, axis=0)
    return bounds[0], bounds[1]


class RatingSamples(NamedTuple):
    """``models`` (B, models), ``tasks`` and ``task_masses`` (B, tasks) of B resamples;
    ``failures``: number of resamples that reached no equilibrium, which are left out."""

    models: Array
    tasks: Array
    task_masses: Array
    failures: int

    @property
    def ranks(self) -> Array:
        """Ranks (B, models), 1 for the best."""
        rows = [ranks(ratings) for ratings in self.models]
        return np.array(rows, np.float64).reshape(len(rows), self.models.shape[1])

    @property
    def first(self) -> Array:
        """P(rank 1) of each model; shared firsts count for all that share. NaN without resamples,
        as in ``above``."""
        return (self.ranks == 1).sum(axis=0) / (len(self.models) or np.nan)

    @property
    def above(self) -> Array:
        """P(m is rated above m'), (models, models); a tie counts half."""
        apart = self.models[:, :, None] - self.models[:, None, :]
        wins = (apart > TIE) + 0.5 * (np.abs(apart) <= TIE)
        return wins.sum(axis=0) / (len(self.models) or np.nan)


def bootstrap(
    outcomes: Sequence[Array],
    solution: EquilibriumKind,
    resamples: int,
    seed: int = 0,
    resample: Resample = resample_maps,
) -> RatingSamples:
    """Ratings on resampled maps of each task, or on what ``resample`` draws: NaN of a task that is
    not in the draw."""
    models, tasks = outcomes[0].shape[1], len(outcomes)
    of_models, of_tasks = list[Array](), list[Array]()
    known: dict[tuple[Any, ...], tuple[Array, Array, Array] | None] = {}
    for number in range(resamples):
        drawn_outcomes, drawn = resample(outcomes, (seed, number))
        preferences = mean_preferences(drawn_outcomes)
        key = preferences.shape, preferences.tobytes()  # of few maps or tasks, draws come again
        if key not in known:
            known[key] = None
            with suppress(RatingError):
                rated = rate(king_of_the_hill(preferences), solution)
                known[key] = rated.ratings[KING], rated.ratings[TASK], rated.masses[TASK]
        if (found := known[key]) is not None:
            of_models.append(found[0])
            of_tasks.append(np.full((2, tasks), np.nan))
            of_tasks[-1][:, drawn] = found[1:]
    ratings, masses = np.array(of_tasks).reshape(-1, 2, tasks).swapaxes(0, 1)
    failures = resamples - len(of_models)
    return RatingSamples(np.array(of_models).reshape(-1, models), ratings, masses, failures)


class CrossFit(NamedTuple):
    """Means over halvings of the maps, each used both ways: ratings (models,) and (tasks,) by
    payoffs of the half that the equilibrium was not computed from; masses (tasks,). All NaN if a
    task has one map, or no halving reached an equilibrium."""

    models: Array
    tasks: Array
    task_masses: Array


def cross_fit(outcomes: Sequence[Array], solution: EquilibriumKind, seed: int = 0) -> CrossFit:
    """Cross-fitted ratings; each uses half of each task's maps, so they are noisier than the
    ratings that they correct."""
    models, tasks = outcomes[0].shape[1], len(outcomes)
    fits = []
    if min(len(outcome) for outcome in outcomes) > 1:
        for number in range(SPLITS):
            one, other = halves(outcomes, (seed, number))
            for pair in ((one, other), (other, one)):
                with suppress(RatingError):
                    fits.append(_held_out(*pair, solution))
    if not fits:
        nothing = np.full(tasks, np.nan)
        return CrossFit(np.full(models, np.nan), nothing, nothing)
    return CrossFit(*(np.mean(part, axis=0) for part in zip(*fits, strict=True)))


def _held_out(train: Sequence[Array], test: Sequence[Array], solution: EquilibriumKind) -> CrossFit:
    """Ratings by the payoffs of ``test`` at the equilibrium of ``train``.

    The task player's |u| has the sign that ``train`` gives: E sign(u₁) u₂ = |u| except for wrong
    signs, while |u₂| itself would be too large because of its noise.
    """
    fit, preferences = rate_models(train, solution), mean_preferences(test)
    separation = np.sign(mean_preferences(train)) * preferences
    regret = regrets(NormalFormGame((separation, preferences, -preferences)), fit.joint)
    return CrossFit(regret[KING], regret[TASK], fit.masses[TASK])
