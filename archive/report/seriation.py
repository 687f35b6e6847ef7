"""An order of games in which those that teach alike stand side by side."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

OPTIMAL = 200
"""Up to so many games neighbours are as alike as the tree allows; it takes cubic time."""

Values = NDArray[np.float64]


def similar_order(values: Values) -> list[int]:
    """An order of the rows and columns of a square matrix of transfer values (n, n).

    Games are clustered by average linkage on their profiles, what they teach and what teaches
    them; unknown values (NaN, −inf) count as their column's mean. Deterministic.
    """
    count = len(values)
    if count < 3:
        return list(range(count))
    profile = np.concatenate([_filled(values), _filled(values.T)], axis=1)
    tree = linkage(profile, "average")
    if count <= OPTIMAL:
        tree = optimal_leaf_ordering(tree, profile)
    order = [int(place) for place in leaves_list(tree)]
    return order if order.index(0) < count / 2 else order[::-1]


def _filled(values: Values) -> Values:
    """Values held to [−0.5, 1.5], unknown ones at the mean of what is known of the column."""
    known = np.isfinite(values)
    held = np.where(known, np.clip(np.where(known, values, 0.0), -0.5, 1.5), 0.0)
    counts = known.sum(axis=0)
    means = held.sum(axis=0) / np.maximum(counts, 1)
    return np.where(known, held, means)


def blocks(values: Values, most: int) -> list[tuple[int, int]]:
    """Stretches (first, end) that divide the rows of a matrix into at most ``most`` parts."""
    edges = np.linspace(0, len(values), min(most, len(values)) + 1).round().astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]
