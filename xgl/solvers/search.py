"""What every solver keeps: its budget of judge calls, and its curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xgl.solvers.trials import Attempt, MapTrials, Moves

GRADIENT_CALLS = 3
"""What a gradient counts as: the judge reads the texts of a play forwards and backwards."""


@dataclass(frozen=True)
class Solution:
    """The best moves that a solver came to on one map. ``curve`` has a point (judge calls, best
    score so far in bits) for each improvement; ``calls`` is what it spent in all. One call is one
    candidate's play, whatever the number of texts that the judge reads in it."""

    solver: str
    best: Attempt
    calls: int
    curve: tuple[tuple[int, float], ...]


class Search:
    """One solver at work on one map, with ``calls`` to spend. A candidate that it tried already
    costs nothing; one that only other solvers tried costs what it costs them."""

    def __init__(self, trials: MapTrials, calls: int) -> None:
        self.trials, self.budget, self.calls = trials, calls, 0
        self.best: Attempt | None = None
        self.curve: list[tuple[int, float]] = []
        self._seen: dict[Moves, Attempt] = {}

    @property
    def left(self) -> int:
        """Calls that may still be spent."""
        return self.budget - self.calls

    def tried(self, moves: Moves) -> bool:
        """Whether these moves cost nothing any more."""
        return moves in self._seen

    def spend(self, calls: int) -> bool:
        """Spend calls on something else than plays; False where too few are left."""
        if calls > self.left:
            return False
        self.calls += calls
        return True

    def attempts(self, candidates: Sequence[Moves]) -> list[Attempt]:
        """The attempts of candidates in their order, as many as the calls allow."""
        affordable: list[Moves] = []
        new: dict[Moves, None] = {}
        for moves in candidates:
            if moves not in self._seen and moves not in new:
                if len(new) == self.left:
                    break
                new[moves] = None
            affordable.append(moves)
        made = dict(zip(new, self.trials.of_moves(list(new)), strict=True))
        for moves, attempt in made.items():
            self.keep(attempt)
            self._seen[moves] = attempt
        return [self._seen[moves] for moves in affordable]

    def keep(self, attempt: Attempt) -> None:
        """Count one play, and mark it on the curve where it is the best so far."""
        self.calls += 1
        if attempt.finished and (self.best is None or attempt.score > self.best.score):
            self.best = attempt
            self.curve.append((self.calls, attempt.score))

    def solution(self, solver: str) -> Solution | None:
        """What the solver came to; None where no play was finished."""
        if self.best is None:
            return None
        return Solution(solver, self.best, self.calls, tuple(self.curve))
