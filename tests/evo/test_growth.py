"""Algorithm 1 on the paper's toy world (§6.1.2): games are vectors, values are exact."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.growth import Assessment, GrowthSettings, Member, Place, grow, rank

Vector = tuple[float, ...]


def value(source: Vector, target: Vector) -> float:
    """V_G(G~) = Σ min(g~_i, g_i) / ‖g~‖₁ (paper §6.1.2)."""
    return sum(map(min, source, target)) / sum(target)


@dataclass
class ToyOracle:
    """Knows the values; confirms what it assessed."""

    confirms: bool = True
    asked: list[tuple[Vector, tuple[Vector, ...]]] = field(default_factory=list)

    def assess(
        self, parent: Vector, candidates: Sequence[Vector], scope: Sequence[Vector]
    ) -> list[Assessment[Vector]]:
        self.asked.append((parent, tuple(scope)))
        return [self._assessment(parent, candidate, scope) for candidate in candidates]

    def confirm(
        self, parent: Vector, ranked: Sequence[Vector], scope: Sequence[Vector]
    ) -> Assessment[Vector] | None:
        return self._assessment(parent, ranked[0], scope) if self.confirms else None

    def _assessment(
        self, parent: Vector, candidate: Vector, scope: Sequence[Vector]
    ) -> Assessment[Vector]:
        gamma = max(value(known, candidate) for known in scope)
        return Assessment(candidate, value(candidate, parent), gamma)


@dataclass
class ToySampler:
    """Points near the parent; the draw depends on where it is made."""

    seed: int
    reach: float = 0.3
    drawn: list[list[Vector]] = field(default_factory=list)

    def propose(self, place: Place[Vector], scope: Sequence[Vector], n: int) -> list[Vector]:
        rng = random.Random(f"{self.seed}/{place.generation}/{place.parent}/{place.round}")
        listed = [
            tuple(max(0.01, g + rng.uniform(-self.reach, self.reach)) for g in place.parent)
            for _ in range(n)
        ]
        self.drawn.append(listed)
        return listed


def literal(
    initial: list[Vector], sampler: ToySampler, settings: GrowthSettings
) -> list[list[Vector]]:
    """Algorithm 1 as printed, slowly, with γ over Σ_k and Ω_k."""
    scopes, newest = [list(initial)], list(initial)
    for k in range(settings.generations):
        sigma, omega = scopes[-1], []
        random.Random(f"{settings.seed}/order/{k}").shuffle(newest)
        for parent in newest:
            rounds = 0
            while True:
                known = sigma + omega
                listed = sampler.propose(Place(k, parent, rounds), known, settings.list_size)
                helping = [g for g in listed if value(g, parent) >= settings.alpha1]
                gammas = {g: max(value(other, g) for other in known) for g in helping}
                best = min(helping, key=lambda g: gammas[g], default=None)
                if best is None or gammas[best] > 1 - settings.alpha2:
                    break
                omega.append(best)
                rounds += 1
        scopes.append(sigma + omega)
        newest = omega
        if not omega:
            break
    return scopes


vectors = st.tuples(*[st.floats(0.05, 1.0)] * 3)


@given(
    initial=st.lists(vectors, min_size=1, max_size=3, unique=True),
    alpha1=st.floats(0.3, 0.9),
    alpha2=st.floats(0.1, 0.4),
    list_size=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_equals_the_literal_algorithm(
    initial: list[Vector], alpha1: float, alpha2: float, list_size: int, seed: int
) -> None:
    settings = GrowthSettings(alpha1, alpha2, generations=3, list_size=list_size, seed=seed)
    grown = list(grow(initial, ToyOracle(), ToySampler(seed), settings))
    assert [[m.game for m in scope] for scope in grown] == literal(
        initial, ToySampler(seed), settings
    )


def test_accepted_games_help_their_parent_and_are_new() -> None:
    settings = GrowthSettings(0.6, 0.2, generations=4, list_size=4, seed=3)
    *_, scope = grow([(0.4, 0.4, 0.4)], ToyOracle(), ToySampler(3), settings)
    accepted = [member for member in scope if member.parent is not None]
    assert accepted
    for place, member in enumerate(scope):
        if member.parent is None:
            continue
        earlier = [other.game for other in scope[:place]]
        assert value(member.game, member.parent) >= 0.6
        assert member.gamma == max(value(g, member.game) for g in earlier) <= 0.8


def test_what_is_not_confirmed_is_not_accepted() -> None:
    settings = GrowthSettings(0.6, 0.2, generations=3, list_size=4)
    grown = list(grow([(0.4, 0.4)], ToyOracle(confirms=False), ToySampler(0), settings))
    assert grown == [[Member((0.4, 0.4), 0)], [Member((0.4, 0.4), 0)]]


def test_literal_coverage_looks_at_the_scope_only() -> None:
    oracle = ToyOracle()
    settings = GrowthSettings(
        0.5, 0.2, 1, list_size=4, coverage_against="scope", max_accepts_per_parent=2
    )
    (*_, last) = grow([(0.4, 0.4)], oracle, ToySampler(1), settings)
    assert len(last) == 3
    assert all(scope == ((0.4, 0.4),) for _, scope in oracle.asked)


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_budget_of_candidates_is_kept(budget: int) -> None:
    sampler = ToySampler(2)
    settings = GrowthSettings(0.1, 0.05, 9, list_size=2, max_candidates=budget)
    list(grow([(0.4, 0.4, 0.4)], ToyOracle(), sampler, settings))
    assert 0 < sum(map(len, sampler.drawn)) <= budget


def test_those_that_help_are_ranked_by_gamma() -> None:
    listed = [
        Assessment("useless", 0.1, 0.0),
        Assessment("near", 0.9, 0.7),
        Assessment("new", 0.5, 0.2),
        Assessment("undefined", None, 0.0),
        Assessment("copy", 0.9, 0.81),
        Assessment("alone", 0.9, None),
    ]
    assert rank(listed, 0.3, 0.2) == ["alone", "new", "near"]
