"""What is expected of a candidate; the chance of an acceptance test, against tests played out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy import stats

from archive.schema import DecisionRule, Definition, GainKind, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.rule import Evidence, Looks, OwnGain, Thresholds
from evo.growth.forecast import LEAST_WORTH, expected_coverage, expected_help, power
from evo.growth.open_ended import draw_parent

leads = st.lists(st.floats(-20, 20), min_size=3, max_size=3)
leads_by_script = leads.map(lambda each: dict(zip("abc", each, strict=True)))


@given(leads_by_script, st.lists(leads_by_script, min_size=1, max_size=4), leads_by_script)
def test_another_game_of_the_scope_can_only_raise_the_expected_help(
    own: dict[str, float], on_scope: list[dict[str, float]], more: dict[str, float]
) -> None:
    assert expected_help(own, on_scope) <= expected_help(own, [*on_scope, more]) <= 1


@given(leads, leads)
def test_expected_coverage_is_a_share_of_the_most_that_anybody_gains(
    own: list[float], others: list[float]
) -> None:
    coverage = expected_coverage(own, others)
    assert coverage <= 1
    assert coverage * max(*own, *others, LEAST_WORTH) == pytest.approx(max(others))


def test_the_parent_that_yielded_more_is_drawn_more_often_and_no_other_dies_out() -> None:
    """One that was not tried has the mean rate of the run."""
    decided = {"a": 22, "b": 22}
    counts = Counter(draw_parent("abc", {"a": 8}, decided, 0, number) for number in range(1000))
    assert counts["a"] > counts["c"] > counts["b"] > 0


SELECTION = Looks((32, 96), 0.05)
TEST = Looks((96, 192), 0.01)
VALUES = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, DecisionRule.VALUES)
PARENT = TaskId("parent", "player")
CERTAIN = Interval(10.0, 9.0, 11.0)
CERTAINLY_NEW = Interval(0.0, -0.1, 0.1)


def quantile(looks: Looks) -> float:
    return float(stats.norm.ppf(looks.confidence(looks.plays[-1])))


def estimate(value: float, spread: float, looks: Looks = SELECTION) -> Interval:
    """The bounds of an estimate with this standard error at the last look."""
    return Interval(value, value - quantile(looks) * spread, value + quantile(looks) * spread)


def evidence(captured_share: Interval, scope_value: Interval, looks: Looks = SELECTION) -> Evidence:
    return Evidence(
        looks=looks,
        own=OwnGain(gain=CERTAIN, total=CERTAIN),
        values=Evidence().values._replace(captured=captured_share),
        scope_values={PARENT: scope_value},
    )


@given(value=st.floats(0.2, 0.8), spread=st.floats(0.02, 0.3))
def test_a_first_test_accepts_as_often_as_is_foretold(value: float, spread: float) -> None:
    """Truth is drawn around what selection saw, and a test of fresh plays around the truth."""
    chance = power(evidence(estimate(value, spread), CERTAINLY_NEW), VALUES, TEST, is_fresh=True)
    rng, fresh = np.random.default_rng(0), spread * math.sqrt(96 / 192)
    truth = rng.normal(value, spread, 20_000)
    lower = rng.normal(truth, fresh) - quantile(TEST) * fresh
    assert chance == pytest.approx(float(np.mean(lower >= 0.3)), abs=0.015)


@given(value=st.floats(0.3, 0.6), spread=st.floats(0.04, 0.2))
def test_more_plays_accept_as_often_as_is_foretold(value: float, spread: float) -> None:
    """The plays so far count again, as a half of those of the longer test."""
    so_far = evidence(estimate(value, spread, TEST), CERTAINLY_NEW, TEST)
    assume(so_far.values.captured.low < 0.3)
    longer = Looks((2 * TEST.plays[-1],), 0.01)
    chance = power(so_far, VALUES, longer)
    rest = np.random.default_rng(0).normal(value, spread, 20_000)
    lower = (value + rest) / 2 - quantile(longer) * spread / math.sqrt(2)
    assert chance == pytest.approx(float(np.mean(lower >= 0.3)), abs=0.015)


@given(value=st.floats(0.0, 1.2), other=st.floats(0.0, 1.2), spread=st.floats(0.02, 0.5))
def test_more_help_and_less_coverage_are_likelier_to_pass(
    value: float, other: float, spread: float
) -> None:
    low, high = sorted((value, other))
    new = estimate(0.4, 0.1)

    def of(captured_share: Interval, scope_value: Interval) -> float:
        return power(evidence(captured_share, scope_value), VALUES, TEST, is_fresh=True)

    assert of(estimate(low, spread), new) <= of(estimate(high, spread), new)
    assert of(CERTAIN, estimate(high, spread)) <= of(CERTAIN, estimate(low, spread))


def test_a_bound_that_holds_already_holds_when_the_plays_go_on() -> None:
    long_looks = Looks((768,), 0.01)
    sure_evidence = evidence(estimate(0.8, 0.05, TEST), CERTAINLY_NEW, TEST)
    assert power(sure_evidence, VALUES, long_looks) == 1
    open_one = evidence(estimate(0.4, 0.05, TEST), CERTAINLY_NEW, TEST)
    later = 0.05 / math.sqrt(4)
    expected = stats.norm.cdf((0.1 - quantile(long_looks) * later) / (later * math.sqrt(3 / 4)))
    assert power(open_one, VALUES, long_looks) == pytest.approx(float(expected))


@pytest.mark.parametrize("is_fresh", [False, True])
def test_plays_that_are_all_alike_settle_a_bound(is_fresh: bool) -> None:
    alike = evidence(Interval(0.0, 0.0, 0.0), CERTAINLY_NEW)
    assert power(alike, VALUES, TEST, is_fresh) == 0
    above = replace(alike, values=alike.values._replace(captured=Interval(0.4, 0.4, 0.4)))
    assert power(above, VALUES, TEST, is_fresh) > 0.99


def test_the_cross_ratios_count_where_the_rule_asks_for_them() -> None:
    cross_rule = replace(VALUES, rule=DecisionRule.CROSS_RATIO)
    plain = replace(evidence(CERTAIN, CERTAINLY_NEW), help_gain=CERTAIN)
    assert power(plain, cross_rule, TEST, is_fresh=True) == 0
    scope = {PARENT: CERTAINLY_NEW}
    apart = replace(plain, parent_cross_ratio=CERTAINLY_NEW, scope_cross_ratios=scope)
    same = replace(apart, parent_cross_ratio=Interval(1.0, 0.9, 1.1))
    assert power(apart, cross_rule, TEST, is_fresh=True) > 0.99
    assert power(same, cross_rule, TEST, is_fresh=True) < 0.01
