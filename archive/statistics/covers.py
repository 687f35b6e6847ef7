"""η-covers of a scope: the fewest games that teach all others, and of those the best (Def. 45).

``values`` (candidates, targets) float64 throughout: V of Def. 37 or the captured fraction C, with
NaN where a value is missing and −inf where it is known to be undefined. Δ_Γ(Σ) = min over the
targets of max over Γ. A missing value is not 0: :func:`best_cover` lets it cover nothing, so
that what it returns is a cover whatever the missing ones are; :func:`optimistic` lets it cover
everything; ``archive.statistics.missing_values`` says what lies between.

Optimal means fewest games, then largest Δ. What is still equal goes to the first candidates: the
cover with candidate 0 if any of the equal ones has it, among those the one with candidate 1 if
any has it, and so on. The order of the rows is thus part of the question, and an archive asks in
the order in which games were accepted: older games stay.

Both the number of games and Δ come from 0–1 programs, solved and proved by HiGHS where the choices
are too many to look at each:
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
from archive.statistics.intervals import Scores

EXACT_UP_TO = 400
"""Candidates or targets beyond which a cover is greedy."""
NODES = 1000
"""Of a branch-and-bound tree, at most."""
TOLERANCE = 1e-6
"""Of HiGHS."""
BLOCK = 16
"""Rows whose places in the order are weighed in one program: 2^16 is exact beside HiGHS's 1e-6."""

FEW_CHOICES = 5000
"""Choices of rows that are looked at one by one, which takes less time than to load HiGHS."""

Truths = NDArray[np.bool_]
"""(candidates, targets): whether a candidate's value reaches η; some truth in every column."""


@dataclass(frozen=True)
class Cover:
    """Candidates ``members``, ascending, with Δ = ``delta``, and how far they are from optimal.

    No cover at this η has fewer than ``least`` games, and none of at most so many games has a Δ
    above ``delta_bound``: both are proved.
    """

    members: tuple[int, ...]
    delta: float
    least: int
    delta_bound: float

    @property
    def gap(self) -> int:
        """Games that a better search might save, at most."""
        return len(self.members) - self.least

    @property
    def exact(self) -> bool:
        """Whether fewest games and largest Δ are proved."""
        return self.gap == 0 and self.delta == self.delta_bound


@dataclass(frozen=True)
class Fewest:
    """``members``, ascending, reach every column; no fewer than ``least`` rows do: proved."""

    members: tuple[int, ...]
    least: int

    @property
    def exact(self) -> bool:
        """Whether no fewer rows would do."""
        return len(self.members) == self.least


Solver = Callable[[Truths, int | None], Fewest]
"""The fewest rows, or, with a number, whether so many rows reach every column."""


def pessimistic(values: Scores) -> Scores:
    """The values with the missing ones covering nothing."""
    return np.where(np.isnan(values), -math.inf, values)


def optimistic(values: Scores) -> Scores:
    """The values with the missing ones covering at every η."""
    return np.where(np.isnan(values), math.inf, values)


def transfer_cover(values: Scores, members: Sequence[int]) -> float:
    """Δ of the members: the value of the target that they teach least; −inf without members."""
    if not members:
        return -math.inf
    return float(pessimistic(values)[list(members)].max(axis=0).min())


def largest_eta(values: Scores) -> float:
    """Δ of all candidates together: no cover exists at a larger η."""
    return transfer_cover(values, range(len(values)))


def best_cover(values: Scores, eta: float, exact_up_to: int = EXACT_UP_TO) -> Cover:
    """The optimal η-cover, or greedy's where candidates or targets exceed ``exact_up_to``.

    Raises CoverError when no set of the candidates is an η-cover, naming the largest η.
    """
    if not values.size:
        raise CoverError("found no games, expected at least one to cover and one to cover with")
    known = pessimistic(values)
    if (largest := largest_eta(known)) < eta:
        raise CoverError(out_of_reach(eta, largest))
    solve = solver(known, exact_up_to)
    cover = _largest_delta(known, eta, solve)
    if not cover.exact or solve is greedy:
        return cover
    first = _first_of_equals(known >= cover.delta, len(cover.members))
    return Cover(first or cover.members, cover.delta, cover.least, cover.delta_bound)


def covered(values: Scores, members: Sequence[int], eta: float) -> list[list[int]]:
    """For each member the indices of the targets that it covers at η; a target that several members
    cover is in several lists."""
    reaches = pessimistic(values) >= eta
    return [np.flatnonzero(reaches[member]).tolist() for member in members]


def solver(values: Scores, exact_up_to: int = EXACT_UP_TO) -> Solver:
    """The way to the fewest rows of a matrix of this size."""
    return exact if max(values.shape) <= exact_up_to else greedy


def out_of_reach(eta: float, largest: float) -> str:
    """The message where η is too large. The number shown is rounded down, so it works."""
    if not math.isfinite(largest):
        return f"found η {eta:g}, and some game that nothing at hand covers at any η"
    shown = math.floor(largest * 1e4) / 1e4
    return f"found η {eta:g}, expected at most {shown:g}: the games at hand cover no more"


def _largest_delta(values: Scores, eta: float, solve: Solver) -> Cover:
    """Fewest games at η; then, by bisection over the values that occur, the largest Δ that so
    many games reach."""
    fewest = solve(values >= eta, None)
    members, bound = fewest.members, largest_eta(values)
    levels = np.unique(values[(values >= eta) & (values <= bound)])
    low, high = int(np.searchsorted(levels, transfer_cover(values, members))), len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        tried = solve(values >= levels[middle], len(members))
        if len(tried.members) <= len(members):
            members = tried.members
            low = int(np.searchsorted(levels, transfer_cover(values, members)))
        else:
            high = middle
            if tried.least > len(members):
                bound = min(bound, float(levels[middle - 1]))
    return Cover(members, transfer_cover(values, members), fewest.least, bound)


# -- the fewest rows that reach every column -------------------------------------------------


def exact(reaches: Truths, enough: int | None = None) -> Fewest:
    """The fewest rows, where :data:`NODES` of a search tree prove them.

    With ``enough`` only the question whether so many rows suffice is settled, and greedy's answer
    is taken where it is small enough. The limit is one of nodes and not of seconds, so an answer
    does not depend on how busy the machine is.
    """
    members = _greedy_members(reaches)
    if len(members) == 1 or (enough is not None and len(members) <= enough):
        return Fewest(members, 1)
    if enough == 1:  # greedy takes a row that reaches every column where there is one
        return Fewest(members, 2)
    if sum(math.comb(len(reaches), size) for size in range(1, len(members))) <= FEW_CHOICES:
        fewer = filter(None, (_first_choice(reaches, size) for size in range(1, len(members))))
        members = next(fewer, members)
        return Fewest(members, len(members))
    solved = minimise(np.ones(len(reaches)), reaches[:, _essential(reaches)], size=enough)
    if solved.infeasible and enough is not None:
        return Fewest(members, enough + 1)
    if solved.members is not None and len(solved.members) < len(members):
        members = solved.members
    return Fewest(members, min(_rounded_up(solved.bound), len(members)))


def greedy(reaches: Truths, enough: int | None = None) -> Fewest:
    """The row that reaches most of what is left, again and again, then without needless rows.

    ``least`` is what the linear relaxation proves; it is not computed where ``enough`` rows
    suffice.
    """
    members = _greedy_members(reaches)
    if enough is not None and len(members) <= enough:
        return Fewest(members, 1)
    relaxed = minimise(np.ones(len(reaches)), reaches[:, _essential(reaches)], whole=False)
    return Fewest(members, min(_rounded_up(relaxed.bound), len(members)))


def _greedy_members(reaches: Truths) -> tuple[int, ...]:
    left = reaches.sum(axis=1)
    missing = np.ones(reaches.shape[1], bool)
    members: list[int] = []
    while missing.any():
        best = int(left.argmax())
        members.append(best)
        taken = reaches[best] & missing
        missing &= ~taken
        left = left - reaches[:, taken].sum(axis=1)
    return _without_needless(reaches, members)


def _without_needless(reaches: Truths, members: Sequence[int]) -> tuple[int, ...]:
    """Drop members, the last of all rows first, whose columns others reach too."""
    kept = sorted(members)
    times = reaches[kept].sum(axis=0)
    for member in reversed(list(kept)):
        if (times[reaches[member]] > 1).all():
            kept.remove(member)
            times = times - reaches[member]
    return tuple(kept)


def _essential(reaches: Truths) -> NDArray[np.int64]:
    """Columns, ascending, such that whatever reaches them reaches all: of equal columns the first,
    and none whose rows include all rows of another."""
    columns = np.sort(np.unique(reaches, axis=1, return_index=True)[1])
    distinct = reaches[:, columns].astype(np.float32)
    sizes = distinct.sum(axis=0)
    shared = distinct.T @ distinct
    implied = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    essential: NDArray[np.int64] = columns[~implied.any(axis=0)]
    return essential


def _first_of_equals(reaches: Truths, size: int) -> tuple[int, ...] | None:
    """Of all choices of ``size`` rows, the fewest that reach every column, the first: the one with
    row 0 if any has it, among those the one with row 1 if any has it, and so on.

    ``BLOCK`` rows at a time are weighed 2^k, which no sum of later ones outweighs. None where the
    search did not end within its nodes.
    """
    if math.comb(len(reaches), size) <= FEW_CHOICES:
        return _first_choice(reaches, size)
    rows, columns = len(reaches), _essential(reaches)
    low, high = np.zeros(rows), np.ones(rows)
    for start in range(0, rows, BLOCK):
        block = np.arange(start, min(start + BLOCK, rows))
        costs = np.zeros(rows)
        costs[block] = -(2.0 ** np.arange(len(block))[::-1])
        solved = minimise(costs, reaches[:, columns], size, (low, high))
        if solved.members is None or not solved.proved:
            return None
        low[block] = high[block] = np.isin(block, solved.members)
        if low.sum() == size:
            return solved.members
    return tuple(np.flatnonzero(low).tolist())


def _first_choice(reaches: Truths, size: int) -> tuple[int, ...] | None:
    """The first choice of ``size`` rows that reaches every column, each choice looked at."""
    every = (1 << reaches.shape[1]) - 1
    masks = [int("".join("01"[reached] for reached in row), 2) for row in reaches.astype(int)]
    for choice in combinations(range(len(reaches)), size):
        if reduce(or_, (masks[row] for row in choice)) == every:
            return choice
    return None


@dataclass(frozen=True)
class Solved:
    """A choice of rows, if one was found, a lower bound on its costs, and whether it is the
    cheapest. ``infeasible``: proved that there is none."""

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
) -> Solved:
    """The choice of rows of least ``costs`` (rows,) that reaches all columns: 0–1 programming.

    ``size``: of at most so many rows; ``limits``: lower and upper bounds (rows,) of each 0 or 1;
    not ``whole``: the linear relaxation, which gives a bound alone.
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
    proved, chosen = result.status == 0, whole and result.x is not None
    relaxed = result.fun if proved else None
    bound = result.mip_dual_bound if whole else relaxed
    return Solved(
        members=tuple(np.flatnonzero(result.x > 0.5).tolist()) if chosen else None,
        bound=-math.inf if bound is None else float(bound),
        proved=proved,
        infeasible=result.status == 2,
    )


def _rounded_up(bound: float) -> int:
    """A whole number of rows that no choice undercuts; 1 where nothing is proved."""
    return max(1, math.ceil(bound - TOLERANCE)) if math.isfinite(bound) else 1
