"""Similarity of actions, and the target: the strategy of maximal affinity entropy."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from archive.ratings.clones import equal_rows
from archive.ratings.normal_form import Array, NormalFormGame

VARIANCE = 1e-6
"""σ² of the kernel, in squared units of payoff (F.2)."""
FLOOR = 1e-9
"""Share of the uniform strategy in every target: no action is forbidden from the start."""


def distances(game: NormalFormGame, player: int, *, own_payoff: bool = False) -> Array:
    """D (|A_i|, |A_i|) of (6), in squared units of payoff: the mean over independent mixed
    strategies of the opponents, uniform on their simplices (App. C). The largest over all players'
    payoffs, or with ``own_payoff``, as in the paper, of the player's own.

    By the task's own payoff only, a task that one model wins equals a task that its rival wins.
    """
    payoffs = game.payoffs[player : player + 1] if own_payoff else game.payoffs
    points = [mixed_points(np.moveaxis(payoff, player, 0)) for payoff in payoffs]
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
    """argmax H_a^1 (|A_i|,): the point nearest to 0 in the hull of the columns of U^(1).

    Equal columns share equally. Every entry is at least FLOOR/|A_i|.
    """
    columns = normalised_columns(similarity)
    labels = equal_rows(columns.T)
    unique_columns = columns[:, np.unique(labels, return_index=True)[1]]
    # min ‖Uz‖² + (1ᵀz − 1)² has the direction of the nearest point.
    system = np.vstack([unique_columns, np.ones(unique_columns.shape[1])])
    right_side = np.append(np.zeros(len(unique_columns)), 1.0)
    solution = nnls(system, right_side)[0]
    solution /= solution.sum()
    shares = solution[labels] / np.bincount(labels)[labels]
    return mixed_with_uniform(shares)


def mixed_with_uniform(strategy: Array, share: float = FLOOR) -> Array:
    """The strategy (1 − share) x + share · uniform."""
    return (1 - share) * strategy + share / len(strategy)


def uniform(actions: int) -> Array:
    """The uniform strategy (actions,), the maximiser of Shannon entropy."""
    return np.full(actions, 1.0 / actions)
