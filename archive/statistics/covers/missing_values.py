"""Which missing values a cover depends on, and how many estimates would decide its size.

Whatever the missing values (NaN) are, the optimal number of games lies between two extremes: the
**pessimistic** optimum, in which no missing value covers, is a cover already now; the
**optimistic** one, in which all of them cover, has no more games than any cover. The number of
games is *decided* if both are equal. Otherwise two sets of missing values can decide it:

* ``confirm``: the fewest missing values such that, if all of them reach η, a cover of the
  optimistic size exists. It is then optimal in its number of games.
* ``refute``: missing values such that, if none of them reaches η, the pessimistic cover is optimal
  in its number of games, whatever the other missing values are. Greedy: the values that the
  optimistic cover rests on are assumed to be too small, repeatedly, until no cover with fewer games
  exists; then values that are not needed are removed from the set. No proper subset suffices
  (``minimal``), but another set may be smaller.

Estimates of either kind are made one after another: as soon as one lies on the other side of η, the
sets are computed again. With the size decided, Δ lies between those of the pessimistic and the
optimistic cover.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archive.errors import CoverError
from archive.statistics.covers.best_cover import (
    EXACT_UP_TO,
    Cover,
    Fewest,
    Solver,
    Truths,
    exact,
    largest_eta,
    minimise,
    optimistic,
    out_of_reach,
    solver,
)
from archive.statistics.values.intervals import Scores

ValueIndex = tuple[int, int]
"""Candidate and target of a value."""
MOST_DOUBTS = 500
"""Largest number of searches for values of ``refute``; after it all missing values are named."""
PRUNED_UP_TO = 60
"""Sets larger than this are not made minimal: each removal needs a search."""


@dataclass(frozen=True)
class MissingValues:
    """How a cover depends on the ``count`` missing values.

    ``fewest``: no assignment of the missing values gives a cover with fewer games; ``delta_bound``:
    none gives a cover of the pessimistic size a larger Δ (inf: unbounded). ``confirm`` and
    ``refute`` are empty if the size is decided; only ``refute`` is empty if there is no pessimistic
    cover.
    """

    count: int
    fewest: int
    delta_bound: float
    confirm: tuple[ValueIndex, ...]
    refute: tuple[ValueIndex, ...]
    minimal: bool

    @property
    def size_decided(self) -> bool:
        """Whether the number of games is known."""
        return not self.confirm and not self.refute


def missing_values(
    values: Scores, eta: float, cover: Cover | None, exact_up_to: int = EXACT_UP_TO
) -> MissingValues:
    """How a cover depends on the missing values (NaN) of ``values`` (candidates, targets).

    ``cover`` is the pessimistic one, or None. Raises CoverError if there is no cover even if all
    missing values reach η.
    """
    count = int(np.isnan(values).sum())
    if cover is not None and not count:
        return MissingValues(0, cover.least, cover.delta_bound, (), (), True)
    hopeful = optimistic(values)
    solve = solver(values, exact_up_to)
    best = solve(_reachable(hopeful, eta), None)
    if cover is None:
        confirm = _confirm(values, eta, best, solve)
        return MissingValues(count, best.least, largest_eta(hopeful), confirm, (), True)
    size = len(cover.members)
    bound = _delta_bound(hopeful, eta, size, solve)
    if best.least >= size:
        return MissingValues(count, size, bound, (), (), True)
    refute, minimal = _refute(values, eta, size, solve)
    confirm = _confirm(values, eta, best, solve) if len(best.members) < size else ()
    return MissingValues(count, best.least, bound, confirm, refute, minimal)


def _reachable(hopeful: Scores, eta: float) -> Truths:
    if (largest := largest_eta(hopeful)) < eta:
        raise CoverError(out_of_reach(eta, largest))
    return hopeful >= eta


def _delta_bound(hopeful: Scores, eta: float, size: int, solve: Solver) -> float:
    """An upper bound of the Δ that ``size`` games can reach."""
    levels = np.unique(hopeful[hopeful >= eta])
    low, high = 0, len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        reaches = hopeful >= levels[middle]
        possible = bool(reaches.any(axis=0).all()) and solve(reaches, size).least <= size
        low, high = (middle, high) if possible else (low, middle)
    return float(levels[low])


def _confirm(values: Scores, eta: float, best: Fewest, solve: Solver) -> tuple[ValueIndex, ...]:
    """The fewest missing values that must reach η for a cover of the optimistic size; if only a
    greedy cover is known, those that it needs."""
    members = best.members
    if solve is exact and best.exact:
        members = _fewest_assumptions(values, eta, len(members)) or members
    rows = values[list(members)]
    open_targets = np.flatnonzero(~(rows >= eta).any(axis=0)).tolist()
    return tuple(
        (members[int(np.isnan(rows[:, target]).argmax())], target) for target in open_targets
    )


def _fewest_assumptions(values: Scores, eta: float, size: int) -> tuple[int, ...] | None:
    """The optimistic cover of ``size`` games that needs the fewest missing values."""
    games, targets = values.shape
    reaches, hopeful = values >= eta, optimistic(values) >= eta
    # a further row for each target: "covered by a missing value", possible where hopeful
    rows = np.vstack([reaches, np.eye(targets, dtype=bool)])
    both = np.hstack([rows, np.vstack([hopeful, np.zeros((targets, targets), bool)])])
    # a game costs more than all assumptions together, so none is added to save assumptions
    costs = np.concatenate([np.full(games, targets + 1.0), np.ones(targets)])
    choice = minimise(costs, both)
    if choice.members is None or not choice.proved:
        return None
    members = tuple(row for row in choice.members if row < games)
    return members if len(members) == size else None


def _refute(
    values: Scores, eta: float, size: int, solve: Solver
) -> tuple[tuple[ValueIndex, ...], bool]:
    """Missing values without which no cover has fewer than ``size`` games, and whether each of
    them is needed for that. All missing values, if no smaller set can be proved."""
    reaches = optimistic(values) >= eta
    doubts: list[ValueIndex] = []
    for _ in range(MOST_DOUBTS):
        answer = _smaller(reaches, size, solve)
        if answer == ():
            return _prune(reaches, doubts, size, solve)
        if answer is None:
            break
        weakest = _weakest(values, eta, reaches, answer)
        doubts += weakest
        reaches[tuple(np.array(weakest).T)] = False
    everything: list[ValueIndex] = [(int(i), int(j)) for i, j in np.argwhere(np.isnan(values))]
    return tuple(everything), False


def _smaller(reaches: Truths, size: int, solve: Solver) -> tuple[int, ...] | None:
    """A cover of fewer than ``size`` games; empty if it is proved that there is none; None if not
    known."""
    if not reaches.any(axis=0).all():
        return ()
    fewest = solve(reaches, size - 1)
    if len(fewest.members) < size:
        return fewest.members
    return () if fewest.least >= size else None


def _weakest(
    values: Scores, eta: float, reaches: Truths, members: tuple[int, ...]
) -> list[ValueIndex]:
    """The missing values by which members reach one target: the one with the fewest such values
    among the targets that no known value of a member reaches."""
    rows = list(members)
    assumptions = reaches[rows] & np.isnan(values[rows])
    counts = np.where((values[rows] >= eta).any(axis=0), len(values) + 1, assumptions.sum(axis=0))
    target = int(counts.argmin())
    return [(members[row], target) for row in np.flatnonzero(assumptions[:, target])]


def _prune(
    reaches: Truths, doubts: list[ValueIndex], size: int, solve: Solver
) -> tuple[tuple[ValueIndex, ...], bool]:
    """The values without those that may reach η without making a smaller cover possible."""
    if len(doubts) > PRUNED_UP_TO:
        return tuple(sorted(doubts)), False
    necessary = list(doubts)
    for index in reversed(doubts):
        reaches[index] = True
        if _smaller(reaches, size, solve) == ():
            necessary.remove(index)
        else:
            reaches[index] = False
    return tuple(sorted(necessary)), True
