"""Which candidates are worth their cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.search.foresight import (
    LEAST_WORTH,
    Foresight,
    Judged,
    coverage_risk,
    expected_coverage,
    expected_help,
)
from xgl import Program, parse


def program(limit: int, reward: str = "xed(s | t)") -> Program:
    return parse(f"assign(s=story())\nelicit(t, {limit})\nreward({reward})", "xent")


COVERED = [Judged(program(n), covered=True) for n in (5, 6)]
NEW = [Judged(program(n, "xent(t | s) + xed(t | s) - nex(t)"), covered=False) for n in (5, 6)]


def test_without_a_covered_game_nothing_is_a_risk() -> None:
    assert coverage_risk(program(7), []) == 0.0
    assert coverage_risk(program(7), NEW) == 0.0


def test_what_is_like_covered_games_is_the_greater_risk() -> None:
    like_covered = coverage_risk(program(7), COVERED + NEW)
    like_new = coverage_risk(NEW[0].program, COVERED + NEW)
    assert 1 > like_covered > 0.5 > like_new > 0


def test_far_from_everything_the_risk_is_the_common_rate() -> None:
    far = parse("assign(s=story(), x=story())\n" + "reveal(black, s)\n" * 30, "xent")
    assert coverage_risk(far, COVERED + NEW) == pytest.approx(0.5, abs=1e-3)


# -- by scripts and fine-tunes ---------------------------------------------------------------------

leads = st.lists(st.floats(-20, 20), min_size=3, max_size=3)


def test_a_game_whose_best_script_is_the_parents_is_expected_to_help_it_fully() -> None:
    assert expected_help([2.0, 8.0, 1.0], [[3.0, 9.0, 4.0]]) == 1.0
    assert expected_help([8.0, 2.0, 1.0], [[3.0, 9.0, 4.0]]) == pytest.approx(1 / 3)
    assert expected_help([8.0, 2.0, 1.0], [[-9.0, 9.0, 4.0]]) == -1.0


@given(leads, st.lists(leads, min_size=1, max_size=4), leads)
def test_another_game_of_the_scope_can_only_raise_the_expected_help(
    own: list[float], on_scope: list[list[float]], more: list[float]
) -> None:
    assert expected_help(own, on_scope) <= expected_help(own, [*on_scope, more]) <= 1


@given(leads, leads)
def test_expected_coverage_is_a_share_of_the_most_that_anybody_gains(
    own: list[float], taught: list[float]
) -> None:
    coverage = expected_coverage(own, taught)
    assert coverage <= 1
    assert coverage * max(*own, *taught, LEAST_WORTH) == pytest.approx(max(taught))


def test_a_game_that_holds_hardly_anything_is_not_new_for_that() -> None:
    assert expected_coverage([0.1, 0.0], [0.05]) == pytest.approx(0.05)


def test_those_that_seem_to_help_come_first_and_of_these_the_least_covered() -> None:
    useless, known, new = Foresight(0.2, 0.0), Foresight(0.9, 0.8), Foresight(1.0, 0.1)
    assert sorted([useless, known, new], key=lambda each: each.order) == [new, known, useless]
    assert str(new) == "expected help 1.00, expected coverage 0.10"
