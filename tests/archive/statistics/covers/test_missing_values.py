"""What missing values leave open, against all their assignments and all subsets of them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive import CoverError
from archive.statistics.covers.best_cover import best_cover, optimistic, pessimistic, transfer_cover
from archive.statistics.covers.missing_values import ValueIndex, missing_values

ETA = 0.5
NAN = math.nan


def fewest(values: np.ndarray) -> int:
    """Games of the smallest cover, by looking at all; one more than there are when none is."""
    reaches = values >= ETA
    for size in range(1, len(values) + 1):
        for family in combinations(range(len(values)), size):
            if reaches[list(family)].any(axis=0).all():
                return size
    return len(values) + 1


def with_value(values: np.ndarray, places: tuple[ValueIndex, ...], value: float) -> np.ndarray:
    copy = values.copy()
    for place in places:
        copy[place] = value
    return copy


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    games = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.choice([0.0, 0.2, 0.5, 0.9], (games, games))
    values[rng.random((games, games)) < draw(st.sampled_from([0.1, 0.3, 0.6]))] = NAN
    np.fill_diagonal(values, 1.0)
    return values


@settings(max_examples=30, deadline=None)
@given(values=matrices())
def test_the_two_sets_do_what_they_promise(values: np.ndarray) -> None:
    cover = best_cover(values, ETA)
    result = missing_values(values, ETA, cover)
    least, most = fewest(optimistic(values)), fewest(pessimistic(values))
    assert (result.fewest, result.count) == (least, int(np.isnan(values).sum()))
    assert len(cover.members) == most
    assert result.size_decided == (least == most)
    if result.size_decided:
        return
    confirmed_values = with_value(values, result.confirm, 1.0)
    assert fewest(pessimistic(confirmed_values)) == least
    refuted_values = with_value(values, result.refute, 0.0)
    assert fewest(optimistic(refuted_values)) == most
    assert result.minimal
    for place in result.refute:
        part = tuple(other for other in result.refute if other != place)
        assert fewest(optimistic(with_value(values, part, 0.0))) < most


@settings(max_examples=30, deadline=None)
@given(values=matrices())
def test_no_smaller_set_confirms(values: np.ndarray) -> None:
    result = missing_values(values, ETA, best_cover(values, ETA))
    if 0 < len(result.confirm) <= 3:
        gaps = [(int(i), int(j)) for i, j in np.argwhere(np.isnan(values))]
        for fewer in combinations(gaps, len(result.confirm) - 1):
            assert fewest(pessimistic(with_value(values, fewer, 1.0))) > result.fewest


@settings(max_examples=30, deadline=None)
@given(values=matrices())
def test_no_assignment_gives_a_larger_delta(values: np.ndarray) -> None:
    cover = best_cover(values, ETA)
    hopeful = optimistic(values)
    best = max(
        transfer_cover(hopeful, family)
        for family in combinations(range(len(values)), len(cover.members))
    )
    assert missing_values(values, ETA, cover).delta_bound == best


def test_an_example_by_hand() -> None:
    # 0 might cover 1 and 2; 1 covers 2: two games now, one if both missing values reach η
    values = np.array([[1, NAN, NAN], [0.1, 1, 0.6], [0.1, 0.2, 1]])
    cover = best_cover(values, ETA)
    result = missing_values(values, ETA, cover)
    assert (cover.members, result.fewest) == ((0, 1), 1)
    assert result.confirm == ((0, 1), (0, 2))
    assert len(result.refute) == 1
    assert not result.size_decided


def test_nothing_missing_decides_the_size() -> None:
    cover = best_cover(np.eye(3), ETA)
    result = missing_values(np.eye(3), ETA, cover)
    assert result.size_decided
    assert (result.count, result.fewest, result.delta_bound) == (0, 3, 1.0)


def test_without_any_certain_cover_the_confirming_values_are_named() -> None:
    values = np.array([[1.0, NAN], [0.2, -math.inf]])
    result = missing_values(values, ETA, None)
    assert (result.fewest, result.confirm, result.size_decided) == (1, ((0, 1),), False)
    with pytest.raises(CoverError, match=r"expected at most 0\.2"):
        missing_values(np.array([[0.2], [0.1]]), ETA, None)


def test_many_missing_values_are_all_named_when_greedy_cannot_tell() -> None:
    values = np.full((30, 30), NAN)
    np.fill_diagonal(values, 1.0)
    cover = best_cover(values, ETA, exact_up_to=0)
    result = missing_values(values, ETA, cover, exact_up_to=0)
    assert len(cover.members) == 30
    assert result.fewest == 1
    assert len(result.confirm) == 29
    assert fewest(optimistic(with_value(values, result.refute, 0.0))[:6, :6]) == 6
