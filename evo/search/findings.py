"""The open-ended schedule's knowledge of a candidate, and the interface of its oracle
(docs/specification.md, "The open-ended schedule")."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from archive import Verdict
from evo.search.foresight import Foresight
from evo.search.growth import Candidate
from evo.search.virtual_order import Steps

GameT = TypeVar("GameT", bound=Hashable)
WorkT_co = TypeVar("WorkT_co", bound=Hashable, covariant=True)


LEAST_POWER = 0.05
"""Chance of acceptance below which a candidate is not tested, and an undecided test not
continued."""


class Prospect(Enum):
    """State of a candidate after selection."""

    DECIDED = "refused, or undecided for good; its decision is recorded"
    ORPHAN = "learned, and no help to its parent"
    NEW = "seems to help a game of the scope, and to be new to all of it"


@dataclass(frozen=True)
class Finding(Generic[GameT]):
    """Result of selection for a candidate; a subclass may hold the evidence. ``parent`` is the game
    of the scope that it helps. ``power``: the chance that its acceptance test accepts. ``regret``:
    by how much it separates the fine-tunes better than the scope does; None if that is not
    known."""

    candidate: Candidate[GameT]
    prospect: Prospect
    parent: GameT
    gamma: float | None = None
    power: float = 1.0
    regret: float | None = None


@dataclass(frozen=True)
class Trial:
    """Result of an acceptance test. ``power`` and ``tokens``, of an undecided one: the chance that
    a test with twice the plays accepts, and the tokens that it takes."""

    verdict: Verdict
    gamma: float | None = None
    power: float = 0.0
    tokens: int = 1


FindingT = TypeVar("FindingT", bound=Finding[Any])


class OpenOracle(Protocol[GameT, FindingT, WorkT_co]):
    """Judges candidates, each in a process of its own."""

    def screen(
        self, candidate: Candidate[GameT], scope: Sequence[GameT]
    ) -> Steps[WorkT_co, Foresight | None]:
        """Cheap forecast of a candidate's outcome; None, and a recorded decision, if there is
        nothing to learn."""
        ...

    def pass_over(
        self, candidate: Candidate[GameT], scope: Sequence[GameT], foresight: Foresight
    ) -> None:
        """Record that it is not examined."""
        ...

    def examine(
        self, candidate: Candidate[GameT], scope: Sequence[GameT]
    ) -> Steps[WorkT_co, FindingT]:
        """Learning, and selection with the parent that the candidate was proposed for."""
        ...

    def adopt(self, orphan: FindingT, scope: Sequence[GameT]) -> Steps[WorkT_co, FindingT]:
        """Selection with any other game of the scope as parent, the one that it helps most."""
        ...

    def compare(self, finding: FindingT, newer: Sequence[GameT]) -> Steps[WorkT_co, FindingT]:
        """The finding, measured also against the games that have joined the scope since."""
        ...

    def test(
        self, finding: FindingT, scope: Sequence[GameT], repeat: int
    ) -> Steps[WorkT_co, Trial]:
        """An acceptance test on fresh evidence, of 2^``repeat`` times the plays; one share of the
        error of the candidate's list. Records what it decides."""
        ...

    def rate_scope(self, scope: Sequence[GameT]) -> Steps[WorkT_co, Mapping[GameT, float]]:
        """Masses of the scope's games at the equilibrium of games and fine-tunes (docs/ratings.md);
        empty if no equilibrium is reached. The regret of later findings is measured against it."""
        ...

    def dismiss(self, finding: FindingT, trial: Trial | None) -> None:
        """Record that a candidate is not tested (again); ``trial`` is its last test."""
        ...
