"""Win rates: the two denominators, the interval of the paper, and the two rules for pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from archive.schema.enums import PairPurpose
from archive.statistics.programs import (
    Tally,
    bootstrap,
    mean_over_games,
    null_rates,
    over_answers,
    over_plays,
    passes,
    tallies_of,
)

TALLIES = st.lists(
    st.integers(1, 40).flatmap(
        lambda plays: st.integers(0, plays).flatmap(
            lambda faults: st.builds(
                Tally, st.integers(0, plays - faults), st.just(plays), st.just(faults)
            )
        )
    ),
    min_size=1,
    max_size=20,
)


def test_a_fault_is_a_game_that_was_not_won_but_the_paper_leaves_it_out() -> None:
    tallies = [Tally(6, 30, 0), Tally(6, 30, 15)]
    assert over_plays(tallies)[0] == pytest.approx(0.2)
    answer_rate = over_answers(tallies)
    assert answer_rate is not None
    assert answer_rate[0] == pytest.approx(0.3)


def test_a_game_with_faults_only_drops_out_of_the_papers_rate() -> None:
    answer_rate = over_answers([Tally(3, 30), Tally(0, 30, 30)])
    assert answer_rate is not None
    assert answer_rate == (0.1, 0)
    assert over_answers([Tally(0, 30, 30)]) is None


def test_the_half_width_is_196_standard_errors_over_games() -> None:
    assert mean_over_games([0.0, 0.5, 1.0]) == pytest.approx((0.5, 1.96 * 0.5 / math.sqrt(3)))
    assert mean_over_games([0.3]) == (0.3, 0)


@given(TALLIES)
def test_leaving_faults_out_never_lowers_a_rate(tallies: list[Tally]) -> None:
    for tally in tallies:
        paper = over_answers([tally])
        assert paper is None or paper >= over_plays([tally])
    low, high = bootstrap(tallies)
    assert 0 <= low <= high <= 1


@given(TALLIES)
def test_bootstrap_is_a_function_of_its_tallies(tallies: list[Tally]) -> None:
    assert bootstrap(tallies) == bootstrap(tallies)


def test_bootstrap_covers_a_known_mean() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        rates = rng.beta(2, 2, 20)
        tallies = [Tally(int(rng.binomial(30, rate)), 30) for rate in rates]
        low, high = bootstrap(tallies)
        hits += low <= 0.5 <= high
    assert hits >= 88


def test_the_papers_rule_needs_five_of_six() -> None:
    assert [wins for wins in range(7) if passes(PairPurpose.SELECTION, wins, 6)] == [5, 6]


def test_fresh_games_are_hardly_ever_won_by_equals() -> None:
    fewest = min(wins for wins in range(31) if passes(PairPurpose.CONFIRMATION, wins, 30))
    assert fewest == 24
    assert binom.sf(fewest - 1, 30, 0.5) == pytest.approx(null_rates()[1])
    assert null_rates()[1] < 0.001
    assert binom.sf(fewest - 1, 30, 0.9) > 0.97


def test_the_best_of_six_pairs_of_equals_is_selected_in_most_games() -> None:
    games = np.random.default_rng(0).binomial(6, 0.5, (100_000, 6))
    share = (np.maximum(games, 6 - games).max(axis=1) >= 5).mean()
    assert null_rates()[0] == pytest.approx(share, abs=0.01)


def test_an_opponent_beats_random_moves_in_nine_games_of_ten() -> None:
    assert [passes(PairPurpose.BASELINE, wins, 30) for wins in (26, 27)] == [False, True]


def test_tallies_count_plays_by_game() -> None:
    outcomes = (("a", "win"), ("b", "fault"), ("a", "loss"), ("a", "draw"))
    rows = [{"player": "p", "program_id": game, "outcome": out} for game, out in outcomes]
    other = {"player": "q", "program_id": "a", "outcome": "win"}
    assert tallies_of([*rows, other], "p") == [Tally(1, 3, 0), Tally(0, 1, 1)]
