"""The chance of an acceptance test, against acceptance tests played out."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from archive.schema import Definition, GainKind, Rule, TaskId
from archive.statistics.decision_rule import Evidence, OwnGain, Thresholds
from archive.statistics.intervals import UNDEFINED, Interval
from archive.statistics.looks import Looks
from evo.search.acceptance_power import first_power, power

SELECTION = Looks((32, 96), 0.05)
TEST = Looks((96, 192), 0.01)
VALUES = Thresholds(0.3, 0.2, Definition.CAPTURED, GainKind.SPECIFIC, Rule.VALUES)
PARENT = TaskId("parent", "player")
CERTAIN = Interval(10.0, 9.0, 11.0)
CERTAINLY_NEW = Interval(0.0, -0.1, 0.1)


def quantile(looks: Looks) -> float:
    return float(stats.norm.ppf(looks.confidence(looks.plays[-1])))


def seen(value: float, spread: float, looks: Looks = SELECTION) -> Interval:
    """The bounds of an estimate with this standard error at the last look."""
    return Interval(value, value - quantile(looks) * spread, value + quantile(looks) * spread)


def evidence(captured: Interval, taught: Interval, looks: Looks = SELECTION) -> Evidence:
    return Evidence(
        looks=looks,
        own=OwnGain(gain=CERTAIN, total=CERTAIN),
        values=replace(Evidence().values, captured=captured),
        scope_values={PARENT: taught},
    )


@given(value=st.floats(0.2, 0.8), spread=st.floats(0.02, 0.3))
def test_a_first_test_accepts_as_often_as_is_foretold(value: float, spread: float) -> None:
    """Truth is drawn around what selection saw, and a test of fresh plays around the truth."""
    chance = first_power(evidence(seen(value, spread), CERTAINLY_NEW), VALUES, TEST)
    drawn, fresh = np.random.default_rng(0), spread * math.sqrt(96 / 192)
    truth = drawn.normal(value, spread, 20_000)
    lower = drawn.normal(truth, fresh) - quantile(TEST) * fresh
    assert chance == pytest.approx(float(np.mean(lower >= 0.3)), abs=0.015)


@given(value=st.floats(0.0, 1.2), other=st.floats(0.0, 1.2), spread=st.floats(0.02, 0.5))
def test_more_help_and_less_coverage_are_likelier_to_pass(
    value: float, other: float, spread: float
) -> None:
    low, high = sorted((value, other))
    new = seen(0.4, 0.1)

    def of(captured: Interval, taught: Interval) -> float:
        return first_power(evidence(captured, taught), VALUES, TEST)

    assert of(seen(low, spread), new) <= of(seen(high, spread), new)
    assert of(CERTAIN, seen(high, spread)) <= of(CERTAIN, seen(low, spread))


def test_a_small_gamma_that_is_hardly_known_comes_after_a_clear_one() -> None:
    """The smallest γ of a list often is the one that is known least."""
    clear = evidence(seen(0.8, 0.05), seen(0.5, 0.05))
    noisy = evidence(seen(0.5, 0.4), seen(0.1, 0.6))
    assert first_power(clear, VALUES, TEST) > 0.9 > 0.5 > first_power(noisy, VALUES, TEST)


def test_what_was_not_played_cannot_pass() -> None:
    assert first_power(Evidence(), VALUES, TEST) == 0
    assert power(Evidence(), VALUES, TEST) == 0
    assert first_power(evidence(UNDEFINED, CERTAINLY_NEW), VALUES, TEST) == 0
    assert power(evidence(UNDEFINED, CERTAINLY_NEW), VALUES, TEST) == 0


def test_a_bound_that_holds_already_holds_when_the_plays_go_on() -> None:
    doubled = Looks((384,), 0.01)
    holds = evidence(seen(0.8, 0.05, TEST), CERTAINLY_NEW, TEST)
    assert power(holds, VALUES, doubled) == 1
    open_one = evidence(seen(0.4, 0.05, TEST), CERTAINLY_NEW, TEST)
    spread = 0.05 / math.sqrt(2)
    expected = stats.norm.cdf(0.1 / spread - quantile(doubled))
    assert power(open_one, VALUES, doubled) == pytest.approx(float(expected))


def test_the_cross_ratios_count_where_the_rule_asks_for_them() -> None:
    crossed = replace(VALUES, rule=Rule.CROSS_RATIO)
    plain = replace(evidence(CERTAIN, CERTAINLY_NEW), help_gain=CERTAIN)
    assert first_power(plain, crossed, TEST) == 0
    apart = replace(
        plain, parent_cross_ratio=CERTAINLY_NEW, scope_cross_ratios={PARENT: CERTAINLY_NEW}
    )
    same = replace(
        plain,
        parent_cross_ratio=Interval(1.0, 0.9, 1.1),
        scope_cross_ratios={PARENT: CERTAINLY_NEW},
    )
    assert first_power(apart, crossed, TEST) > 0.99
    assert first_power(same, crossed, TEST) < 0.01
