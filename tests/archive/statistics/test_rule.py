"""The decision rule, and the error it keeps under noise (docs/specification.md,
"The decision rule")."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archive.schema import Definition, GainKind, Reason, TaskId
from archive.statistics import rule
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    TransferValues,
    bonferroni,
    mean_interval,
    ratio_interval,
)


@pytest.mark.parametrize("scope", [1, 3, 10])
@pytest.mark.parametrize("gain", [0.25, 0.4, 2.0])
def test_a_covered_copy_is_rarely_called_new(scope: int, gain: float) -> None:
    """True γ = 0.98 against 1 − α2 = 0.9, gains from hardly significant to clear: the upper
    bound must seldom fall below."""
    rng = np.random.default_rng(scope)
    plain, wide = 2 * 0.95 - 1, 2 * bonferroni(0.95, scope) - 1
    wrong = 0
    for _ in range(400):
        own = rng.normal(gain, 2, 128)
        others = [0.98 * own + rng.normal(0, 1, 128) for _ in range(scope)]
        values = {
            TaskId(str(i), "black"): ratio_interval(o, own, wide, plain)
            for i, o in enumerate(others)
        }
        is_confirmed = mean_interval(own, plain).low > 0
        gamma = rule.Evidence(scope_values=values).gamma.interval
        wrong += is_confirmed and rule.is_new(gamma, 0.1) is rule.Answer.YES
    assert wrong / 400 <= 0.055


# -- The rule by exact intervals: α1 = 0.25, 1 − α2 = 0.75 -----------------------------------------


def helping(low: float) -> TransferValues:
    return TransferValues(UNDEFINED, Interval(0.5, low, 0.9), UNDEFINED)


GAME, OTHER = TaskId("game", "black"), TaskId("other", "black")
SURE, APART = Interval(9.0, 8.0, 10.0), Interval(0.1, 0.0, 0.75)
GOOD: dict[str, Any] = {
    "own": rule.OwnGain(SURE, total=SURE),
    "values": helping(0.25),
    "help_gain": SURE,
    "scope_values": {GAME: Interval(0.5, 0.4, 0.75), OTHER: Interval(0.2, 0.1, 0.3)},
    "parent_cross_ratio": APART,
    "scope_cross_ratios": {GAME: APART},
}
"""At every threshold exactly."""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, Reason.NEW_AND_USEFUL),
        ({"values": helping(0.24)}, Reason.HELP_OPEN),
        ({"help_gain": Interval(9.0, 0.0, 18.0)}, Reason.HELP_OPEN),
        ({"scope_values": {GAME: Interval(0.5, 0.4, 0.76)}}, Reason.COVERAGE_OPEN),
        ({"scope_values": {**GOOD["scope_values"], OTHER: UNDEFINED}}, Reason.COVERAGE_OPEN),
        ({"parent_cross_ratio": Interval(0.1, 0.0, 0.76)}, Reason.COVERAGE_OPEN),
    ],
)
def test_a_candidate_is_accepted_up_to_each_threshold_and_no_further(
    changes: dict[str, Any], reason: Reason
) -> None:
    thresholds = rule.Thresholds(0.25, 0.25, Definition.CAPTURED, GainKind.TOTAL)
    assert rule.decide(rule.Evidence(**GOOD | changes), thresholds).reason is reason


def test_an_undefined_value_leaves_only_the_upper_bound_of_gamma_open() -> None:
    evidence = rule.Evidence(scope_values={GAME: Interval(0.5, 0.4, 0.7), OTHER: UNDEFINED})
    assert evidence.gamma == (Interval(0.5, 0.4, math.inf), GAME)


RISING = st.sets(st.integers(2, 5000), min_size=1, max_size=6).map(lambda s: tuple(sorted(s)))


@given(RISING, st.floats(0.001, 0.5), st.integers(1, 200))
def test_the_looks_spend_the_error_between_them(
    plays: tuple[int, ...], error: float, questions: int
) -> None:
    looks = rule.Looks(plays, error)
    errors = [questions * (1 - looks.confidence(n, questions)) for n in plays]
    assert all(each > 0 for each in errors)
    assert sum(errors) == pytest.approx(error)


def test_a_warm_start_takes_its_plays_but_at_most_a_quarter_of_the_tokens() -> None:
    """4,000 tokens, steps of 16 plays of 20 tokens: 12.5 steps without a warm start."""
    limits = (rule.Limits(0.25, 4000, 16, 10, warm_plays) for warm_plays in (0, 30, 999))
    assert [rule.affordable_steps([20] * 4, each) for each in limits] == [13, 11, 10]
