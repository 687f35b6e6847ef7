"""η-covers of a scope: the fewest games that teach all others, and of those the best (Def. 45).

``values`` (candidates, targets) float64 throughout: V of Def. 37 or the captured fraction C, NaN if
a value is missing and −inf if it is known to be undefined. Δ_Γ(Σ) = min over the targets of max
over Γ. A missing value is not 0: for :func:`best_cover` it covers nothing, so that the result is a
cover whatever the missing values are, but perhaps not the smallest.

Optimal means fewest games, then largest Δ. Among equals the first candidates win: the cover with
candidate 0 if any of the equal ones has it, among those the one with candidate 1 if any has it, and
so on. The order of the rows thus matters; an archive uses the order in which games were accepted,
so that older games stay.

Both the number of games and Δ come from 0–1 programs, solved and proved by HiGHS if the choices
are too many to enumerate:
Huangfu, Q. and Hall, J. A. J. (2018), Parallelizing the dual revised simplex method, Mathematical
Programming Computation 10(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_

import numpy as np
from numpy.typing import NDArray

from archive.errors import CoverError
from archive.statistics.values.intervals import Scores

EXACT_UP_TO = 400
"""Candidates or targets beyond which a cover is greedy."""
NODES = 1000
"""Largest number of nodes of a branch-and-bound tree."""
TOLERANCE = 1e-6
"""Tolerance of HiGHS."""
BLOCK = 16
"""Number of rows whose order is weighed in one program: 2^16 is exact within HiGHS's 1e-6."""

FEW_CHOICES = 5000
"""Number of choices up to which all are enumerated, which is faster than loading HiGHS."""

Truths = NDArray[np.bool_]
"""Whether a candidate's value reaches η (candidates, targets); every column has a True."""


@dataclass(frozen=True)
class Cover:
    """Candidates ``members``, ascending, with Δ = ``delta``, and proved bounds.

    No cover at this η has fewer than ``least`` games, and none with at most as many games as this
    one has a Δ above ``delta_bound``.
    """

    members: tuple[int, ...]
    delta: float
    least: int
    delta_bound: float

    @property
    def gap(self) -> int:
        """Largest number of games that a better search might save."""
        return len(self.members) - self.least

    @property
    def exact(self) -> bool:
        """Whether the number of games and Δ are proved to be optimal."""
        return self.gap == 0 and self.delta == self.delta_bound


@dataclass(frozen=True)
class Fewest:
    """Rows ``members``, ascending, reach every column; it is proved that fewer than ``least`` rows
    do not."""

    members: tuple[int, ...]
    least: int

    @property
    def exact(self) -> bool:
        """Whether it is proved that fewer rows do not reach every column."""
        return len(self.members) == self.least


Solver = Callable[[Truths, int | None], Fewest]
"""The fewest rows that reach every column; with a number, whether that many rows suffice."""


def pessimistic(values: Scores) -> Scores:
    """The values with the missing ones covering nothing."""
    return np.where(np.isnan(values), -math.inf, values)


def transfer_cover(values: Scores, members: Sequence[int]) -> float:
    """Δ of the members: the value of the target that they teach least; −inf without members."""
    if not members:
        return -math.inf
    return float(pessimistic(values)[list(members)].max(axis=0).min())


def largest_eta(values: Scores) -> float:
    """Δ of all candidates together: no cover exists at a larger η."""
    return transfer_cover(values, range(len(values)))


def best_cover(values: Scores, eta: float, exact_up_to: int = EXACT_UP_TO) -> Cover:
    """The optimal η-cover, or the greedy one if candidates or targets exceed ``exact_up_to``.

    Raises CoverError if no set of the candidates is an η-cover, naming the largest η.
    """
    if not values.size:
        raise CoverError("found no games, expected at least one to cover and one to cover with")
    lower_values = pessimistic(values)
    if (largest := largest_eta(lower_values)) < eta:
        raise CoverError(out_of_reach(eta, largest))
    solve = solver(lower_values, exact_up_to)
    cover = _largest_delta(lower_values, eta, solve)
    if not cover.exact or solve is greedy:
        return cover
    first = _first_of_equals(lower_values >= cover.delta, len(cover.members))
    return Cover(first or cover.members, cover.delta, cover.least, cover.delta_bound)


def covered_targets(values: Scores, members: Sequence[int], eta: float) -> list[list[int]]:
    """For each member the indices of the targets that it covers at η; a target that several members
    cover is in several lists."""
    reaches = pessimistic(values) >= eta
    return [np.flatnonzero(reaches[member]).tolist() for member in members]


def solver(values: Scores, exact_up_to: int = EXACT_UP_TO) -> Solver:
    """The solver for a matrix of this size."""
    return exact if max(values.shape) <= exact_up_to else greedy


def out_of_reach(eta: float, largest: float) -> str:
    """The error message for a too large η. The number in it is rounded down, so that it works."""
    if not math.isfinite(largest):
        return f"found η {eta:g}, and some game that nothing at hand covers at any η"
    rounded_down = math.floor(largest * 1e4) / 1e4
    return f"found η {eta:g}, expected at most {rounded_down:g}: the games at hand cover no more"


def _largest_delta(values: Scores, eta: float, solve: Solver) -> Cover:
    """Fewest games at η; then, by bisection over the values that occur, the largest Δ that this
    number of games reaches."""
    fewest = solve(values >= eta, None)
    members, bound = fewest.members, largest_eta(values)
    levels = np.unique(values[(values >= eta) & (values <= bound)])
    low, high = int(np.searchsorted(levels, transfer_cover(values, members))), len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        attempt = solve(values >= levels[middle], len(members))
        if len(attempt.members) <= len(members):
            members = attempt.members
            low = int(np.searchsorted(levels, transfer_cover(values, members)))
        else:
            high = middle
            if attempt.least > len(members):
                bound = min(bound, float(levels[middle - 1]))
    return Cover(members, transfer_cover(values, members), fewest.least, bound)


# -- the fewest rows that reach every column -------------------------------------------------


def exact(reaches: Truths, enough: int | None = None) -> Fewest:
    """The fewest rows, if :data:`NODES` nodes of a search tree prove them.

    With ``enough`` this only decides whether that many rows suffice, and returns the greedy answer
    if it is small enough. The limit is one of nodes and not of seconds, so that an answer does not
    depend on the load of the machine.
    """
    members = _greedy_members(reaches)
    if len(members) == 1 or (enough is not None and len(members) <= enough):
        return Fewest(members, 1)
    if enough == 1:  # greedy takes a row that reaches every column if there is one
        return Fewest(members, 2)
    if sum(math.comb(len(reaches), size) for size in range(1, len(members))) <= FEW_CHOICES:
        fewer = filter(None, (_first_choice(reaches, size) for size in range(1, len(members))))
        members = next(fewer, members)
        return Fewest(members, len(members))
    choice = minimise(np.ones(len(reaches)), reaches[:, _essential(reaches)], size=enough)
    if choice.infeasible and enough is not None:
        return Fewest(members, enough + 1)
    if choice.members is not None and len(choice.members) < len(members):
        members = choice.members
    return Fewest(members, min(_round_up(choice.bound), len(members)))


def greedy(reaches: Truths, enough: int | None = None) -> Fewest:
    """Repeatedly adds the row that reaches the most missing columns, then drops needless rows.

    ``least`` is proved by the linear relaxation; it is not computed if ``enough`` rows suffice.
    """
    members = _greedy_members(reaches)
    if enough is not None and len(members) <= enough:
        return Fewest(members, 1)
    relaxation = minimise(np.ones(len(reaches)), reaches[:, _essential(reaches)], whole=False)
    return Fewest(members, min(_round_up(relaxation.bound), len(members)))


def _greedy_members(reaches: Truths) -> tuple[int, ...]:
    gains = reaches.sum(axis=1)
    missing = np.ones(reaches.shape[1], bool)
    members: list[int] = []
    while missing.any():
        best = int(gains.argmax())
        members.append(best)
        new_columns = reaches[best] & missing
        missing &= ~new_columns
        gains = gains - reaches[:, new_columns].sum(axis=1)
    return _without_needless(reaches, members)


def _without_needless(reaches: Truths, members: Sequence[int]) -> tuple[int, ...]:
    """The members without those whose columns others reach too; the last rows are dropped first."""
    necessary = sorted(members)
    times = reaches[necessary].sum(axis=0)
    for member in reversed(list(necessary)):
        if (times[reaches[member]] > 1).all():
            necessary.remove(member)
            times = times - reaches[member]
    return tuple(necessary)


def _essential(reaches: Truths) -> NDArray[np.int64]:
    """Columns, ascending, such that rows that reach them reach all columns: the first of equal
    columns, and none whose rows include all rows of another."""
    columns = np.sort(np.unique(reaches, axis=1, return_index=True)[1])
    distinct = reaches[:, columns].astype(np.float32)
    sizes = distinct.sum(axis=0)
    shared = distinct.T @ distinct
    is_implied = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    essential: NDArray[np.int64] = columns[~is_implied.any(axis=0)]
    return essential


def _first_of_equals(reaches: Truths, size: int) -> tuple[int, ...] | None:
    """The first of all choices of ``size`` rows that reach every column: the one with row 0 if any
    has it, among those the one with row 1 if any has it, and so on.

    ``BLOCK`` rows at a time get the weights 2^k, so that no sum of later weights exceeds an earlier
    one. None if the search did not end within its nodes.
    """
    if math.comb(len(reaches), size) <= FEW_CHOICES:
        return _first_choice(reaches, size)
    rows, columns = len(reaches), _essential(reaches)
    low, high = np.zeros(rows), np.ones(rows)
    for start in range(0, rows, BLOCK):
        block = np.arange(start, min(start + BLOCK, rows))
        costs = np.zeros(rows)
        costs[block] = -(2.0 ** np.arange(len(block))[::-1])
        choice = minimise(costs, reaches[:, columns], size, (low, high))
        if choice.members is None or not choice.proved:
            return None
        low[block] = high[block] = np.isin(block, choice.members)
        if low.sum() == size:
            return choice.members
    return tuple(np.flatnonzero(low).tolist())


def _first_choice(reaches: Truths, size: int) -> tuple[int, ...] | None:
    """The first choice of ``size`` rows that reaches every column, by enumeration."""
    every = (1 << reaches.shape[1]) - 1
    masks = [int("".join("01"[bit] for bit in row), 2) for row in reaches.astype(int)]
    for choice in combinations(range(len(reaches)), size):
        if reduce(or_, (masks[row] for row in choice)) == every:
            return choice
    return None


@dataclass(frozen=True)
class RowChoice:
    """A choice of rows, None if none was found, a lower bound on the costs of any choice, and
    whether it is ``proved`` to be the cheapest. ``infeasible``: proved that there is none."""

    members: tuple[int, ...] | None
    bound: float
    proved: bool
    infeasible: bool


def minimise(
    costs: Scores,
    reaches: Truths,
    size: int | None = None,
    limits: tuple[Scores, Scores] | None = None,
    whole: bool = True,
) -> RowChoice:
    """The choice of rows of least ``costs`` (rows,) that reaches all columns: 0–1 programming.

    ``size``: largest number of rows; ``limits``: lower and upper bounds (rows,), each 0 or 1;
    not ``whole``: the linear relaxation, which only gives a bound.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load
    from scipy.sparse import csr_array

    rows = len(reaches)
    constraints = [LinearConstraint(csr_array(reaches.T.astype(np.float64)), 1, np.inf)]
    if size is not None:
        constraints.append(LinearConstraint(np.ones((1, rows)), 0, size))
    result = milp(
        costs,
        integrality=np.full(rows, whole),
        bounds=Bounds(*(limits or (0, 1))),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": NODES},
    )
    proved, has_choice = result.status == 0, whole and result.x is not None
    relaxed_cost = result.fun if proved else None
    bound = result.mip_dual_bound if whole else relaxed_cost
    return RowChoice(
        members=tuple(np.flatnonzero(result.x > 0.5).tolist()) if has_choice else None,
        bound=-math.inf if bound is None else float(bound),
        proved=proved,
        infeasible=result.status == 2,
    )


def _round_up(bound: float) -> int:
    """Smallest whole number of rows that the bound allows; 1 if nothing is proved."""
    return max(1, math.ceil(bound - TOLERANCE)) if math.isfinite(bound) else 1
