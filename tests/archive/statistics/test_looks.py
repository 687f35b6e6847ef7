"""Looks of a racing test: the error is spent once."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.statistics.rule import Looks, chunks, error_per_test

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


@pytest.mark.parametrize(
    ("plays", "error"), [((), 0.05), ((1, 4), 0.05), ((8, 8), 0.05), ((8, 4), 0.05), ((8,), 0.0)]
)
def test_impossible_looks_are_refused(plays: tuple[int, ...], error: float) -> None:
    with pytest.raises(ValueError, match="expected rising"):
        Looks(plays, error)


def test_there_is_no_bound_between_looks() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        Looks((8, 16), 0.05).confidence(12)


def test_tests_of_a_list_share_the_error() -> None:
    assert error_per_test(0.06, 3) == pytest.approx(0.02)


@given(st.lists(st.text(max_size=3), max_size=40), st.integers(1, 9))
def test_chunks_are_the_items_in_order(items: list[str], first: int) -> None:
    parts = chunks(items, first)
    assert list(chain.from_iterable(parts)) == items
    assert all(len(chunk) == first * 2**index for index, chunk in enumerate(parts[:-1]))
