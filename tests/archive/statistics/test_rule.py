"""The decision rule, and the error it keeps under noise (docs/specification.md,
"The decision rule")."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.schema import TaskId
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    bonferroni,
    mean_interval,
    ratio_interval,
)
from archive.statistics.rule import (
    Answer,
    Calibration,
    Gamma,
    Limits,
    Looks,
    affordable_steps,
    chunks,
    gamma,
    is_new,
    refusal,
)

A, B, C = (TaskId(name, "black") for name in "abc")


def test_gamma_is_the_largest_and_its_bounds_are_too() -> None:
    values = {A: Interval(0.5, 0.45, 0.55), B: Interval(0.6, 0.2, 0.7)}
    assert gamma(values) == Gamma(Interval(0.6, 0.45, 0.7), B)
    largest = gamma(values | {C: UNDEFINED})
    assert (largest.interval.value, largest.interval.high) == (0.6, math.inf)


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


# -- Looks of a racing test: the error is spent once -----------------------------------------------

RISING = st.sets(st.integers(2, 5000), min_size=1, max_size=6).map(lambda s: tuple(sorted(s)))


@given(RISING, st.floats(0.001, 0.5), st.integers(1, 200))
def test_the_looks_spend_the_error_between_them(
    plays: tuple[int, ...], error: float, questions: int
) -> None:
    looks = Looks(plays, error)
    errors = [questions * (1 - looks.confidence(n, questions)) for n in plays]
    assert all(each > 0 for each in errors)
    assert sum(errors) == pytest.approx(error)


def test_two_equal_looks_have_half_the_error_each() -> None:
    assert Looks((96, 192), 0.05).confidence(96) == pytest.approx(0.975)
    assert Looks((96, 192), 0.05).confidence(192, 10) == pytest.approx(0.9975)


@pytest.mark.parametrize(("plays", "error"), [((), 0.05), ((8, 8), 0.05), ((8,), 0.0)])
def test_impossible_looks_are_refused(plays: tuple[int, ...], error: float) -> None:
    with pytest.raises(ValueError, match="expected rising"):
        Looks(plays, error)


@given(st.lists(st.text(max_size=3), max_size=40), st.integers(1, 9))
def test_chunks_are_the_items_in_order(items: list[str], first: int) -> None:
    parts = chunks(items, first)
    assert list(chain.from_iterable(parts)) == items
    assert all(len(chunk) == first * 2**index for index, chunk in enumerate(parts[:-1]))


# -- Which games the base player cannot play, from calibration plays made up here ------------------

LIMITS = Limits(max_forfeit_rate=0.25, tokens=4000, plays=16, min_steps=10)


def calibration(finished_plays: int = 4) -> Calibration:
    """Four plays, of which so many are finished, each of twenty tokens."""
    outcomes = ("finished",) * finished_plays + ("forfeit",) * (4 - finished_plays)
    return Calibration(outcomes, (20,) * 4, np.arange(1.0, 5), np.zeros(4))


@pytest.mark.parametrize(("finished_plays", "refused"), [(4, False), (3, False), (2, True)])
def test_a_quarter_of_forfeits_is_allowed(finished_plays: int, refused: bool) -> None:
    assert (refusal(calibration(finished_plays), LIMITS) is not None) == refused


def test_a_warm_start_takes_its_plays_but_at_most_half_of_the_tokens() -> None:
    """4,000 tokens, steps of 16 plays of 20 tokens: 12.5 steps without a warm start."""
    steps = [affordable_steps(calibration(), replace(LIMITS, warm_plays=n)) for n in (0, 48, 999)]
    assert steps == [13, 10, 7]
