"""What is expected of a candidate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.growth.forecast import (
    LEAST_WORTH,
    Forecast,
    expected_coverage,
    expected_help,
)

leads = st.lists(st.floats(-20, 20), min_size=3, max_size=3)
leads_by_script = leads.map(lambda each: dict(zip("abc", each, strict=True)))


def test_a_game_whose_best_script_is_the_parents_is_expected_to_help_it_fully() -> None:
    parent = {"a": 3.0, "b": 9.0, "c": 4.0}
    assert expected_help({"a": 2.0, "b": 8.0}, [parent]) == 1.0
    assert expected_help({"a": 8.0, "b": 2.0}, [parent]) == pytest.approx(1 / 3)
    assert expected_help({"a": 8.0, "b": 2.0}, [parent | {"a": -9.0}]) == -1.0


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


@given(leads, leads, st.floats(-20, 20))
def test_another_fine_tune_can_only_raise_the_expected_coverage(
    own: list[float], others: list[float], more: float
) -> None:
    assert expected_coverage(own, others) <= expected_coverage(own, [*others, more]) + 1e-12


def test_a_game_that_holds_hardly_anything_is_not_new_for_that() -> None:
    assert expected_coverage([0.1, 0.0], [0.05]) == pytest.approx(0.05)


def test_those_that_seem_to_help_come_first_and_of_these_the_least_covered() -> None:
    useless, old, new = Forecast(0.2, 0.0), Forecast(0.9, 0.8), Forecast(1.0, 0.1)
    assert sorted([useless, old, new], key=lambda each: each.order) == [new, old, useless]
    assert [each.promising for each in (useless, old, new)] == [False, False, True]
    doubtful = Forecast(0.9, 0.5)
    assert (doubtful.promising, doubtful.deserves_second_look) == (False, True)
    assert [each.deserves_second_look for each in (useless, old, new)] == [False, False, True]
    assert str(new) == "expected help 1.00, expected coverage 0.10"
    bound = Forecast(1.0, 0.7, complete=False)
    assert str(bound) == "expected help 1.00, expected coverage at least 0.70"
