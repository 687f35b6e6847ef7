"""Scope growth as the paper has it (§6.3.2, Algorithm 1), and what any order of it needs: a sampler
proposes lists of games, an oracle judges these candidates against a scope.

Independent of language models. Every order and choice is a function of the seed and the oracle's
answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from archive import Reason, Verdict
from archive.schema import TaskId
from evo.config.schema import GrowthSettings
from evo.record.steps import RequestT, RequestT_co, Steps, run

GameT = TypeVar("GameT", bound=Hashable)


@dataclass(frozen=True)
class Place(Generic[GameT]):
    """Place in the run of a list of candidates: the parent and its generation; ``round`` counts the
    lists of a parent."""

    parent_generation: int
    parent: GameT
    round: int

    @property
    def generation(self) -> int:
        return self.parent_generation + 1


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


class Selection(Enum):
    """Outcome of a candidate's selection."""

    DECIDED = "refused, or undecided for good; its decision is recorded"
    UNHELPFUL = "the player learned it, and it does not help the game that it was measured on"
    PASSED = "seems to help a game of the scope, and to be new to all of it"


@dataclass(frozen=True)
class Assessment(Generic[GameT]):
    """What an oracle knows of a candidate before its acceptance test; a subclass may hold the
    evidence. ``parent``: the game of the scope that it helps; ``helps``: its transfer value on it,
    V_{G*}(G); ``gamma``: the largest value of the scope on the candidate, γ; None if undefined. An
    undefined value never satisfies α1 and, for γ, never covers. ``power``: the chance that the
    test accepts."""

    candidate: Candidate[GameT]
    parent: GameT
    helps: float | None
    gamma: float | None
    selection: Selection = Selection.PASSED
    power: float = 1.0


@dataclass(frozen=True)
class AcceptanceResult:
    """Result of an acceptance test. ``power`` and ``tokens``, of an undecided one: the chance that
    a test with twice the plays accepts, and the tokens that it takes. ``tested``: what the oracle
    records if nothing follows."""

    verdict: Verdict
    gamma: float | None = None
    power: float = 0.0
    tokens: int = 1
    tested: Any = None


AssessmentT = TypeVar("AssessmentT", bound=Assessment[Any])


class Sampler(Protocol[GameT]):
    """Λ: new games related to a parent; already known games are not among them."""

    def propose(self, place: Place[GameT], scope: Sequence[GameT], n: int) -> list[GameT]:
        """At most ``n`` games related to the parent of ``place``."""


class Oracle(Protocol[GameT, AssessmentT, RequestT_co]):
    """Judges candidates; ``scope``: the games that γ is taken over."""

    def assess(
        self, candidates: Sequence[Candidate[GameT]], scope: Sequence[GameT]
    ) -> Steps[RequestT_co, list[AssessmentT]]:
        """Estimates for the candidates of one list, good enough to rank them; of those that it
        refuses it records the decision and returns nothing."""

    def test(
        self, assessment: AssessmentT, scope: Sequence[GameT], doublings: int = 0
    ) -> Steps[RequestT_co, AcceptanceResult]:
        """An acceptance test on fresh evidence, of 2^``doublings`` times the plays. Records the
        decision unless it is undecided."""

    def dismiss(
        self, assessment: AssessmentT, result: AcceptanceResult | None, reason: Reason
    ) -> None:
        """Record that a candidate is not tested again: the decision of its last test, or
        ``reason``, if there was none."""


@dataclass(frozen=True)
class ScopeMember(Generic[GameT]):
    """A game of the scope; ``gamma`` and ``parent`` are None for the initial ones."""

    game: GameT
    generation: int
    gamma: float | None = None
    parent: GameT | None = None

    def row(self, number: int, id_of: Callable[[GameT], TaskId]) -> dict[str, Any]:
        """Its row of the scope ``number`` in the table ``scopes``, but for the run's id."""
        parent = None if self.parent is None else id_of(self.parent).game_id
        facts = {"scope": number, "gamma": self.gamma, "generation": self.generation}
        return {**id_of(self.game)._asdict(), **facts, "parent_game_id": parent}


def grow(
    initial: Sequence[GameT],
    oracle: Oracle[GameT, AssessmentT, RequestT],
    sampler: Sampler[GameT],
    settings: GrowthSettings,
    seed: int = 0,
    do: Callable[[Sequence[RequestT]], object] = list,
    tests: int = 1,
) -> Iterator[list[ScopeMember[GameT]]]:
    """Algorithm 1: yield Σ_0, Σ_1, … until a generation accepts nothing, or the number of
    generations or of candidates is reached.

    ``do`` does what the oracle requests; one that knows its values requests nothing. ``tests``:
    acceptance tests that one list may make.
    """
    scope = [ScopeMember(game, 0) for game in initial]  # Σ_0
    n_candidates = 0
    yield list(scope)
    for k in range(settings.generations):
        accepted: list[ScopeMember[GameT]] = []  # Ω_k
        newest = [member.game for member in scope if member.generation == k]  # Σ_k \ Σ_{k−1}
        random.Random(f"{seed}/order/{k}").shuffle(newest)
        for parent in newest:  # G
            for number in count():  # repeat
                size = list_size(settings, n_candidates)
                if size <= 0 or number == settings.max_accepts_per_parent:
                    break
                known = [member.game for member in (*scope, *accepted)]
                place = Place(k, parent, number)
                games = sampler.propose(place, known, size)  # a list 𝒢 related to G, from Λ
                n_candidates += len(games)
                candidates = [Candidate(game, place, index) for index, game in enumerate(games)]
                if settings.coverage_against == "scope":  # the literal reading
                    known = [member.game for member in scope]
                best = run(_accept(candidates, known, oracle, settings, tests), do)
                if best is None:
                    break
                if best.game not in [member.game for member in accepted]:
                    accepted.append(best)  # Ω_k ∪ {G*}
        scope += accepted  # Σ_{k+1} = Σ_k ∪ Ω_k
        yield list(scope)
        if not accepted or n_candidates == settings.max_candidates:
            return


def list_size(settings: GrowthSettings, n_candidates: int) -> int:
    """Size of the next list after so many candidates; 0 if their budget is used up."""
    size, most = settings.list_size, settings.max_candidates
    return size if most is None else min(size, most - n_candidates)


def _accept(
    candidates: Sequence[Candidate[GameT]],
    scope: Sequence[GameT],
    oracle: Oracle[GameT, AssessmentT, RequestT],
    settings: GrowthSettings,
    tests: int,
) -> Steps[RequestT, ScopeMember[GameT] | None]:
    """Of a list, the candidate with V_{G*}(G) ≥ α1 and the smallest γ, if γ ≤ 1 − α2. If values are
    estimates, it may be first by luck and fail on fresh evidence; then the next one is tested."""
    assessments = (yield from oracle.assess(candidates, scope)) if candidates else []
    ranking = rank(assessments, settings.alpha1, settings.alpha2)
    accepted = None
    for index, each in enumerate(ranking):
        if accepted or index >= tests:
            oracle.dismiss(each, None, Reason.RIVAL_ACCEPTED if accepted else Reason.RIVALS_TESTED)
            continue
        result = yield from oracle.test(each, scope)
        if result.verdict is Verdict.UNDECIDED:
            oracle.dismiss(each, result, Reason.RIVALS_TESTED)
        if result.verdict is Verdict.ACCEPTED:
            game, place = each.candidate.game, each.candidate.place
            accepted = ScopeMember(game, place.generation, result.gamma, place.parent)
    return accepted


def rank(assessments: Sequence[AssessmentT], alpha1: float, alpha2: float) -> list[AssessmentT]:
    """The candidates that help the parent by α1 and have γ ≤ 1 − α2, the smallest γ first."""
    helping = [each for each in assessments if each.helps is not None and each.helps >= alpha1]
    new = [each for each in helping if (each.gamma or 0.0) <= 1 - alpha2]
    return sorted(new, key=lambda each: each.gamma or 0.0)
