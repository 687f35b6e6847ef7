"""What is expected of a candidate."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.growth.forecast import LEAST_WORTH, Forecast, expected_coverage, expected_help
from evo.growth.open_ended import ParentTally, draw_parent, posterior

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


@given(leads, leads, st.floats(-20, 20))
def test_another_fine_tune_can_only_raise_the_expected_coverage(
    own: list[float], others: list[float], more: float
) -> None:
    assert expected_coverage(own, others) <= expected_coverage(own, [*others, more]) + 1e-12


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


# -- Thompson sampling of parents ------------------------------------------------------------------


def test_the_parent_that_yielded_more_is_drawn_more_often_and_no_other_dies_out() -> None:
    tallies = {"a": ParentTally(8, 22), "b": ParentTally(0, 22)}
    counts = Counter(draw_parent("abc", tallies, 0, number) for number in range(1000))
    assert counts["a"] > counts["c"] > counts["b"] > 0


def test_the_prior_mean_is_the_rate_of_the_run() -> None:
    for common, mean in ((ParentTally(), 0.1), (ParentTally(45, 90), 0.46)):
        a, b = posterior(ParentTally(), common)
        assert a / (a + b) == pytest.approx(mean)
