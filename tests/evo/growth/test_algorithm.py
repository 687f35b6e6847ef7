"""Algorithm 1 of the paper (§6.3.2) on finite worlds of exact values."""

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
from evo.growth.algorithm import AcceptanceResult, Assessment, grow
from evo.record.steps import Steps

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


@dataclass(frozen=True)
class Doubtful(FiniteWorld):
    """Λ proposes games 1 to n; the first tests have these verdicts, and all others accept."""

    verdicts: tuple[Verdict, ...] = ()
    tested: list[int] = field(default_factory=list)
    dismissed: list[tuple[int, bool, Reason]] = field(default_factory=list)

    def candidates(self, k: int, parent: int, rounds: int, n: int) -> list[int]:
        return [*range(1, n + 1)]

    def test(
        self, assessment: Assessment[int], scope: Sequence[int], doublings: int = 0
    ) -> Steps[int, AcceptanceResult]:
        yield from ()
        self.tested.append(assessment.candidate.game)
        verdict = (*self.verdicts, *[Verdict.ACCEPTED] * 8)[len(self.tested) - 1]
        return AcceptanceResult(verdict, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[int], result: AcceptanceResult | None, reason: Reason
    ) -> None:
        self.dismissed.append((assessment.candidate.game, result is None, reason))


@pytest.mark.parametrize(
    ("verdict", "reason"), [(Verdict.REFUSED, None), (Verdict.UNDECIDED, Reason.RIVALS_TESTED)]
)
def test_when_the_first_fails_its_test_the_next_is_tested_as_often_as_a_list_may(
    verdict: Verdict, reason: Reason | None
) -> None:
    gammas = {game: 3 * game % 8 / 16 for game in range(1, 9)}
    values = {(0, game): gamma for game, gamma in gammas.items()} | {(g, 0): 1.0 for g in gammas}
    settings = GrowthSettings(0.1, 0.01, generations=1, list_size=8, max_accepts_per_parent=1)
    world = Doubtful(9, values, 0, (verdict, verdict))
    scopes = list(grow([0], world, world, settings, tests=2))
    assert [len(scope) for scope in scopes] == [1, 1], "none of the tests accepted"
    ranking = world.tested + [game for game, untested, _ in world.dismissed if untested]
    assert ranking == sorted(gammas, key=gammas.__getitem__)
    assert len(world.tested) == 2
    undecided = [why for _, untested, why in world.dismissed if not untested]
    assert undecided == ([] if reason is None else [reason] * 2)
    world = Doubtful(9, values, 0, (verdict,))
    *_, scope = grow([0], world, world, settings, tests=2)
    assert [member.game for member in scope[1:]] == world.tested[1:]
    assert {why for _, untested, why in world.dismissed if untested} == {Reason.RIVAL_ACCEPTED}
