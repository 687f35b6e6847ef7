"""The participation ratio: copies are one skill, games apart are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from archive.statistics.values.skills import (
    effective_skills,
    effective_skills_of_copies,
    shares,
    skills_interval,
)

SIZES = st.integers(1, 8)


@given(SIZES, st.floats(0.1, 50))
def test_copies_are_one_skill(size: int, gain: float) -> None:
    assert effective_skills(np.full((size, size), gain)) == pytest.approx(1)


@given(arrays(float, st.integers(1, 8), elements=st.floats(0.1, 50)))
def test_games_that_teach_only_themselves_are_as_many_skills(own: np.ndarray) -> None:
    assert effective_skills(np.diag(own)) == pytest.approx(len(own))


def test_two_families_of_copies_are_two_skills() -> None:
    families = np.kron(np.eye(2), np.ones((3, 3)))
    assert effective_skills(7.0 * families) == pytest.approx(2)
    opposed = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((3, 3)))
    assert effective_skills(opposed) == pytest.approx(1), "to unlearn it is the same direction"


@given(arrays(float, (4, 4), elements=st.floats(-20, 20)), st.permutations(range(4)))
def test_neither_order_nor_the_scale_of_a_game_matters(cells: np.ndarray, order: list[int]) -> None:
    np.fill_diagonal(cells, 5 + abs(np.diag(cells)))
    ratio = effective_skills(cells)
    assert 1 - 1e-9 <= ratio <= 4 + 1e-9
    assert effective_skills(cells[np.ix_(order, order)]) == pytest.approx(ratio)
    assert effective_skills(cells * np.array([1.0, 3.0, 0.2, 10.0])) == pytest.approx(ratio)


def test_noise_makes_copies_look_like_more_and_the_baseline_says_by_how_much() -> None:
    gains, errors = np.full((6, 6), 10.0), np.full((6, 6), 2.0)
    baseline = effective_skills_of_copies(gains, errors)
    noisy = gains + errors * np.random.default_rng(7).standard_normal((6, 6))
    assert baseline > 1.05
    assert effective_skills(noisy) == pytest.approx(baseline, abs=0.25)
    assert effective_skills_of_copies(gains, 0 * errors) == pytest.approx(1)


def test_bounds_over_plays_hold_the_ratio() -> None:
    truth = np.array([[10.0, 2.0, 8.0], [1.0, 9.0, 0.0], [7.0, 0.0, 8.0]])
    rng = np.random.default_rng(3)
    plays = truth[..., None] + rng.standard_normal((3, 3, 400))
    low, high = skills_interval(plays)
    assert low < effective_skills(truth) < high
    assert high - low < 0.2


def test_a_game_that_its_own_fine_tune_does_not_learn_has_no_shares() -> None:
    with pytest.raises(ValueError, match="own fine-tunes gain bits"):
        shares(np.array([[1.0, 2.0], [3.0, 0.0]]))
