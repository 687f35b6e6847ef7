"""What was learned beyond every script: by hand, and under the luck of the best of many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archive.plays import Plays
from archive.schema import GainKind, Reason, Verdict
from archive.statistics.intervals import Interval, mean_interval
from archive.statistics.scripts import compare, contenders, headroom


def sample(own: object, permuted_scores: object = 0.0) -> Plays:
    scores = np.asarray(own, float)
    seeds = np.array([(10 + index, index) for index in range(len(scores))])
    return Plays(seeds, scores, np.broadcast_to(np.asarray(permuted_scores, float), scores.shape))


def test_headroom_is_what_looking_at_the_map_is_worth() -> None:
    """The best script earns 6 bits a play; with its moves of other maps 1, and another one 2."""
    scripts = [sample([5, 7, 6, 6], [1, 1, 0, 2]), sample([3, 3, 1, 1], [2, 2, 2, 2])]
    result = headroom(scripts)
    assert result.bits == pytest.approx(6 - 2)
    assert result.low == pytest.approx(mean_interval(np.array([3.0, 5, 4, 4]), 0.9).low)
    assert result.refusal(4.0) is None
    refusal = result.refusal(4.5)
    assert refusal is not None
    assert (refusal.reason, refusal.verdict) == (Reason.NO_HEADROOM, Verdict.REFUSED)
    assert refusal.detail == "4.0 bits, transfer.headroom asks for 4.5"


FIVE_SCORES = st.lists(st.integers(-20, 20), min_size=5, max_size=5)


@given(st.lists(st.tuples(FIVE_SCORES, FIVE_SCORES), min_size=1, max_size=6))
def test_the_best_script_of_each_kind_is_a_contender(
    scores: list[tuple[list[int], list[int]]],
) -> None:
    scripts = {str(i): sample(*own_and_permuted) for i, own_and_permuted in enumerate(scores)}
    best = {max(scripts, key=lambda name: scripts[name].kind(kind).mean()) for kind in GainKind}
    assert best <= {*contenders(scripts)}


def test_what_is_about_the_map_has_a_best_script_of_its_own() -> None:
    base, policy = sample([0, 0, 0]), sample([6, 6, 6], 1)
    scripts = {"script:a": sample([5, 5, 5], 5), "script:b": sample([4, 4, 4], 0)}
    result = compare([policy], scripts, base, 0.95)
    assert result.best == "script:a"
    assert (result.total, result.specific) == (Interval(1, 1, 1), Interval(5 - 4, 1, 1))
    better = sample([9, 6, 7], 1)
    lead = mean_interval(better.own - scripts["script:a"].own, 1 - 2 * 0.05 / 4)
    assert compare([better], scripts, base, 0.95).total.high == pytest.approx(lead.high)
    worse = {"script:c": sample([3, 3, 3], 0)}
    assert contenders(scripts | worse) == [*scripts]


def test_bounds_hold_though_the_best_of_eight_is_chosen_on_the_same_plays() -> None:
    """Eight scripts that all earn what the fine-tune earns: it is beyond none of them."""
    rng, trials = np.random.default_rng(7), 600
    beyond = wrong_high = 0
    for _ in range(trials):
        luck = rng.normal(0, 8, 32)
        policy, *others = (sample(luck + rng.normal(0, 5, 32)) for _ in range(9))
        scripts = {f"script:{k}": each for k, each in enumerate(others)}
        result = compare([policy], scripts, policy, 0.95)
        beyond += result.total.low > 0
        wrong_high += result.total.high < 0
    assert beyond / trials <= 0.05
    assert wrong_high / trials <= 0.05


def test_one_good_script_among_bad_ones_is_met_at_the_stated_rate() -> None:
    """The lower bound spends no error on scripts that nobody takes for the best."""
    rng, trials = np.random.default_rng(8), 800
    beyond = 0
    for _ in range(trials):
        policy, good = (sample(rng.normal(0, 5, 32)) for _ in range(2))
        bad = {f"script:{k}": sample(rng.normal(-30, 5, 32)) for k in range(7)}
        beyond += compare([policy], {"script:good": good, **bad}, policy, 0.95).total.low > 0
    assert 0.03 < beyond / trials < 0.07


@given(FIVE_SCORES, FIVE_SCORES)
def test_what_is_earned_blindly_is_no_headroom(first: list[int], second: list[int]) -> None:
    """Scripts that earn the same with whatever moves; silence earns nothing."""
    assert headroom([sample(bits, bits) for bits in (first, second, [0] * 5)]).bits == 0
