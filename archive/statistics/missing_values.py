"""Which unknown values a cover hangs on, and how many estimates would settle it.

Between two extremes lies the truth, whatever the unknown values (NaN) are: the **pessimistic**
optimum, in which none of them covers, is a cover that can be had now; the **optimistic** one, in
which all of them cover, has no more games than any cover will ever have. The number of games is
*settled* when both are equally many. Two sets of unknown values say what it takes until then:

* ``confirm``: the fewest unknown values such that, if all of them reach η, a cover of the
  optimistic size exists. It is then optimal in its number of games.
* ``refute``: unknown values such that, if none of them reaches η, the pessimistic cover is optimal
  in its number of games, whatever the other unknown values are. Greedy: the values that the
  optimistic cover leans on are taken for too small, and again, until none with fewer games is
  left; then those that are not needed are put back. No proper part of it would do
  (``minimal``), but another set may be smaller.

Estimates of either kind are made one after another: as soon as one comes out on the other side of
η, the sets are computed anew. Δ is settled with them only as far as ``Settlement`` says: with the
size known, Δ lies between those of the pessimistic and the optimistic cover.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from archive.errors import CoverError
from archive.statistics import set_cover
from archive.statistics.covers import (
    EXACT_UP_TO,
    Cover,
    Solver,
    largest_eta,
    optimistic,
    out_of_reach,
)
from archive.statistics.intervals import Scores
from archive.statistics.set_cover import Fewest, Truths

Place = tuple[int, int]
"""Candidate and target of a value."""
MOST_DOUBTS = 500
"""Searches for values to doubt; beyond them all unknown values are named."""
PRUNED_UP_TO = 60
"""Sets larger than this are not made minimal: each value to put back is a search of its own."""


@dataclass(frozen=True)
class Settlement:
    """What unknown values leave open of a cover.

    ``fewest``: no assignment of the unknown values gives a cover with fewer games; ``delta_bound``:
    none gives a cover as large as the pessimistic one a larger Δ (inf: unbounded). ``unknown``
    counts all unknown values. ``confirm`` and ``refute`` are empty when the size is settled;
    ``refute`` alone where no cover is certain yet.
    """

    unknown: int
    fewest: int
    delta_bound: float
    confirm: tuple[Place, ...]
    refute: tuple[Place, ...]
    minimal: bool

    @property
    def settled(self) -> bool:
        """Whether the number of games is known."""
        return not self.confirm and not self.refute


def settlement(
    values: Scores, eta: float, cover: Cover | None, exact_up_to: int = EXACT_UP_TO
) -> Settlement:
    """How far the unknown values (NaN) of ``values`` (candidates, targets) leave a cover open.

    ``cover`` is the pessimistic one, None where there is none. Raises CoverError when not even
    the unknown values could make a cover.
    """
    unknown = int(np.isnan(values).sum())
    if cover is not None and not unknown:
        return Settlement(0, cover.least, cover.delta_bound, (), (), True)
    hopeful = optimistic(values)
    solve = set_cover.exact if max(values.shape) <= exact_up_to else set_cover.greedy
    best = solve(_reachable(hopeful, eta), None)
    if cover is None:
        confirm = _confirm(values, eta, best, solve)
        return Settlement(unknown, best.least, largest_eta(hopeful), confirm, (), True)
    size = len(cover.members)
    bound = _delta_bound(hopeful, eta, size, solve)
    if best.least >= size:
        return Settlement(unknown, size, bound, (), (), True)
    refute, minimal = _refute(values, eta, size, solve)
    confirm = _confirm(values, eta, best, solve) if len(best.members) < size else ()
    return Settlement(unknown, best.least, bound, confirm, refute, minimal)


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


def _confirm(values: Scores, eta: float, best: Fewest, solve: Solver) -> tuple[Place, ...]:
    """The fewest unknown values that a cover of the optimistic size needs to reach η; what
    greedy's cover needs, where that is all there is."""
    members = best.members
    if solve is set_cover.exact and best.exact:
        members = _least_daring(values, eta, len(members)) or members
    rows = values[list(members)]
    lacking = np.flatnonzero(~(rows >= eta).any(axis=0)).tolist()
    return tuple((members[int(np.isnan(rows[:, target]).argmax())], target) for target in lacking)


def _least_daring(values: Scores, eta: float, size: int) -> tuple[int, ...] | None:
    """Of all optimistic covers of ``size`` games one that needs the fewest unknown values."""
    games, targets = values.shape
    known, hopeful = values >= eta, optimistic(values) >= eta
    # a further row for each target: "covered on trust alone", which is possible where hopeful
    trusted = np.vstack([known, np.eye(targets, dtype=bool)])
    both = np.hstack([trusted, np.vstack([hopeful, np.zeros((targets, targets), bool)])])
    # a game costs more than all trust together, so no game is added to save trust
    costs = np.concatenate([np.full(games, targets + 1.0), np.ones(targets)])
    solved = set_cover.minimise(costs, both)
    if solved.members is None or not solved.proved:
        return None
    members = tuple(row for row in solved.members if row < games)
    return members if len(members) == size else None


def _refute(values: Scores, eta: float, size: int, solve: Solver) -> tuple[tuple[Place, ...], bool]:
    """Unknown values without which no cover has fewer than ``size`` games, and whether each of
    them is needed for that. All unknown values, where less cannot be proved to do."""
    reaches = optimistic(values) >= eta
    doubted: list[Place] = []
    for _ in range(MOST_DOUBTS):
        answer = _smaller(reaches, size, solve)
        if answer == ():
            return _pruned(reaches, doubted, size, solve)
        if answer is None:
            break
        leaning = _weakest(values, eta, reaches, answer)
        doubted += leaning
        reaches[tuple(np.array(leaning).T)] = False
    everything: list[Place] = [(int(i), int(j)) for i, j in np.argwhere(np.isnan(values))]
    return tuple(everything), False


def _smaller(reaches: Truths, size: int, solve: Solver) -> tuple[int, ...] | None:
    """A cover of fewer than ``size`` games; empty: proved that there is none; None: not known."""
    if not reaches.any(axis=0).all():
        return ()
    found = solve(reaches, size - 1)
    if len(found.members) < size:
        return found.members
    return () if found.least >= size else None


def _weakest(values: Scores, eta: float, reaches: Truths, members: tuple[int, ...]) -> list[Place]:
    """The unknown values by which members reach a target: of the targets that no known value of
    theirs reaches the one with the fewest."""
    rows = list(members)
    trusted = reaches[rows] & np.isnan(values[rows])
    counts = np.where((values[rows] >= eta).any(axis=0), len(values) + 1, trusted.sum(axis=0))
    target = int(counts.argmin())
    return [(members[row], target) for row in np.flatnonzero(trusted[:, target])]


def _pruned(
    reaches: Truths, doubted: list[Place], size: int, solve: Solver
) -> tuple[tuple[Place, ...], bool]:
    """The doubted values without those that can be trusted and still no smaller cover is there."""
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
