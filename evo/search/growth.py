"""Scope growth, Algorithm 1 (paper §6.3.2), over two small protocols.

Independent of language models: a sampler proposes games for a place in the run, an oracle judges
these candidates against a scope. Each step takes the output of the step before it. Every order and
choice is a function of the seed and the oracle's answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from evo.config.schema import GrowthSettings

GameT = TypeVar("GameT")


@dataclass(frozen=True)
class Place(Generic[GameT]):
    """Place in the run of a list of candidates; ``round`` counts the lists of a parent."""

    generation: int
    parent: GameT
    round: int


@dataclass(frozen=True)
class Candidate(Generic[GameT]):
    """A proposed game, the ``index``-th (from 0) of the list proposed at ``place``."""

    game: GameT
    place: Place[GameT]
    index: int

    @property
    def parent(self) -> GameT:
        """The game that it was proposed for."""
        return self.place.parent


@dataclass(frozen=True)
class Assessment(Generic[GameT]):
    """An oracle's estimates for one candidate; a subclass may hold the evidence.

    ``helps`` is the transfer value to the parent, V_{G*}(G), and ``gamma`` the largest value from
    the scope to the candidate, γ; None if undefined, or if the candidate is already refused. An
    undefined value never satisfies α1 and, for γ, never covers.
    """

    candidate: Candidate[GameT]
    helps: float | None
    gamma: float | None


AssessmentT = TypeVar("AssessmentT", bound=Assessment[Any])


class Sampler(Protocol[GameT]):
    """Λ: new games related to a parent; already known games are not among them."""

    def propose(self, place: Place[GameT], scope: Sequence[GameT], n: int) -> list[GameT]:
        """At most ``n`` games related to the parent of ``place``."""
        ...


class Oracle(Protocol[GameT, AssessmentT]):
    """Judges candidates."""

    def assess(
        self, candidates: Sequence[Candidate[GameT]], scope: Sequence[GameT]
    ) -> list[AssessmentT]:
        """Point estimates, good enough to rank the candidates of one list; ``scope``: the games
        that γ is taken over."""
        ...

    def confirm(self, ranking: Sequence[AssessmentT]) -> AssessmentT | None:
        """The first of ``ranking`` that passes on fresh evidence, which did not rank it; else
        None."""
        ...


@dataclass(frozen=True)
class ScopeMember(Generic[GameT]):
    """A game of the scope; ``gamma`` and ``parent`` are None for the initial ones."""

    game: GameT
    generation: int
    gamma: float | None = None
    parent: GameT | None = None


@dataclass
class _Progress(Generic[GameT]):
    """The run so far; ``members`` is Σ_k and ``pending`` Ω_k, sets in the order of acceptance."""

    members: list[ScopeMember[GameT]]
    pending: list[ScopeMember[GameT]] = field(default_factory=list)
    candidate_count: int = 0

    def accept(self, member: ScopeMember[GameT]) -> None:
        """Add to Ω_k, which keeps its order."""
        if all(member.game != other.game for other in self.pending):
            self.pending.append(member)


def grow(
    initial: Sequence[GameT],
    oracle: Oracle[GameT, AssessmentT],
    sampler: Sampler[GameT],
    algorithm: GrowthSettings,
    seed: int = 0,
) -> Iterator[list[ScopeMember[GameT]]]:
    """Yield Σ_0, Σ_1, … as lists of members; ends when a generation accepts nothing, or when the
    number of generations or the budget of candidates is reached."""
    progress = _Progress([ScopeMember(game, 0) for game in initial])
    yield list(progress.members)
    newest = list(initial)
    for generation in range(algorithm.generations):
        random.Random(f"{seed}/order/{generation}").shuffle(newest)
        for parent in newest:
            _grow_from(parent, generation, progress, oracle, sampler, algorithm)
        newest = [member.game for member in progress.pending]
        progress.members += progress.pending
        progress.pending = []
        yield list(progress.members)
        if not newest or _is_exhausted(progress, algorithm):
            return


def _grow_from(
    parent: GameT,
    generation: int,
    progress: _Progress[GameT],
    oracle: Oracle[GameT, AssessmentT],
    sampler: Sampler[GameT],
    algorithm: GrowthSettings,
) -> None:
    """The inner repeat: lists related to ``parent`` until none of a list is accepted."""
    accept_count = 0
    while (
        not _is_exhausted(progress, algorithm) and accept_count != algorithm.max_accepts_per_parent
    ):
        place = Place(generation, parent, accept_count)
        everything = [m.game for m in progress.members + progress.pending]
        games = sampler.propose(place, everything, _list_size(progress, algorithm))
        progress.candidate_count += len(games)
        scope = everything
        if algorithm.coverage_against == "scope":
            scope = [member.game for member in progress.members]
        candidates = [Candidate(game, place, index) for index, game in enumerate(games)]
        assessments = oracle.assess(candidates, scope) if candidates else []
        ranking = rank(assessments, algorithm.alpha1, algorithm.alpha2)
        winner = oracle.confirm(ranking) if ranking else None
        if winner is None:
            return
        game = winner.candidate.game
        progress.accept(ScopeMember(game, generation + 1, winner.gamma, parent))
        accept_count += 1


def rank(assessments: Sequence[AssessmentT], alpha1: float, alpha2: float) -> list[AssessmentT]:
    """The candidates that help the parent by α1 and have γ ≤ 1 − α2, the smallest γ first.

    The paper takes the first. If values are estimates, it may be first by luck and fail on fresh
    evidence; then the next is tested.
    """
    helping = [a for a in assessments if a.helps is not None and a.helps >= alpha1]
    new = [a for a in helping if gamma_or_zero(a) <= 1 - alpha2]
    return sorted(new, key=gamma_or_zero)


def gamma_or_zero(assessment: Assessment[Any]) -> float:
    """γ, or 0 if no value of the scope is defined: undefined values never cover."""
    return 0.0 if assessment.gamma is None else assessment.gamma


def _list_size(progress: _Progress[GameT], algorithm: GrowthSettings) -> int:
    if algorithm.max_candidates is None:
        return algorithm.list_size
    return min(algorithm.list_size, algorithm.max_candidates - progress.candidate_count)


def _is_exhausted(progress: _Progress[GameT], algorithm: GrowthSettings) -> bool:
    return (
        algorithm.max_candidates is not None
        and progress.candidate_count >= algorithm.max_candidates
    )
