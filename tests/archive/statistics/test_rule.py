"""The decision rule, and the error it keeps under noise (docs/specification.md,
"The decision rule")."""

from __future__ import annotations

import math

import numpy as np
import pytest

from archive.schema import TaskId
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    bonferroni,
    mean_interval,
    ratio_interval,
)
from archive.statistics.rule import Answer, Gamma, gamma, helps, is_new

A, B, C = (TaskId(name, "black") for name in "abc")


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        (Interval(0.5, 0.35, 0.7), Answer.YES),
        (Interval(0.2, 0.1, 0.29), Answer.NO),
        (Interval(0.35, 0.2, 0.5), Answer.OPEN),
        (UNDEFINED, Answer.OPEN),
    ],
)
def test_helps(interval: Interval, answer: Answer) -> None:
    assert helps(interval, 0.3) is answer


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        (Interval(0.5, 0.4, 0.7), Answer.YES),
        (Interval(0.95, 0.85, 1.1), Answer.NO),
        (Interval(0.8, 0.7, 0.9), Answer.OPEN),
        (Interval(0.1, -math.inf, math.inf), Answer.OPEN),
        (UNDEFINED, Answer.OPEN),
    ],
)
def test_is_new(interval: Interval, answer: Answer) -> None:
    assert is_new(interval, 0.2) is answer


def test_gamma_is_the_largest_and_its_bounds_are_too() -> None:
    values = {A: Interval(0.5, 0.45, 0.55), B: Interval(0.6, 0.2, 0.7)}
    assert gamma(values) == Gamma(Interval(0.6, 0.45, 0.7), B)
    largest = gamma(values | {C: UNDEFINED})
    assert (largest.interval.value, largest.interval.high) == (0.6, math.inf)


def test_a_value_of_exactly_nothing_is_larger_than_harm() -> None:
    harm, nothing = Interval(-0.5, -0.6, -0.4), Interval(0.0, -0.1, 0.1)
    assert gamma({A: harm, B: nothing}) == Gamma(nothing, B)


def test_gamma_of_nothing_is_undefined() -> None:
    assert gamma({A: UNDEFINED}) == Gamma(UNDEFINED, None)


def test_simultaneous_confidence_is_bonferronis() -> None:
    assert bonferroni(0.95, 5) == pytest.approx(0.99)
    assert bonferroni(0.95, 0) == pytest.approx(0.95)


@pytest.mark.parametrize("scope", [1, 3, 10])
@pytest.mark.parametrize("gain", [0.25, 0.4, 2.0])
def test_a_covered_copy_is_rarely_called_new(scope: int, gain: float) -> None:
    """True γ = 0.98 against 1 − α2 = 0.9, gains from hardly significant to clear: the upper
    bound must seldom fall below."""
    rng = np.random.default_rng(scope)
    plain, wide = 2 * 0.95 - 1, 2 * bonferroni(0.95, scope) - 1
    wrong = 0
    for _ in range(600):
        own = rng.normal(gain, 2, 128)
        others = [0.98 * own + rng.normal(0, 1, 128) for _ in range(scope)]
        values = {
            TaskId(str(i), "black"): ratio_interval(o, own, wide, plain)
            for i, o in enumerate(others)
        }
        is_confirmed = mean_interval(own, plain).low > 0
        wrong += is_confirmed and is_new(gamma(values).interval, 0.1) is Answer.YES
    assert wrong / 600 <= 0.055
