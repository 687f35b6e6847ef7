"""Which missing values a cover depends on, and how many estimates would decide its size.

Between two extremes lies the truth, whatever the missing values (NaN) are: the **pessimistic**
optimum, in which none of them covers, is a cover that can be had now; the **optimistic** one, in
which all of them cover, has no more games than any cover will ever have. The number of games is
*decided* when both are equally many. Two sets of missing values say what it takes until then:

* ``confirm``: the fewest missing values such that, if all of them reach η, a cover of the
  optimistic size exists. It is then optimal in its number of games.
* ``refute``: missing values such that, if none of them reaches η, the pessimistic cover is optimal
  in its number of games, whatever the other missing values are. Greedy: the values that the
  optimistic cover rests on are taken for too small, and again, until none with fewer games is
  left; then those that are not needed are put back. No proper part of it would do
  (``minimal``), but another set may be smaller.

Estimates of either kind are made one after another: as soon as one comes out on the other side of
η, the sets are computed again. Δ is decided with them only as far as :class:`MissingValues` says:
with the size known, Δ lies between those of the pessimistic and the optimistic cover.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archive.errors import CoverError
from archive.statistics.covers import (
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
from archive.statistics.intervals import Scores

ValueIndex = tuple[int, int]
"""Candidate and target of a value."""
MOST_DOUBTS = 500
"""Searches for values to doubt; beyond them all missing values are named."""
PRUNED_UP_TO = 60
"""Sets larger than this are not made minimal: each value to put back is a search of its own."""


@dataclass(frozen=True)
class MissingValues:
    """What missing values leave open of a cover; ``count`` of them.

    ``fewest``: no assignment of the missing values gives a cover with fewer games; ``delta_bound``:
    none gives a cover as large as the pessimistic one a larger Δ (inf: unbounded). ``confirm`` and
    ``refute`` are empty when the size is decided, ``refute`` alone where no cover is certain yet.
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
    """How far the missing values (NaN) of ``values`` (candidates, targets) leave a cover open.

    ``cover`` is the pessimistic one, None where there is none. Raises CoverError when not even
    the missing values could make a cover.
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
    """The largest Δ that so many games could reach, as far as that can be proved."""
    levels = np.unique(hopeful[hopeful >= eta])
    low, high = 0, len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        reaches = hopeful >= levels[middle]
        possible = bool(reaches.any(axis=0).all()) and solve(reaches, size).least <= size
        low, high = (middle, high) if possible else (low, middle)
    return float(levels[low])


def _confirm(values: Scores, eta: float, best: Fewest, solve: Solver) -> tuple[ValueIndex, ...]:
    """The fewest missing values that a cover of the optimistic size needs to reach η; what
    greedy's cover needs, where that is all there is."""
    members = best.members
    if solve is exact and best.exact:
        members = _fewest_assumptions(values, eta, len(members)) or members
    rows = values[list(members)]
    uncovered = np.flatnonzero(~(rows >= eta).any(axis=0)).tolist()
    return tuple((members[int(np.isnan(rows[:, target]).argmax())], target) for target in uncovered)


def _fewest_assumptions(values: Scores, eta: float, size: int) -> tuple[int, ...] | None:
    """Of all optimistic covers of ``size`` games one that needs the fewest missing values."""
    games, targets = values.shape
    known, hopeful = values >= eta, optimistic(values) >= eta
    # a further row for each target: "covered by a missing value", possible where hopeful
    assumed = np.vstack([known, np.eye(targets, dtype=bool)])
    both = np.hstack([assumed, np.vstack([hopeful, np.zeros((targets, targets), bool)])])
    # a game costs more than all assumptions together, so none is added to save assumptions
    costs = np.concatenate([np.full(games, targets + 1.0), np.ones(targets)])
    solved = minimise(costs, both)
    if solved.members is None or not solved.proved:
        return None
    members = tuple(row for row in solved.members if row < games)
    return members if len(members) == size else None


def _refute(
    values: Scores, eta: float, size: int, solve: Solver
) -> tuple[tuple[ValueIndex, ...], bool]:
    """Missing values without which no cover has fewer than ``size`` games, and whether each of
    them is needed for that. All missing values, where less cannot be proved to do."""
    reaches = optimistic(values) >= eta
    doubted: list[ValueIndex] = []
    for _ in range(MOST_DOUBTS):
        answer = _smaller(reaches, size, solve)
        if answer == ():
            return _pruned(reaches, doubted, size, solve)
        if answer is None:
            break
        weakest = _weakest(values, eta, reaches, answer)
        doubted += weakest
        reaches[tuple(np.array(weakest).T)] = False
    everything: list[ValueIndex] = [(int(i), int(j)) for i, j in np.argwhere(np.isnan(values))]
    return tuple(everything), False


def _smaller(reaches: Truths, size: int, solve: Solver) -> tuple[int, ...] | None:
    """A cover of fewer than ``size`` games; empty: proved that there is none; None: not known."""
    if not reaches.any(axis=0).all():
        return ()
    fewest = solve(reaches, size - 1)
    if len(fewest.members) < size:
        return fewest.members
    return () if fewest.least >= size else None


def _weakest(
    values: Scores, eta: float, reaches: Truths, members: tuple[int, ...]
) -> list[ValueIndex]:
    """The missing values by which members reach a target: of the targets that no known value of
    theirs reaches the one with the fewest."""
    rows = list(members)
    assumed = reaches[rows] & np.isnan(values[rows])
    counts = np.where((values[rows] >= eta).any(axis=0), len(values) + 1, assumed.sum(axis=0))
    target = int(counts.argmin())
    return [(members[row], target) for row in np.flatnonzero(assumed[:, target])]


def _pruned(
    reaches: Truths, doubted: list[ValueIndex], size: int, solve: Solver
) -> tuple[tuple[ValueIndex, ...], bool]:
    """The doubted values without those that can be assumed and still no smaller cover is there."""
    if len(doubted) > PRUNED_UP_TO:
        return tuple(sorted(doubted)), False
    kept = list(doubted)
    for place in reversed(doubted):
        reaches[place] = True
        if _smaller(reaches, size, solve) == ():
            kept.remove(place)
        else:
            reaches[place] = False
    return tuple(sorted(kept)), True
