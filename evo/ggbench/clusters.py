"""Which explanations to keep as clusters: each text in one at most (App. D of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

PRICE = 0.5
"""Of a cluster, in texts, where their number is free."""


@dataclass(frozen=True)
class Clusters:
    """``chosen``: explanations, by column; ``members``: for each text its cluster, None for one
    that no chosen cluster holds."""

    chosen: tuple[int, ...]
    members: tuple[int | None, ...]

    @property
    def covered(self) -> int:
        """Texts that stand in a cluster."""
        return sum(each is not None for each in self.members)


def select(belongs: NDArray[np.bool_], count: int | None = None) -> Clusters:
    """The clusters that leave the fewest texts uncovered, by an integer linear program.

    ``belongs`` (texts, explanations): which text an explanation fits. A chosen explanation holds
    all texts that it fits, and no text may stand in two. ``count``: exactly so many clusters;
    None: as many as pay, each at the price of half a text. Raises ValueError where there is no
    such choice.
    """
    texts, explanations = belongs.shape
    sizes = belongs.sum(axis=0).astype(float)
    rules = [LinearConstraint(belongs.astype(float), ub=np.ones(texts))]
    if count is not None:
        rules.append(LinearConstraint(np.ones((1, explanations)), lb=count, ub=count))
    cost = -sizes if count is not None else PRICE - sizes
    solved = milp(cost, integrality=np.ones(explanations), bounds=Bounds(0, 1), constraints=rules)
    if solved.x is None:
        raise ValueError(f"found no {count} explanations that share no text")
    chosen = tuple(int(place) for place in np.flatnonzero(np.round(solved.x)))
    return Clusters(chosen, members(belongs, chosen))


def members(belongs: NDArray[np.bool_], chosen: Sequence[int]) -> tuple[int | None, ...]:
    """For each text its cluster among the chosen ones."""
    return tuple(next((place for place in chosen if row[place]), None) for row in belongs)
