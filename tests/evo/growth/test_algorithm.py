"""Algorithm 1 on the paper's toy world (§6.1.2): games are vectors, values are exact."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.algorithm1 import FiniteWorld, transcription

from archive import Reason, Verdict
from evo.config.schema import GrowthSettings
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place, grow
from evo.record.steps import Steps

Vector = tuple[float, ...]


def value(source: Vector, target: Vector) -> float:
    """V_G(G~) = Σ min(g~_i, g_i) / ‖g~‖₁ (paper §6.1.2)."""
    return sum(map(min, source, target)) / sum(target)


@dataclass
class ToyOracle:
    """Knows the values; ``verdicts`` of the first tests, all others accept."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    tested: list[Vector] = field(default_factory=list)
    dismissed: list[tuple[Vector, bool, Reason]] = field(default_factory=list)
    lists: list[list[Candidate[Vector]]] = field(default_factory=list)
    scopes: list[tuple[Vector, ...]] = field(default_factory=list)

    def assess(
        self, candidates: Sequence[Candidate[Vector]], scope: Sequence[Vector]
    ) -> Steps[Vector, list[Assessment[Vector]]]:
        yield from ()
        self.lists.append(list(candidates))
        self.scopes.append(tuple(scope))
        return [self._assessment(candidate, scope) for candidate in candidates]

    def test(
        self, assessment: Assessment[Vector], scope: Sequence[Vector], doublings: int = 0
    ) -> Steps[Vector, AcceptanceResult]:
        yield from ()
        self.tested.append(assessment.candidate.game)
        verdict = self.verdicts.get(len(self.tested) - 1, Verdict.ACCEPTED)
        return AcceptanceResult(verdict, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[Vector], result: AcceptanceResult | None, reason: Reason
    ) -> None:
        self.dismissed.append((assessment.candidate.game, result is None, reason))

    def _assessment(
        self, candidate: Candidate[Vector], scope: Sequence[Vector]
    ) -> Assessment[Vector]:
        gamma = max(value(member, candidate.game) for member in scope)
        helps = value(candidate.game, candidate.parent)
        return Assessment(candidate, candidate.parent, helps, gamma)


@dataclass
class ToySampler:
    """Points near the parent; the draw depends on where it is made."""

    seed: int
    reach: float = 0.3
    drawn: list[list[Vector]] = field(default_factory=list)

    def propose(self, place: Place[Vector], scope: Sequence[Vector], n: int) -> list[Vector]:
        rng = random.Random(f"{self.seed}/{place.parent_generation}/{place.parent}/{place.round}")
        proposals = [
            tuple(max(0.01, g + rng.uniform(-self.reach, self.reach)) for g in place.parent)
            for _ in range(n)
        ]
        self.drawn.append(proposals)
        return proposals


EIGHTHS = [None, *(n / 8 for n in range(-1, 10))]


def random_world(draw: random.Random) -> FiniteWorld:
    """Values in eighths, so that ties and values on the bounds are common; some undefined."""
    games = draw.randint(1, 12)
    pairs = [(s, t) for s in range(games) for t in range(games)]
    values = {(s, t): 1.0 if s == t else draw.choice(EIGHTHS) for s, t in pairs}
    return FiniteWorld(games, values, draw.getrandbits(32))


def random_settings(draw: random.Random, literal: bool) -> GrowthSettings:
    return GrowthSettings(
        alpha1=draw.randint(1, 8) / 8,
        alpha2=draw.randint(1, 5) / 8,
        generations=draw.randint(1, 4),
        list_size=draw.randint(1, 8),
        coverage_against="scope" if literal else "scope_and_pending",
        max_accepts_per_parent=draw.choice([1, 2, 3, 4, 4 if literal else None]),
        max_candidates=draw.choice([None, None, draw.randint(1, 40)]),
    )


@given(seed=st.integers(0, 2**32), literal=st.booleans())
@settings(max_examples=500, deadline=None)
def test_equals_the_transcription(seed: int, literal: bool) -> None:
    draw = random.Random(seed)  # and not drawn piece by piece, which makes small worlds mostly
    world, growth = random_world(draw), random_settings(draw, literal)
    initial = draw.sample(range(world.games), draw.randint(0, min(3, world.games)))
    steps = grow(initial, world, world, growth, seed=seed)
    scopes = [[member.game for member in scope] for scope in steps]
    assert scopes == transcription(initial, world, growth, seed)


@pytest.mark.parametrize(
    "wrong",
    [{"alpha1": 0.0}, {"alpha2": -0.1}, {"alpha2": float("nan")}, {"coverage_against": "scope"}],
)
def test_settings_under_which_growth_need_not_end_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        GrowthSettings(**{"alpha1": 0.5, "alpha2": 0.5, "generations": 1, "list_size": 1, **wrong})


@pytest.mark.parametrize(
    ("verdict", "reason"), [(Verdict.REFUSED, None), (Verdict.UNDECIDED, Reason.RIVALS_TESTED)]
)
def test_when_the_first_fails_its_test_the_next_is_tested_as_often_as_a_list_may(
    verdict: Verdict, reason: Reason | None
) -> None:
    growth = GrowthSettings(0.1, 0.01, generations=1, list_size=8, max_accepts_per_parent=1)
    oracle = ToyOracle({0: verdict, 1: verdict})
    scopes = list(grow([(0.4, 0.4)], oracle, ToySampler(1), growth, tests=2))
    assert [len(scope) for scope in scopes] == [1, 1], "none of the tests accepted"
    ranking = oracle.tested + [game for game, untested, _ in oracle.dismissed if untested]
    gammas = [value((0.4, 0.4), game) for game in ranking]
    assert len(oracle.tested) == 2 < len(ranking)
    assert gammas == sorted(gammas)
    undecided = [why for _, untested, why in oracle.dismissed if not untested]
    assert undecided == ([] if reason is None else [reason] * 2)
    oracle = ToyOracle({0: verdict})
    *_, scope = grow([(0.4, 0.4)], oracle, ToySampler(1), growth, tests=2)
    assert [member.game for member in scope[1:]] == oracle.tested[1:]
    untested = {why for _, untested, why in oracle.dismissed if untested}
    assert untested == {Reason.RIVAL_ACCEPTED}
