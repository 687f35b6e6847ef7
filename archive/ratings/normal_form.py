"""Games in normal form: payoffs, regrets and exploitability; equal actions, the similarity of
others, and the target: the strategy of maximal affinity entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, combinations, permutations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from archive.errors import RatingError

Array = NDArray[np.float64]
Strategies = Sequence[Array]
"""x_i (|A_i|,) of each player, each summing to 1."""

MEMORY = 4 << 30
"""Bytes that rating a game may take; a larger game is refused before anything is allocated."""
_ROUNDING = 1e-13
"""Difference of payoffs, as a share of the largest payoff, that counts as 0."""


@dataclass(frozen=True)
class NormalFormGame:
    """``payoffs``: u_i (|A_1|, …, |A_n|) float64 of each player i, n ≥ 2, finite."""

    payoffs: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of actions of each player."""
        return self.payoffs[0].shape

    @property
    def players(self) -> range:
        """The players 0, …, n − 1."""
        return range(len(self.payoffs))

    @cached_property
    def spans(self) -> tuple[float, ...]:
        """The largest difference between two payoffs of each player; 0 if it is only rounding."""
        sizes = [(float(np.ptp(payoff)), float(np.abs(payoff).max())) for payoff in self.payoffs]
        return tuple(span if span > _ROUNDING * size else 0.0 for span, size in sizes)

    @property
    def span(self) -> float:
        return max(self.spans)

    @cached_property
    def by_pair(self) -> dict[tuple[int, int], Array]:
        """u_i with the axes of i and j first, all i ≠ j, and the others in order."""
        payoffs = {}
        for i, j in permutations(self.players, 2):
            rest = [k for k in self.players if k not in (i, j)]
            payoffs[i, j] = np.ascontiguousarray(self.payoffs[i].transpose(i, j, *rest))
        return payoffs

    def rescale(self, spans: Sequence[float]) -> NormalFormGame:
        """Each player's payoffs shifted to begin at 0 and divided by one of ``spans``, or all 0
        where it is 0: the same equilibria. Divided by the same for all players: the same logit
        equilibria at temperatures divided by it too."""
        both = zip(self.payoffs, spans, strict=True)
        return NormalFormGame(tuple((u - u.min()) / (span or np.inf) for u, span in both))


def check_memory(shape: Sequence[int]) -> None:
    """Raises :class:`RatingError` if payoffs for ``shape`` actions of each player do not fit: as
    given, rescaled and by pair of players."""
    tables = len(shape) * (len(shape) + 1)
    _refuse(" × ".join(f"{size:,}" for size in shape), prod(shape) * tables)


def check_actions(actions: int) -> None:
    """Raises :class:`RatingError` if the four square matrices over ``actions``, the number of
    actions of all players with clones merged, do not fit."""
    _refuse(f"{actions:,} different", 4 * actions**2)


def _refuse(what: str, numbers: int) -> None:
    if 8 * numbers > MEMORY:
        raise RatingError(
            f"a game of {what} actions takes {8 * numbers / 2**30:,.1f} GiB, expected at most "
            f"{MEMORY >> 30} GiB: rate fewer tasks or fewer models"
        )


def product(strategies: Strategies) -> Array:
    """The joint distribution of players that choose independently."""
    return reduce(np.multiply.outer, strategies)


def regrets(game: NormalFormGame, joint: Array) -> list[Array]:
    """regret_i(a, x) = Σ_b x(b) [u_i(a, b_-i) − u_i(b)] of each action of each player (1)."""
    deviations = []
    for player, payoff in enumerate(game.payoffs):
        others = joint.sum(axis=player)
        rows = np.moveaxis(payoff, player, 0).reshape(game.shape[player], -1)
        deviations.append(rows @ others.ravel() - float(np.vdot(payoff, joint)))
    return deviations


def exploitability(game: NormalFormGame, joint: Array) -> float:
    """The largest regret of any player: ε of the ε-CCE ``joint``, or of the ε-NE where it is a
    product; in units of payoff."""
    return max(0.0, *(float(regret.max()) for regret in regrets(game, joint)))


def relative_exploitability(game: NormalFormGame, joint: Array) -> float:
    """The largest regret, each player's as a share of what it has at stake."""
    pairs = zip(regrets(game, joint), game.spans, strict=True)
    return max([0.0, *(float(regret.max()) / span for regret, span in pairs if span)])


def cross_derivatives(game: NormalFormGame, strategies: Strategies) -> dict[tuple[int, int], Array]:
    """P_ij (|A_i|, |A_j|) = ∂d_i/∂x_j, all i ≠ j."""
    slices = {}
    for (i, j), tensor in game.by_pair.items():
        for k in reversed(game.players):
            if k not in (i, j):
                tensor = tensor @ strategies[k]
        slices[i, j] = tensor
    return slices


# -- clones: equal payoffs for every player under all actions of the others ------------------------
# A game is solved with one action for each class, so that copies change nothing: neither the
# kernel, which averages over the actions of others, nor the start of a path of equilibria.

Indices = NDArray[np.int64]

DIGITS = 9
"""Decimal digits to which equal payoffs agree, as shares of the player's span."""


def equal_rows(rows: Array) -> Indices:
    """The class of each row of (n, d): 0, 1, … in order of first appearance. Rows that agree to
    ``DIGITS`` are equal."""
    classes: dict[bytes, int] = {}
    keys = ((row.round(DIGITS) + 0.0).tobytes() for row in rows)  # −0 is 0
    return np.array([classes.setdefault(key, len(classes)) for key in keys], np.int64)


@dataclass(frozen=True)
class CloneClasses:
    """``labels`` (|A_i|,) of each player: the class of each of its actions."""

    labels: tuple[Indices, ...]

    def reduce(self, game: NormalFormGame) -> NormalFormGame:
        """The game with the first action of each class."""
        indices = np.ix_(*(np.unique(each, return_index=True)[1] for each in self.labels))
        return NormalFormGame(tuple(payoff[indices] for payoff in game.payoffs))

    def fold(self, player: int, values: Array) -> Array:
        """Sums over the classes, (classes,), of values (|A_i|,)."""
        return np.bincount(self.labels[player], values).astype(np.float64)

    def expand(self, joint: Array) -> Array:
        """The joint distribution over all actions, each class in equal shares."""
        shares = [1.0 / np.bincount(labels)[labels] for labels in self.labels]
        for player, labels in enumerate(self.labels):
            shape = [-1 if axis == player else 1 for axis in range(joint.ndim)]
            joint = joint.take(labels, axis=player) * shares[player].reshape(shape)
        return joint


def clone_classes(game: NormalFormGame) -> CloneClasses:
    """The classes of each player's actions that are equal for all players."""
    payoffs = np.stack(game.rescale(game.spans).payoffs, axis=-1)
    # a row holds the payoffs of all players for one action of one of them
    rows = (np.moveaxis(payoffs, i, 0).reshape(game.shape[i], -1) for i in game.players)
    return CloneClasses(tuple(map(equal_rows, rows)))


# -- similarity, and the target --------------------------------------------------------------------

VARIANCE = 1e-6
"""σ² of the kernel, in squared units of payoff (F.2)."""
FLOOR = 1e-9
"""Share of the uniform strategy in every target: no action is forbidden from the start."""


def distances(game: NormalFormGame, player: int) -> Array:
    """D (|A_i|, |A_i|) of (6), in squared units of payoff: the mean over independent mixed
    strategies of the opponents, uniform on their simplices (App. C). The largest over all players'
    payoffs, where the paper takes the player's own: by the task's own payoff only, a task that one
    model wins equals a task that its rival wins."""
    points = [mixed_points(np.moveaxis(payoff, player, 0)) for payoff in game.payoffs]
    return np.maximum.reduce([cdist(each, each, "sqeuclidean") for each in points])


def mixed_points(rows: Array) -> Array:
    """Points (actions, k) whose squared distances are those of actions (axis 0) against mixed
    opponents (the other axes).

    Prop. C.2 with d(d + 1) for each simplex of d vertices: as 2^{#matches} is
    Π_j (1 + [s_j = s'_j]), the double sum is a sum of squared partial sums over all sets of axes.
    """
    axes = range(1, rows.ndim)
    subsets = chain.from_iterable(combinations(axes, size) for size in range(rows.ndim))
    sums = np.hstack([rows.sum(axis=part).reshape(len(rows), -1) for part in subsets])
    return sums / np.sqrt(np.prod([size * (size + 1.0) for size in rows.shape[1:]]))


def kernel(squared_distances: Array, variance: float = VARIANCE) -> Array:
    """K = exp(−D/(2σ²)) (7), entries in [0, 1]."""
    return np.exp(-squared_distances / (2 * variance))


def normalised_columns(similarity: Array, p: float = 1.0) -> Array:
    """U^(p): the kernel with columns of (p + 1)-norm 1 (the ratings paper's first definition)."""
    return similarity / (similarity ** (p + 1)).sum(axis=0) ** (1 / (p + 1))


def target(similarity: Array) -> Array:
    """argmax H_a^1 (|A_i|,): the point nearest to 0 in the hull of the columns of U^(1). Equal
    columns share equally. Every entry is at least FLOOR/|A_i|."""
    columns = normalised_columns(similarity)
    labels = equal_rows(columns.T)
    unique_columns = columns[:, np.unique(labels, return_index=True)[1]]
    # min ‖Uz‖² + (1ᵀz − 1)² has the direction of the nearest point.
    system = np.vstack([unique_columns, np.ones(unique_columns.shape[1])])
    right_side = np.append(np.zeros(len(unique_columns)), 1.0)
    solution = nnls(system, right_side)[0]
    solution /= solution.sum()
    shares = solution[labels] / np.bincount(labels)[labels]
    return (1 - FLOOR) * shares + FLOOR / len(shares)
