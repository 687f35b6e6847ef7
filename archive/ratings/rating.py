"""Ratings: the gain of each action of each player at the selected equilibrium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.affinity import (
    VARIANCE,
    CloneClasses,
    clone_classes,
    distances,
    kernel,
    no_classes,
    target,
    uniform,
)
from archive.ratings.correlated import nearest_cce
from archive.ratings.logit_path import LogitEquilibrium, limiting_logit_equilibrium
from archive.ratings.normal_form import (
    Array,
    NormalFormGame,
    check_actions,
    exploitability,
    marginals,
    product,
    regrets,
)

TIE = 1e-4
"""Difference of ratings, in units of payoff, up to which two actions share a rank (Fig. 11)."""


class EquilibriumKind(StrEnum):
    """The kind of equilibrium."""

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
class RatingSettings:
    """``variance`` σ² of the kernel, squared units of payoff; ``temperature`` in units of payoff,
    0 for the limit. ``own_payoff`` and ``merge_clones=False``: the paper's kernel, of each
    player's own payoff over all actions."""

    solution: EquilibriumKind = EquilibriumKind.NE
    selection: TargetEntropy = TargetEntropy.AFFINITY
    variance: float = VARIANCE
    own_payoff: bool = False
    merge_clones: bool = True
    temperature: float = 0.0

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise RatingError(f"variance: found {self.variance}, expected a number above 0")
        if not self.temperature >= 0:
            raise RatingError(
                f"temperature: found {self.temperature}, expected 0 or a number above"
            )


@dataclass(frozen=True)
class Ratings:
    """``joint`` (|A_1|, …, |A_n|): the equilibrium. ``ratings`` (|A_i|,) of each player: regrets,
    in units of payoff; at an equilibrium at most ``exploitability``, and 0 for actions with mass.
    ``targets`` (|A_i|,) of each player. ``path``: the path to the limit; None for a CCE."""

    game: NormalFormGame
    settings: RatingSettings
    joint: Array
    ratings: tuple[Array, ...]
    targets: tuple[Array, ...]
    classes: CloneClasses
    exploitability: float
    path: LogitEquilibrium | None

    @cached_property
    def masses(self) -> list[Array]:
        """Probability of each action (|A_i|,), each class of clones in equal shares."""
        return marginals(self.joint)

    def effective_number(self, player: int) -> float:
        """exp of the Shannon entropy of a player's mass over classes of clones: from 1 to their
        number."""
        mass = self.classes.fold(player, self.masses[player])
        positive = mass[mass > 0]
        return float(np.exp(-(positive * np.log(positive)).sum()))

    def contributions(self, player: int, co_player: int) -> Array:
        """δ (|A_i|, |A_j|): what each action of ``co_player`` adds to each rating of ``player``
        (section 4.3 of the ratings paper); rows sum to the ratings."""
        return contributions(self.game, self.joint, player, co_player)


def rate(
    game: NormalFormGame,
    settings: RatingSettings | None = None,
    targets: Sequence[Array] | None = None,
) -> Ratings:
    """Rate all actions of all players.

    ``targets`` (|A_i|,) of each player, positive: instead of those of ``settings.selection``.
    Raises :class:`RatingError` if no equilibrium is reached.
    """
    settings = settings or RatingSettings()
    classes = clone_classes(game)
    small = classes.reduce(game)
    check_actions(sum(small.shape))
    if targets is not None:
        check_targets(game, targets)
    aims = default_targets(game, classes, settings) if targets is None else list(targets)
    class_targets = [classes.fold(player, distribution) for player, distribution in enumerate(aims)]
    path = None
    if settings.solution is EquilibriumKind.CCE:
        joint = nearest_cce(small, class_targets).joint
    else:
        path = limiting_logit_equilibrium(small, class_targets, settings.temperature)
        joint = product(path.strategies)
    joint = classes.expand(joint)
    return Ratings(
        game,
        settings,
        joint,
        tuple(regrets(game, joint)),
        tuple(aims),
        classes,
        exploitability(game, joint),
        path,
    )


def check_targets(game: NormalFormGame, targets: Sequence[Array]) -> None:
    """Raises :class:`RatingError` unless each target is a distribution over that player's actions,
    with some mass on each."""
    shapes = [np.shape(distribution) for distribution in targets]
    if shapes != [(size,) for size in game.shape]:
        raise RatingError(f"found targets of shapes {shapes}, expected {game.shape}")
    for player, distribution in enumerate(targets):
        if not (np.min(distribution) > 0 and abs(np.sum(distribution) - 1) < 1e-6):
            raise RatingError(
                f"found a target of player {player} from {np.min(distribution):g} up that sums to "
                f"{np.sum(distribution):g}, expected numbers above 0 that sum to 1"
            )


def default_targets(
    game: NormalFormGame, classes: CloneClasses, settings: RatingSettings
) -> list[Array]:
    """The target of each player (|A_i|,) that ``settings`` name."""
    if settings.selection is TargetEntropy.SHANNON:
        return [uniform(size) for size in game.shape]
    once = classes if settings.merge_clones else no_classes(game.shape)
    small = once.reduce(game)
    shares = []
    for player in game.players:
        squared_distances = distances(small, player, own_payoff=settings.own_payoff)
        shares.append(once.share(player, target(kernel(squared_distances, settings.variance))))
    return shares


def contributions(game: NormalFormGame, joint: Array, player: int, co_player: int) -> Array:
    """δ(a'_i, a_j, x) = Σ_{a : a_j} x(a) [u_i(a'_i, a_-i) − u_i(a)], (|A_i|, |A_j|)."""
    payoff = game.payoffs[player]
    axes = range(joint.ndim)
    weights = np.expand_dims(joint.sum(axis=player), player)
    rest = tuple(axis for axis in axes if axis not in (player, co_player))
    deviating = (payoff * weights).sum(axis=rest)
    if player > co_player:
        deviating = deviating.T
    payoffs = (payoff * joint).sum(axis=tuple(axis for axis in axes if axis != co_player))
    return np.asarray(deviating - payoffs)


def ranks(ratings: Array, tie: float = TIE) -> NDArray[np.int64]:
    """The rank of each action, 1 for the best; an action within ``tie`` of the best action of a
    rank shares that rank."""
    ranks = np.zeros(len(ratings), np.int64)
    best = np.inf
    for position, action in enumerate(np.argsort(-ratings, kind="stable"), start=1):
        if best - ratings[action] > tie or position == 1:
            best, rank = float(ratings[action]), position
        ranks[action] = rank
    return ranks
