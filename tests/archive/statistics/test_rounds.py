"""Definitions 30, 33 and 42, by exact examples and by their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st

from archive.statistics import measure, rounds
from archive.statistics.intervals import Interval

LEVELS = rounds.ScoreLevels(b=2.0, theta=0.5, m=4, rounds=12, samples=20, k_m=10)
"""b + mθ = 4."""


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 10**6))
def test_arms_never_falls_and_begins_at_the_mean(n: int, k: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n, k))
    curve = rounds.arms(scores)
    assert curve[0] == pytest.approx(scores[:, 0].mean())
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] == pytest.approx(scores.max(axis=1).mean())


@given(st.integers(1, 8), st.integers(2, 12), st.integers(1, 6), st.integers(0, 10**6))
def test_the_base_itself_has_m_at_k_m(n: int, k: int, m: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n, k))
    levels = rounds.thresholds(scores, m)
    assume(levels is not None)
    assert levels is not None
    assert rounds.narms(rounds.arms(scores), levels, levels.k_m) == pytest.approx(m)
    assert rounds.narms(rounds.arms(scores), levels, 1) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("top_score", "value"), [(2.0, 0), (2.5, 1), (3.25, 2.5), (4.0, 4), (1, -2)]
)
def test_a_player_that_did_not_outpace_the_base(top_score: float, value: float) -> None:
    rising_curve = np.minimum(np.linspace(0, 4, 10), top_score)
    rising_curve[-1] = top_score
    assert rounds.narms(rising_curve, LEVELS, LEVELS.k_m) == pytest.approx(value)


JOINTS = {
    "the last round reaches the top": ([2, 3, 4.0], 2),
    "round τ reaches the top": ([2, 4.0, 5], 1),
    "round τ + 1 falls to the top": ([2, 3, 4.0, 5], 2),
    "round 1 reaches the top": ([4.0, 5, 6], 0),
    "one round": ([4.0], 0),
}


@pytest.mark.parametrize("joint", JOINTS)
def test_narms_is_continuous_at_its_joints(joint: str) -> None:
    values, places = JOINTS[joint]
    there = rounds.narms(np.array(values, float), LEVELS, len(values))
    for step in (1e-7, -1e-7):
        shifted_curve = np.array(values, float)
        shifted_curve[places] += step
        assert rounds.narms(shifted_curve, LEVELS, len(values)) == pytest.approx(there, abs=1e-5)


def test_between_two_rounds_narms_is_affine() -> None:
    """λ = ½ between τ = 2 and 3, and mℓ = 16."""
    assert rounds.narms(np.array([2, 3, 5, 6.0]), LEVELS, 4) == pytest.approx((16 / 2 + 16 / 3) / 2)


@given(st.lists(st.floats(0, 8), min_size=1, max_size=10), st.integers(0, 9), st.floats(1e-3, 2))
def test_a_higher_curve_has_no_smaller_narms(values: list[float], place: int, more: float) -> None:
    low = np.maximum.accumulate(values)
    high = low.copy()
    high[place:] += more
    assert rounds.narms(high, LEVELS, len(low)) >= rounds.narms(low, LEVELS, len(low)) - 1e-9


def test_increasing_scores_are_playable_and_constant_ones_are_not() -> None:
    rising_curves = np.tile(np.arange(5.0), (40, 1))
    assert rounds.increases_surely(rising_curves, m=3).low >= 0.95
    assert rounds.crosses_surely(rising_curves, 0, 1, 4).low >= 0.95
    # θ so small that one step passes two levels at once: no m different rounds
    assert rounds.crosses_surely(rising_curves, 0, 0.5, 4).high < 0.95
    assert rounds.crosses_surely(rising_curves, 0, 1, 5).high < 0.95, "the fifth is not reached"
    least = 1 - 3 * (1 - (0.05 / 3) ** (1 / 40))  # three steps share the error
    assert rounds.increases_surely(rising_curves, m=3, samples=1).low == pytest.approx(least)
    flat = np.zeros((40, 5))
    assert rounds.increases_surely(flat, m=3, samples=1).high < 0.95
    assert rounds.crosses_surely(flat, 0, 1, 4).high < 0.95


def test_increases_surely_bounds_the_probability_that_it_is_about() -> None:
    """Independent scores: round k + 1 is a record with probability 1/(k + 1)."""
    draw = np.random.default_rng(1)
    m, n = 4, 12
    best = np.maximum.accumulate(draw.normal(size=(4000, n, m + 1)), axis=2)
    fresh = (np.diff(best, axis=2) > 0).any(axis=1).all(axis=1).mean()
    hits = 0
    for _ in range(200):
        bounds = rounds.increases_surely(draw.normal(size=(60, m + 1)), m, samples=n)
        hits += bounds.low <= fresh <= bounds.high
    assert hits >= 0.95 * 200


def test_crosses_surely_agrees_with_fresh_samples() -> None:
    draw = np.random.default_rng(2)
    n = 200

    def sample() -> np.ndarray:
        return np.arange(6.0) + draw.normal(scale=3, size=(n, 6))

    b, levels = 0.0, 1.6 * np.arange(1, 4)
    reached = [rounds.arms(sample())[:, None] >= levels for _ in range(300)]
    fresh = np.mean([each[-1].all() and len({*each.argmax(0)}) == 3 for each in reached])
    estimate = np.mean([rounds.crosses_surely(sample(), b, 1.6, 3).low for _ in range(8)])
    assert estimate == pytest.approx(fresh, abs=0.1)


def test_narms_jumps_where_arms_is_flat_at_the_top_level() -> None:
    """It is continuous as τ changes by a round, not as τ skips the rounds of a flat part."""
    levels = rounds.ScoreLevels(b=0.0, theta=1.0, m=4, rounds=8, samples=1, k_m=8)
    flat = np.array([1, 2, 3, 4, 4, 4, 4, 4], float)
    assert rounds.narms(flat, levels, 8) == 4.0
    assert rounds.narms(flat + 1e-6 * (np.arange(8) > 3), levels, 8) == pytest.approx(8.0)


def test_a_map_is_stable_if_one_of_its_best_moves_stays_the_best_under_clipping() -> None:
    """The moves of the third map score alike, which tells nothing."""
    scores = np.array([[5, 5, 1], [5, 4, 1], [3, 3, 3.0]])
    clipped_scores = np.array([[1, 4, 1], [1, 4, 1], [3, 3, 3.0]])
    assert rounds.best_kept(scores, clipped_scores) == (2, 1)


def measure_of(scores: np.ndarray) -> measure.XentMeasure:
    return measure.xent_measure(scores, scores[:, None])


@pytest.mark.parametrize("games", [3, 12])
def test_bounds_of_a_measure_cover_it_as_often_as_they_say(games: int) -> None:
    samples = np.random.default_rng(0).normal(1, 1, (300, games))
    found = [measure_of(scores) for scores in samples]
    means, medians = zip(*((each.mean, each.quantiles[0.5]) for each in found), strict=True)
    hits = np.array([[each.low <= 1 <= each.high for each in of] for of in (means, medians)])
    assert hits[0].mean() == pytest.approx(0.95, abs=0.03)
    assert hits[1].mean() >= 0.93


def test_bounds_of_few_games_are_open_and_of_equal_ones_not_narrower_than_over_maps() -> None:
    assert measure_of(np.ones(1)).mean.high == np.inf, "one game tells nothing of others"
    assert measure_of(np.arange(5.0)).quantiles[0.5].low == -np.inf, "1/16 lies outside"
    assert measure_of(np.arange(6.0)).quantiles[0.5] == Interval(2.5, 0, 5)
    over_maps = np.tile(np.linspace(0, 2, 101), (6, 1))
    alike = measure.xent_measure(np.ones(6), over_maps)
    for bounds in (alike.mean, alike.quantiles[0.5]):
        assert (bounds.low, bounds.high) == pytest.approx((0.05, 1.95))


BITS = st.floats(-100, 100, allow_nan=False)


@given(st.lists(st.tuples(BITS, BITS), min_size=2, max_size=12), BITS)
@example([(0.0, 1.0), (2.2250738585e-313, -1.0)], 0.0)
def test_bounds_hold_the_share_wherever_it_is_defined(
    pairs: list[tuple[float, float]], b: float
) -> None:
    scores = np.array([min(pair) for pair in pairs])
    best = np.array([max(pair) for pair in pairs])
    gap = measure.ceiling_gap(scores, best, b, 0.95)
    assert gap.bits >= 0
    if gap.share.value is not None:
        assert gap.share.value <= 1 + 1e-9
        assert gap.share.low <= gap.share.high or math.isinf(gap.share.low)
    at_best = measure.ceiling_gap(best, best, b, 0.95).share
    assert math.isinf(at_best.low) or (at_best.low, at_best.high) == pytest.approx((1, 1))


def test_of_equal_moves_the_first_are_known_as_best_and_of_later_rounds_none_counts() -> None:
    facts = {"map_seed": 3, "play_seed": 1, "policy_id": "p", "control": False}
    plays = [
        facts | {"round": n, "score": score, "outcome": "finished", "moves": [str(n)]}
        for n, score in ((3, 9.0), (1, 5.0), (2, 5.0))
    ]
    assert measure.best_known([], plays[1:]) == {(3, 1): (5.0, "p", ("1",))}
    assert measure._first_and_best([*plays, plays[0] | {"policy_id": "q"}], "p", 3) == {
        (3, 1): (5, 9)
    }
    assert measure._first_and_best(plays, "p", 2) == {(3, 1): (5, 5)}
