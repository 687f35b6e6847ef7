"""The two orders of a growth on finite worlds with exact values."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from support.algorithm1 import FiniteWorld, transcription
from support.open_world import (
    Bench,
    Killed,
    OpenWorld,
    Work,
    growth,
    random_settings,
    random_world,
    scope_games,
)

from archive import Reason, Verdict
from evo.config.schema import GrowthConfig, GrowthSettings
from evo.growth.algorithm import AcceptanceResult, Assessment, Place, grow
from evo.growth.forecast import Forecast
from evo.growth.open_ended import End, OpenEnded, draw_parent, yield_bound
from evo.growth.virtual_order import Steps, VirtualOrder

Grown = OpenEnded[int, Assessment[int], Work]
ENDLESS: dict[str, Any] = {"max_candidates": None, "max_accepted": None, "least_yield": 0.0}
ORDINARY = GrowthConfig(list_size=4, lookahead=2, examined_share=1.0, **ENDLESS)
TESTS = (1, 3, 100)
"""Acceptance tests that a list may pay for."""


def world_of(run: Grown) -> OpenWorld:
    assert isinstance(run.oracle, OpenWorld)
    return run.oracle


@given(seed=st.integers(0, 2**32))
@settings(max_examples=80)
def test_accepted_games_help_their_parent_and_are_new_to_all_before(seed: int) -> None:
    draw = random.Random(seed)  # and not drawn piece by piece, which makes small worlds mostly
    bench, tests = Bench(width=draw.choice([1, 3])), draw.choice(TESTS)
    run = growth(random_world(draw), random_settings(draw), bench, tests)
    scopes, world = list(scope_games(run)), world_of(run)
    for place, member in enumerate(run.members):
        if member.parent is None:
            continue
        earlier = run.members[:place]
        assert world.helps(member.game, member.parent)
        [parent] = [each for each in earlier if each.game == member.parent]
        assert member.generation == parent.generation + 1
        values = [world.values[each.game, member.game] or 0.0 for each in earlier]
        assert max(values) == member.gamma
        assert max(values) <= 1 - world.alpha2
    assert all(after[: len(before)] == before for before, after in pairwise(scopes))
    assert [len(scope) for scope in scopes] == list(range(1, len(run.members) + 1))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=80)
def test_nothing_that_was_learned_is_thrown_away(seed: int) -> None:
    draw = random.Random(seed)
    world = replace(random_world(draw), stubborn={}, unlikely=frozenset())
    growth_settings = replace(random_settings(draw), max_accepted=None)
    run = growth(world, growth_settings, Bench())
    *_, scope = scope_games(run)
    run_world = world_of(run)
    assert set(run_world.decided) == set(run_world.proposed), "every candidate has its decision"
    for game in set(run_world.proposed) - set(scope) - run_world.hopeless:
        is_covered = (
            max(run_world.values[member, game] or 0.0 for member in scope) > 1 - run_world.alpha2
        )
        useless = not any(run_world.helps(game, member) for member in scope)
        early = run_world.decided[game] in ("helps none", "passed over")  # before it could be known
        assert is_covered or useless or early


@given(seed=st.integers(0, 2**32), kills=st.lists(st.integers(0, 12), min_size=1, max_size=12))
@settings(max_examples=40)
def test_killed_at_any_commit_it_takes_the_same_course(seed: int, kills: list[int]) -> None:
    draw = random.Random(seed)
    world, growth_settings = random_world(draw), random_settings(draw)
    width, tests = draw.choice([1, 3]), draw.choice(TESTS)
    whole = growth(world, growth_settings, bench := Bench(width=width), tests)
    scopes = list(scope_games(whole))
    archive: list[tuple[Work, ...]] = []
    for patience in kills:
        try:
            killed = Bench(archive, patience, width)
            list(scope_games(growth(world, growth_settings, killed, tests)))
        except Killed:
            continue
    last_run = growth(world, growth_settings, again := Bench(archive, None, width), tests)
    assert list(scope_games(last_run)) == scopes
    assert again.course == bench.course
    assert world_of(last_run).decided == world_of(whole).decided
    assert list(world_of(last_run).decided) == list(world_of(whole).decided), "in the same order"
    assert last_run.end is whole.end


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_no_worker_waits_while_lists_can_be_opened(seed: int) -> None:
    draw = random.Random(seed)
    alike = _Alike(draw.choice([0.0, 1.0]))
    world = replace(random_world(draw), games=60, values=alike, hopeless=frozenset())
    growth_settings = replace(random_settings(draw), **ENDLESS)
    run = growth(world, growth_settings, bench := Bench(), draw.choice(TESTS))
    list(scope_games(run))
    assert run.end is End.PROPOSALS
    start, *lessons = (n for n, each in enumerate(bench.course) if each[0][0] == "learn")
    late = run.settings.lookahead + run.settings.list_size
    end = [start, *lessons][max(0, len(lessons) - late)]
    busy = bench.offered[start + 1 : end] or [60]
    assert min(busy) > run.settings.lookahead


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_game_without_a_list_gets_the_next_one_the_newest_first(seed: int) -> None:
    draw = random.Random(seed)
    scopes: list[tuple[int, ...]] = []

    @dataclass
    class Watched(OpenWorld):
        def propose(self, place: Place[int], scope: Sequence[int], n: int) -> list[int]:
            explored = set(self.parents)
            if unexplored := [game for game in scope if game not in explored]:
                assert place.parent == unexplored[-1]
            scopes.append(tuple(scope))
            return super().propose(place, scope, n)

    world, growth_settings = random_world(draw), replace(random_settings(draw), max_accepted=None)
    run = growth(Watched(**vars(world)), growth_settings, Bench(width=3), draw.choice(TESTS))
    list(scope_games(run))
    assert scopes


@pytest.mark.parametrize("unplayable", ["stop", "keep"])
def test_the_first_list_is_screened_while_the_initial_game_is_learned(unplayable: str) -> None:
    settings = replace(ORDINARY, virtual_workers=2, unplayable_initial=unplayable)
    run = growth(pair_world(), settings, bench := Bench())
    *_, scope = scope_games(run)
    works = [each for group in bench.course for each in group]
    learned = works.index(("learn", 0))
    screened = [("screen", game) for game in world_of(run).proposed[:4]]
    assert works[:learned] == (screened if unplayable == "stop" else [])
    assert sorted(scope) == [*range(9)]


@pytest.mark.parametrize("left_out", [0, 1])
def test_initial_games_that_are_not_learned_are_not_of_the_scope(left_out: int) -> None:
    world = pair_world(hopeless=frozenset({left_out}))
    settings = replace(ORDINARY, unplayable_initial="keep")
    run = growth(world, settings, Bench(), initial=(0, 1))
    first, *_ = scope_games(run)
    assert first == [1 - left_out]
    assert left_out not in run.games


def test_a_promising_candidate_is_learned_before_the_rest_of_its_list_is_screened() -> None:
    world = pair_world(hopeless=frozenset({3, 5}))
    settings = replace(ORDINARY, list_size=4, lookahead=1, virtual_workers=1)
    run = growth(world, settings, bench := Bench())
    *_, scope = scope_games(run)
    works = [each for group in bench.course for each in group]
    run_world = world_of(run)
    for first in range(0, len(run_world.proposed), 4):
        batch = run_world.proposed[first : first + 4]
        for game, other in pairwise(batch):
            if game not in world.hopeless:
                assert works.index(("learn", game)) < works.index(("screen", other))
    assert sorted(scope) == [0, 1, 2, 4, 6, 7, 8]
    assert {game for game, how in run_world.decided.items() if how == "hopeless"} == {3, 5}


@given(seed=st.integers(0, 2**32), limit=st.integers(1, 3))
@settings(max_examples=50)
def test_a_run_that_ends_at_so_many_games_goes_on_as_if_it_had_not(seed: int, limit: int) -> None:
    draw = random.Random(seed)
    world, growth_settings = random_world(draw), replace(random_settings(draw), max_accepted=None)
    tests = draw.choice(TESTS)
    scopes = list(scope_games(growth(world, growth_settings, whole := Bench(), tests)))
    limited = replace(growth_settings, max_accepted=limit)
    part = growth(world, limited, bench := Bench(), tests)
    assert list(scope_games(part)) == scopes[: limit + 1]
    assert (part.end is End.ACCEPTED) == (len(scopes) > limit)
    rest = growth(world, growth_settings, again := Bench(bench.course), tests)
    assert list(scope_games(rest)) == scopes
    assert again.course == whole.course


UNPROMISING = {game: Forecast(1.0, 0.9 - game / 100) for game in range(1, 7)}
USELESS = {7: Forecast(0.1, 0.0), 8: Forecast(0.2, 0.1)}


@pytest.mark.parametrize("list_size", [8, 4, 3, 2])
def test_of_every_second_list_without_promise_and_of_the_last_one_the_closest_is_examined(
    list_size: int,
) -> None:
    run = growth(
        pair_world(expected=UNPROMISING | USELESS),
        replace(ORDINARY, list_size=list_size, lookahead=1, examined_share=0.8, max_candidates=8),
        bench := Bench(),
    )
    list(scope_games(run))
    run_world = world_of(run)
    batches = [run_world.proposed[n : n + list_size] for n in range(0, 8, list_size)]
    seconds_and_last = [*batches[1:-1:2], batches[-1]]
    expected = [
        min(each, key=lambda game: run_world.expected[game].order) for each in seconds_and_last
    ]
    lessons = [each[1] for group in bench.course for each in group if each[0] == "learn"]
    assert lessons == [0, *expected]
    assert list(run_world.decided.values()).count("passed over") == 8 - len(expected)


def test_a_list_of_which_nothing_can_be_played_is_dull_too() -> None:
    """With lists of one game; the next one that can be played is examined."""
    world = replace(pair_world(expected=UNPROMISING | USELESS), hopeless=frozenset({2, 3, 5, 8}))
    settings = replace(ORDINARY, list_size=1, lookahead=1, examined_share=0.8, max_candidates=8)
    run = growth(world, settings, bench := Bench())
    list(scope_games(run))
    dull, expected = 0, []
    for game in (proposed := world_of(run).proposed):
        dull += 1
        if game not in world.hopeless and (dull >= 2 or game == proposed[-1]):
            expected.append(game)
            dull = 0
    lessons = [each[1] for group in bench.course for each in group if each[0] == "learn"]
    assert lessons == [0, *expected]


class _Alike(dict[tuple[int, int], float]):
    """Every game has the same value for every other."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, pair: tuple[int, int]) -> float:
        return self.value


@given(seed=st.integers(0, 2**32))
@settings(max_examples=80)
def test_a_list_pays_for_so_many_tests_and_a_run_for_so_many_candidates(seed: int) -> None:
    draw = random.Random(seed)
    growth_settings = random_settings(draw)
    run = growth(random_world(draw), replace(growth_settings, list_size=100), Bench(), tests=3)
    list(scope_games(run))
    assert len(world_of(run).tests) <= 3 * len(run._lists)
    limited = replace(growth_settings, max_candidates=5)
    other = growth(random_world(draw), limited, Bench(), draw.choice(TESTS))
    list(scope_games(other))
    assert len(world_of(other).proposed) <= 5


def pair_world(**changes: object) -> OpenWorld:
    """Game 0, and others that help it and are new to everything."""
    values = {(s, t): 1.0 if t == 0 or s == t else 0.0 for s in range(9) for t in range(9)}
    return replace(OpenWorld(9, values, 0.5, 0.25, 0), **changes)  # type: ignore[arg-type]


def test_a_sibling_is_measured_against_the_new_game_only() -> None:
    run = growth(pair_world(games=3), ORDINARY, bench := Bench())
    *_, scope = scope_games(run)
    second, third = scope[1:]
    works = [each for group in bench.course for each in group]
    assert works.count(("play", second, third)) == 1
    assert works.count(("play", 0, third)) == 1
    assert works.count(("learn", third)) == 1


@pytest.mark.parametrize(("power", "tests"), [(0.0, 1), (0.04, 1), (1.0, 3)])
def test_undecided_ones_are_played_on_while_that_may_accept(power: float, tests: int) -> None:
    world = pair_world(games=2, stubborn={1: 2}, power=power)
    run = growth(world, ORDINARY, Bench())
    *_, scope = scope_games(run)
    assert world_of(run).tests == [(1, attempt) for attempt in range(tests)]
    assert (1 in scope) == (tests == 3)


def test_more_plays_wait_where_new_lists_are_the_cheaper_way() -> None:
    world = pair_world(stubborn=dict.fromkeys(range(9), 1), tokens=400)
    dear, cheap = (growth(replace(world, power=power), ORDINARY, Bench()) for power in (0.06, 1.0))
    for run in (dear, cheap):
        *_, scope = scope_games(run)
        assert len(scope) == 9, "in the end there is no other way left"
    assert world_of(dear).tests[1][1] == 0, "the next candidate first"
    assert world_of(cheap).tests[1][1] == 1, "the same again at once"


def test_it_ends_when_the_yield_is_surely_small() -> None:
    world = replace(pair_world(), games=4000, values=_Alike(0.0))
    run = growth(world, replace(ORDINARY, least_yield=20.0), bench := Bench())
    assert list(scope_games(run)) == [[0]]
    assert run.end is End.YIELD
    hours = run.order.total_cost.seconds / 3600
    assert 2.996 / 20 < hours < 2.996 / 20 + 60 / 3600
    assert len(bench.course) == run.order.total_cost.seconds


@pytest.mark.parametrize(
    ("times", "now", "least", "bound"),
    [
        ([], 0.0, 1.0, float("inf")),
        ([], 1.0, 1.0, 2.9957),
        ([], 3.0, 1.0, 0.99858),
        ([6.0, 6.5], 7.0, 1.0, 1.0),
    ],
)
def test_the_bound_is_garwoods(times: list[float], now: float, least: float, bound: float) -> None:
    assert yield_bound(times, now, least) == pytest.approx(bound, rel=1e-3)


@given(st.floats(0.01, 10.0))
def test_two_games_in_its_window_end_no_run(least: float) -> None:
    now = 1000.0 / least
    assert yield_bound([now, now], now, least) == least


def test_the_prior_rate_is_the_runs_with_games_that_yielded_nothing() -> None:
    """A game with 9,000 refused candidates, of which no list comes any more, lowers what others are
    expected to yield, so that one with an accepted candidate stands out."""
    accepted, decided = {1: 1}, {0: 9000, 1: 1}
    drawn = [draw_parent((1, 2), accepted, decided, number) for number in range(50)]
    assert set(drawn) == {1}
    accepted, decided = {1: 50, 2: 40}, {1: 50, 2: 50}
    assert {draw_parent((1, 2), accepted, decided, number) for number in range(50)} == {1}


def chain(name: str, length: int) -> Steps[Work, None]:
    """A process that needs one work after the other."""
    for number in range(length):
        yield [(name, number)]


def nothing() -> Iterator[None]:
    yield from ()


def course(workers: int, *chains: tuple[str, int, int], joined_most: int = 1) -> list[str]:
    """Which process's works were finished, of chains of (name, length, class of urgency); works
    named ``learn`` take ten times as long as others, and so many of them are done together."""
    bench = Bench(joined_most=joined_most)
    order = VirtualOrder[Work](bench, workers)
    for index, (name, length, urgency) in enumerate(chains):
        order.start(chain(name, length), (urgency, index))
    list(order.run(nothing))
    return ["+".join(str(work[0]) for work in one) for one in bench.course]


def test_one_at_a_time_the_most_urgent_goes_first() -> None:
    assert course(1, ("learn", 1, 3), ("test", 2, 0)) == ["test", "test", "learn"]
    assert course(1, ("a", 2, 1), ("b", 2, 1)) == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("workers", "most", "expected"),
    [
        (1, 2, ["learn+learn", "play", "play", "play", "learn"]),
        (1, 4, ["play", "play", "play", "learn+learn+learn"]),
        (2, 4, ["play", "play", "play", "learn+learn", "learn"]),
        (3, 4, ["play", "play", "play", "learn", "learn", "learn"]),
    ],
)
def test_works_that_share_passes_wait_for_one_another_while_there_is_other_work(
    workers: int, most: int, expected: list[str]
) -> None:
    """They fill the passes of one worker, but leave none without work."""
    lessons = [(f"learn {number}", 1, 1) for number in range(3)]
    plays = [(f"play {number}", 1, 2) for number in range(3)]
    steps = course(workers, *lessons, *plays, joined_most=most)
    assert [re.sub(r" \d", "", step) for step in steps] == expected


def test_a_full_pass_waits_for_what_is_more_urgent() -> None:
    lessons = [(f"learn {number}", 1, 2) for number in range(2)]
    assert course(1, *lessons, ("test", 1, 0), joined_most=2)[0] == "test"


# -- Algorithm 1 of the paper (§6.3.2) on finite worlds of exact values ----------------------------

EIGHTHS = [None, *(n / 8 for n in range(-1, 10))]


def finite_world(draw: random.Random) -> FiniteWorld:
    """Values in eighths, so that ties and values on the bounds are common; some undefined."""
    games = draw.randint(1, 12)
    pairs = [(s, t) for s in range(games) for t in range(games)]
    values = {(s, t): 1.0 if s == t else draw.choice(EIGHTHS) for s, t in pairs}
    return FiniteWorld(games, values, draw.getrandbits(32))


def algorithm_settings(draw: random.Random, literal: bool) -> GrowthSettings:
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
@settings(max_examples=500)
def test_equals_the_transcription(seed: int, literal: bool) -> None:
    draw = random.Random(seed)  # and not drawn piece by piece, which makes small worlds mostly
    world, growth = finite_world(draw), algorithm_settings(draw, literal)
    initial = draw.sample(range(world.games), draw.randint(0, min(3, world.games)))
    steps = grow(initial, world, world, growth, seed=seed)
    scopes = [[member.game for member in scope] for scope in steps]
    assert scopes == transcription(initial, world, growth, seed)


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
    settings = GrowthSettings(
        alpha1=0.1, alpha2=0.01, generations=1, list_size=8, max_accepts_per_parent=1
    )
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
