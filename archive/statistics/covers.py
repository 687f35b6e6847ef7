"""η-covers of a scope: the fewest games that teach all others, and of those the best (Def. 45).

``values`` (candidates, targets) float64 throughout: V of Def. 37 or the captured fraction C, with
NaN where a value is unknown and −inf where it is known to be undefined. Δ_Γ(Σ) = min over the
targets of max over Γ. An unknown value is not 0: :func:`best_cover` lets it cover nothing, so
that what it returns is a cover whatever the unknown ones are; :func:`optimistic` lets it cover
everything; ``archive.statistics.missing_values`` says what lies between.

Optimal means fewest games, then largest Δ. What is still equal goes to the first candidates: the
cover with candidate 0 if any of the equal ones has it, among those the one with candidate 1 if
any has it, and so on. The order of the rows is thus part of the question, and an archive asks in
the order in which games were accepted: older games stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from archive.errors import CoverError
from archive.statistics import set_cover
from archive.statistics.intervals import Scores
from archive.statistics.set_cover import Fewest, Truths

EXACT_UP_TO = 400
"""Candidates or targets beyond which a cover is greedy."""

Solver = Callable[[Truths, int | None], Fewest]


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
        return self.gap == 0 and self.delta == self.delta_bound


def pessimistic(values: Scores) -> Scores:
    """The values with the unknown ones covering nothing."""
    return np.where(np.isnan(values), -math.inf, values)


def optimistic(values: Scores) -> Scores:
    """The values with the unknown ones covering at every η."""
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
    small = max(known.shape) <= exact_up_to
    found = _two_stages(known, eta, set_cover.exact if small else set_cover.greedy)
    return _first_of_equals(known, found) if found.exact and small else found


def covered(values: Scores, members: Sequence[int], eta: float) -> list[list[int]]:
    """For each member the targets that it alone covers at η; a target may be in several lists."""
    reaches = pessimistic(values) >= eta
    return [np.flatnonzero(reaches[member]).tolist() for member in members]


def _two_stages(values: Scores, eta: float, solve: Solver) -> Cover:
    """Fewest games at η; then, by bisection over the values that occur, the largest Δ that so
    many games reach."""
    found = solve(values >= eta, None)
    members, least, bound = found.members, found.least, largest_eta(values)
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
    return Cover(members, transfer_cover(values, members), least, bound)


def _first_of_equals(values: Scores, cover: Cover) -> Cover:
    """The first of all covers as small and as good; what bisection met, if that is not settled."""
    first = set_cover.first_of(values >= cover.delta, len(cover.members))
    return Cover(first or cover.members, cover.delta, cover.least, cover.delta_bound)


def out_of_reach(eta: float, largest: float) -> str:
    """What to tell a user whose η is too large. The number shown is rounded down, so it works."""
    if not math.isfinite(largest):
        return f"found η {eta:g}, and some game that nothing at hand covers at any η"
    shown = math.floor(largest * 1e4) / 1e4
    return f"found η {eta:g}, expected at most {shown:g}: the games at hand cover no more"
