"""Choosing again at random: what the tests may say, and what must not move them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from archive.statistics.studies import choice_tests
from archive.statistics.studies.choice_tests import (
    ListChoice,
    coverage,
    coverage_test,
    detectable,
    detectable_by,
    detection_thresholds,
    differences,
    permutation_test,
    standard_error,
    weighted_means,
)

Values = NDArray[np.float64]


@st.composite
def choices(draw: st.DrawFn) -> tuple[Values, ListChoice]:
    """Up to four lists, at least one of which holds both kinds."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    lists = np.repeat(np.arange(len(sizes) + 1), [2, *sizes])
    is_chosen = draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes)))
    numbers = st.floats(-10, 10).map(lambda value: round(value, 3))
    values = draw(st.lists(numbers, min_size=len(lists), max_size=len(lists)))
    return np.array(values), ListChoice(np.array([True, False, *is_chosen]), lists)


def by_hand(values: Values, choice: ListChoice) -> float:
    """The share of all choices whose plain difference of means is as large."""

    def difference(is_chosen: NDArray[np.bool_]) -> float:
        return float(
            values[among][is_chosen[among]].mean() - values[among][~is_chosen[among]].mean()
        )

    among = np.concatenate(choice.mixed_lists)
    every = [
        combinations(games, int(choice.is_chosen[games].sum())) for games in choice.mixed_lists
    ]
    samples = []
    for parts in product(*every):
        is_chosen = np.zeros(len(values), bool)
        is_chosen[[game for part in parts for game in part]] = True
        samples.append(difference(is_chosen))
    return float(np.mean(np.array(samples) >= difference(choice.is_chosen) - 1e-9))


@settings(max_examples=60, deadline=None)
@given(choices())
def test_few_choices_are_all_enumerated(example: tuple[Values, ListChoice]) -> None:
    values, choice = example
    result = permutation_test(values, choice)
    assert result.exact
    assert result.p_value == pytest.approx(by_hand(values, choice))


@settings(max_examples=60, deadline=None)
@given(choices(), st.lists(st.integers(-50, 50), min_size=5, max_size=5))
def test_differences_between_lists_change_nothing(
    example: tuple[Values, ListChoice], shifts: list[int]
) -> None:
    values, choice = example
    shifted_values = values + np.array(shifts)[choice.lists]
    one, other = (differences(each[:, None], choice)[0] for each in (values, shifted_values))
    assert one == pytest.approx(other, abs=1e-6)
    assert permutation_test(values, choice) == permutation_test(shifted_values, choice)


@settings(max_examples=60, deadline=None)
@given(choices())
def test_lists_of_one_kind_do_not_count(example: tuple[Values, ListChoice]) -> None:
    values, choice = example
    mixed_indices = np.concatenate(choice.mixed_lists)
    rest = ListChoice(choice.is_chosen[mixed_indices], choice.lists[mixed_indices])
    assert permutation_test(values, choice) == permutation_test(values[mixed_indices], rest)
    one, other = weighted_means(values, choice)
    assert one - other == pytest.approx(differences(values[:, None], choice)[0], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(choices())
def test_games_of_one_list_each_are_exchanged_as_verdicts_are(
    example: tuple[Values, ListChoice],
) -> None:
    values, choice = example
    every = permutation_test(values, choice)
    with_games = replace(choice, games=np.arange(len(values)))
    assert permutation_test(values, with_games) == every
    result = choice_tests._games_exchanged(values, with_games, 0)
    assert result.p_value == pytest.approx(every.p_value, abs=0.03)


def test_without_a_choice_there_is_no_test() -> None:
    nobody = ListChoice(np.array([True, True, False]), np.array([0, 0, 1]))
    assert np.isnan(differences(np.ones((3, 1)), nobody)[0])
    with pytest.raises(ValueError, match="found no list"):
        permutation_test(np.ones(3), nobody)
    with pytest.raises(ValueError, match="found no pool"):
        coverage_test(np.ones((3, 2)), nobody)


def layout(lists: int, games: int, accepts_per_list: int) -> ListChoice:
    return ListChoice(
        np.tile(np.arange(games) < accepts_per_list, lists), np.repeat(np.arange(lists), games)
    )


def test_drawn_choices_agree_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    choice, values = layout(3, 7, 2), np.random.default_rng(1).normal(size=21)
    values[choice.is_chosen] += 0.5
    captured_values = np.random.default_rng(2).random((21, 4))
    every = permutation_test(values, choice), coverage_test(captured_values, choice)
    monkeypatch.setattr(choice_tests, "EXACT", 0)
    sampled_tests = permutation_test(values, choice), coverage_test(captured_values, choice)
    assert (every[0].exact, sampled_tests[0].exact) == (True, False)
    assert sampled_tests[0].p_value == pytest.approx(every[0].p_value, abs=0.02)
    assert sampled_tests[1].test.p_value == pytest.approx(every[1].test.p_value, abs=0.02)
    assert sampled_tests[1].expected == pytest.approx(every[1].expected, abs=0.01)
    assert permutation_test(values, choice) == sampled_tests[0], "a stream of its own name"


def test_a_planted_difference_is_found_and_none_at_its_rate() -> None:
    """One-sided at 5 %: without a difference 300 data sets raise about 15 false alarms."""
    rng, choice = np.random.default_rng(0), layout(4, 6, 2)

    def alarms(effect: float) -> float:
        values = rng.normal(size=(300, 24)) + effect * choice.is_chosen
        return float(np.mean([permutation_test(each, choice).p_value <= 0.05 for each in values]))

    assert alarms(0.0) == pytest.approx(0.05, abs=0.04)
    assert alarms(detectable(tuple(choice.sizes))) == pytest.approx(0.8, abs=0.08)
    assert alarms(3.0) == 1.0


def test_power_grows_with_lists_and_alarms_keep_their_rate() -> None:
    few, many = (detection_thresholds([(7, 2)] * lists, 1000) for lists in (2, 8))
    assert np.median(many) < np.median(few)
    for each in (few, many):
        assert float((each < 0).mean()) == pytest.approx(0.05, abs=0.025)
    spread = (1.645 + 0.842) / np.sqrt(8 * 2 * 5 / 7)
    assert detectable(((7, 2),) * 8) == pytest.approx(spread, rel=0.1), "the normal approximation"
    assert detectable(((3, 1),)) == np.inf, "three choices are never one in twenty"


def test_coverage_is_that_of_the_best_game_for_each_program() -> None:
    captured_values = np.array([[0.9, 0.0], [0.0, 0.7], [0.5, 0.5], [0.1, 0.1]])
    assert coverage(captured_values[:2]) == pytest.approx(0.8)
    choice = ListChoice(np.array([True, True, False, False]), np.zeros(4, int))
    result = coverage_test(captured_values, choice)
    assert result.observed == pytest.approx(0.8)
    assert (result.test.choices, result.test.exact) == (6, True)
    assert result.test.p_value == pytest.approx(1 / 6), "no other pair covers as much"
    pairs = [coverage(captured_values[list(pair)]) for pair in combinations(range(4), 2)]
    assert result.expected == pytest.approx(np.mean(pairs))


def test_coverage_exchanges_games_that_are_in_several_pools() -> None:
    """Four pools of the same six games, of which each has accepted the same two: 300 data sets of
    noise raise about 15 false alarms at 5 %; as 24 games they would raise 70."""
    choice = replace(layout(4, 6, 2), games=np.tile(np.arange(6), 4), strata=np.zeros(24, int))
    alone = replace(choice, games=None, strata=None)
    rng = np.random.default_rng(5)
    noise = [np.tile(rng.normal(size=(6, 2)), (4, 1)) for _ in range(300)]
    few, many = (
        np.mean([coverage_test(each, variant).test.p_value <= 0.05 for each in noise])
        for variant in (choice, alone)
    )
    assert few <= 0.09
    assert many > 0.15


def test_without_repeated_games_exchanging_is_drawing_subsets() -> None:
    choice = layout(3, 6, 2)
    captured_values = np.random.default_rng(6).random((18, 3))
    exchanged = choice_tests._coverages_exchanged(captured_values, choice, seed=0)
    drawn = coverage_test(captured_values, choice)
    assert exchanged.mean() == pytest.approx(drawn.expected, abs=0.01)
    assert np.mean(exchanged >= drawn.observed) == pytest.approx(drawn.test.p_value, abs=0.02)


def test_repeated_games_are_worth_less_evidence() -> None:
    choice = layout(4, 6, 2)
    games = np.arange(24)
    games[[6, 12, 18]] = 0
    repeated_choice = replace(choice, games=games, strata=np.zeros(24, int))
    assert repeated_choice.repeats
    assert not replace(choice, games=np.arange(24)).repeats
    assert detectable_by(choice) == detectable(tuple(choice.sizes))
    assert detectable_by(repeated_choice) > 1.2 * detectable_by(choice)
    values = np.random.default_rng(4).normal(size=24)
    values[[6, 12, 18]] = values[0]
    one, other = (differences(values[:, None], each)[0] for each in (choice, repeated_choice))
    assert one == pytest.approx(other), "the same difference"


def test_one_game_that_every_list_accepted_is_no_evidence_of_four() -> None:
    """One-sided at 5 %, without any difference, 400 data sets."""
    choice = layout(4, 6, 2)
    games = np.arange(24)
    games[[6, 12, 18]] = 0
    values = np.random.default_rng(5).normal(size=(400, 24))[:, games]
    repeated_choice = replace(choice, games=games, strata=np.zeros(24, int))
    alone, four = (
        np.mean([permutation_test(each, each_choice).p_value <= 0.05 for each in values])
        for each_choice in (repeated_choice, choice)
    )
    assert alone == pytest.approx(0.05, abs=0.03)
    assert four > 0.08
    spread = np.std([differences(each[:, None], repeated_choice)[0] for each in values])
    assert standard_error(repeated_choice) == pytest.approx(spread, rel=0.1)
    assert standard_error(choice) == pytest.approx(np.sqrt(6 / (4 * 2 * 4)))
