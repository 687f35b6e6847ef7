"""The fewest rows of a matrix of truths that together reach every column: greedy, dual bound, MILP.

``reaches`` (rows, columns) bool throughout, with at least one truth in every column. The first
rows come first wherever something is as good as something else, so answers hang on the matrix
alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Truths = NDArray[np.bool_]
ROUNDS = 200
"""Steps of the dual ascent."""
NODES = 1000
"""Of a branch-and-bound tree, at most."""
TOLERANCE = 1e-6
"""Of HiGHS, and of sums of prices."""
BLOCK = 16
"""Rows whose places in the order are weighed in one program: 2^16 is exact beside HiGHS's 1e-6."""


@dataclass(frozen=True)
class Fewest:
    """``members``, ascending, reach every column; no fewer than ``least`` rows do: proved."""

    members: tuple[int, ...]
    least: int

    @property
    def exact(self) -> bool:
        return len(self.members) == self.least

    def settles(self, enough: int) -> bool:
        """Whether it is known if ``enough`` rows suffice."""
        return len(self.members) <= enough or self.least > enough


def greedy(reaches: Truths, enough: int | None = None) -> Fewest:
    """The row that reaches most of what is left, again and again, then without needless rows.

    ``least`` is what :func:`dual_bound` proves; it is not asked where ``enough`` rows were found.
    """
    members = _without_needless(reaches, _greedy_members(reaches))
    if enough is not None and len(members) <= enough:
        return Fewest(members, 1)
    # a bound above ``enough`` settles the question: no more of it is asked for
    upper = len(members) if enough is None else enough + 1
    return Fewest(members, dual_bound(reaches, upper))


def _greedy_members(reaches: Truths) -> list[int]:
    left = reaches.sum(axis=1)
    lacking = np.ones(reaches.shape[1], bool)
    members = []
    while lacking.any():
        best = int(left.argmax())
        members.append(best)
        taken = reaches[best] & lacking
        lacking &= ~taken
        left = left - reaches[:, taken].sum(axis=1)
    return members


def _without_needless(reaches: Truths, members: Sequence[int]) -> tuple[int, ...]:
    """Drop members, the last of all rows first, whose columns others reach too."""
    kept = sorted(members)
    times = reaches[kept].sum(axis=0)
    for member in reversed(list(kept)):
        if (times[reaches[member]] > 1).all():
            kept.remove(member)
            times = times - reaches[member]
    return tuple(kept)


def essential(reaches: Truths) -> NDArray[np.int64]:
    """Columns, ascending, such that whatever reaches them reaches all: of equal columns the first,
    and none whose rows include all rows of another."""
    columns = np.sort(np.unique(reaches, axis=1, return_index=True)[1])
    kept = reaches[:, columns].astype(np.float32)
    sizes = kept.sum(axis=0)
    shared = kept.T @ kept
    implied = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    found: NDArray[np.int64] = columns[~implied.any(axis=0)]
    return found


def dual_bound(reaches: Truths, upper: int) -> int:
    """A number of rows that no choice undercuts, from prices on the columns.

    Prices y ≥ 0 with Σ y over the columns of each row at most 1 prove that Σ y rows are needed.
    They come from a subgradient ascent on the Lagrangian (Held and Karp 1971), scaled until they
    keep to that. ``upper`` is the size of a known choice; the bound never exceeds it.
    """
    truths = csr_array(reaches.astype(np.float64))
    turned = csr_array(truths.T)
    prices = 1 / (turned @ truths.sum(axis=1)).clip(1)
    prices *= upper / prices.sum()
    best = scale = 1.0
    for _ in range(ROUNDS):
        paid = truths @ prices
        best = max(best, float(prices.sum() / max(paid.max(), TOLERANCE)))
        slope = 1 - turned @ (paid > 1).astype(np.float64)
        steepness = float(slope @ slope)
        if math.ceil(best - TOLERANCE) >= upper or steepness == 0:
            break
        bound = prices.sum() + np.minimum(0, 1 - paid).sum()
        step = scale * max(1.02 * upper - bound, 0.02) / steepness
        prices = np.maximum(0, prices + step * slope)
        scale *= 0.98
    return min(upper, math.ceil(best - TOLERANCE))


def exact(reaches: Truths, enough: int | None = None, nodes: int = NODES) -> Fewest:
    """The fewest rows by branch and bound (HiGHS), where ``nodes`` of its tree suffice.

    With ``enough`` only the question whether so many rows suffice is settled: the search ends as
    soon as a choice is small enough or ``least`` is larger. The limit is one of nodes and not of
    seconds, so an answer does not hang on how busy the machine is.
    """
    found = greedy(reaches)
    if found.exact or (enough is not None and found.settles(enough)):
        return found
    columns = essential(reaches)
    if found.least < 3 and no_pair_reaches(reaches[:, columns]):
        found = Fewest(found.members, 3)
    if found.exact or (enough is not None and found.settles(enough)):
        return found
    solved = minimise(np.ones(len(reaches)), reaches[:, columns], nodes=nodes)
    members = found.members
    if solved.members is not None and len(solved.members) < len(members):
        members = solved.members
    least = max(found.least, math.ceil(solved.bound - TOLERANCE))
    return Fewest(members, min(least, len(members)))


def no_pair_reaches(reaches: Truths) -> bool:
    """Whether no two rows together reach every column."""
    missed = (~reaches).astype(np.float32)
    return bool(((missed @ missed.T) > 0).all())


def first_of(reaches: Truths, size: int, nodes: int = NODES) -> tuple[int, ...] | None:
    """Of all choices of ``size`` rows, the fewest that reach every column, the first: the one with
    row 0 if any has it, among those the one with row 1 if any has it, and so on.

    ``BLOCK`` rows at a time are weighed 2^k, which no sum of later ones outweighs. None where the
    search did not end within ``nodes``.
    """
    rows, columns = len(reaches), essential(reaches)
    low, high = np.zeros(rows), np.ones(rows)
    for start in range(0, rows, BLOCK):
        block = np.arange(start, min(start + BLOCK, rows))
        costs = np.zeros(rows)
        costs[block] = -(2.0 ** np.arange(len(block))[::-1])
        solved = minimise(costs, reaches[:, columns], size, (low, high), nodes)
        if solved.members is None or not solved.proved:
            return None
        taken = np.isin(block, solved.members)
        low[block], high[block] = taken, taken
        if low.sum() == size:
            return solved.members
    return tuple(np.flatnonzero(low).tolist())


@dataclass(frozen=True)
class Solved:
    """A choice of rows, if one was found, a bound on its costs, and whether it is the cheapest."""

    members: tuple[int, ...] | None
    bound: float
    proved: bool


def minimise(
    costs: NDArray[np.float64],
    reaches: Truths,
    size: int | None = None,
    limits: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    nodes: int = NODES,
) -> Solved:
    """The choice of rows of least ``costs`` (rows,) that reaches all columns: 0–1 programming.

    ``size``: of at most so many rows; ``limits``: lower and upper bounds (rows,) of each 0 or 1.
    """
    rows = len(reaches)
    constraints = [LinearConstraint(csr_array(reaches.T.astype(np.float64)), 1, np.inf)]
    if size is not None:
        constraints.append(LinearConstraint(np.ones((1, rows)), 0, size))
    low, high = limits or (np.zeros(rows), np.ones(rows))
    found = milp(
        costs,
        integrality=np.ones(rows),
        bounds=Bounds(low, high),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": nodes},
    )
    members = None if found.x is None else tuple(np.flatnonzero(found.x > 0.5).tolist())
    bound = -math.inf if found.mip_dual_bound is None else float(found.mip_dual_bound)
    return Solved(members, bound, found.status == 0)
