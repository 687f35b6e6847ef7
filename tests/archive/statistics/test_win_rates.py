"""Win rates: the two denominators, the interval of the paper, and the two rules for pairs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from archive.schema import PairPurpose
from archive.statistics.programs import (
    Tally,
    bootstrap,
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


def test_tallies_count_plays_by_game() -> None:
    outcomes = (("a", "win"), ("b", "fault"), ("a", "loss"), ("a", "draw"))
    rows = [{"player": "p", "program_id": game, "outcome": out} for game, out in outcomes]
    other = {"player": "q", "program_id": "a", "outcome": "win"}
    assert tallies_of([*rows, other], "p") == [Tally(1, 3, 0), Tally(0, 1, 1)]


# -- The score of the paper's main table, from the counts that its authors published ---------------

GPT_4O_MINI = """
15 0 0 0(1) 11 9 14 0 13 0 0 0 14(1) 1 2 0 4 0 1 0 1 5 5 5 0 0 3 0 0 0 1 6 0 0 0 0 0
0 0 0 1 2 0 0 4 0 2 0 0 14 13 0(3) 0(2) 1 1 0 0(1) 0 0 1 0 3 0 0(8) 3(2) 0 8(4) 0 1(1) 1 3 1 0 6 3
3 4 0 1 0 0 0 0 0(1) 4 0 0(1) 1 3 3 0 0 0 0 11(6) 8 4 0 0 0 15 5 2 5(2) 0(2) 0 1 0 5(1) 0 0 0 0
3(3) 1(1) 1 8(1) 1 1(2) 1(2) 1 0 0(2) 0 2(3) 8(7)"""
O1 = """
2 15 14 0 30 0 17 0 0 4 1 15 0 0 30 0 18 19 11(1) 17 15 1 0 2(15) 28 13 10 0(15) 0 0 21
10(2) 0 0(4) 12 0 14(1) 3 24 16 0 0 29 3 22 30 21 11 0(1) 13 23 15 18 14 20(1) 0(20) 1(6) 25 22 22
18 0 0(2) 0 15 5 0 6 3(15) 14(10) 2 1(9) 27 2(4) 15 17 19 0 19 14 28 10 29(1) 12 5 0(19) 21 9 25 15
1(8) 0(25) 30 1 8 0(29) 0(5) 0(14) 7(17) 1(3) 16 12(5) 0(29) 24 17 0(23) 0(30) 30 0(4) 0 0(29) 1(5)
4 19 6(16) 25 16 1(29) 0(5) 8 28 25(5) 1 0 13 15"""


def tallies(text: str) -> list[Tally]:
    """One of each game."""
    matches = [re.fullmatch(r"(\d+)(?:\((\d+)\))?", word) for word in text.split()]
    return [Tally(int(each[1]), 30, int(each[2] or 0)) for each in matches if each]


@pytest.mark.parametrize(
    ("counts", "wins", "faults", "games", "table_cell", "of_plays"),
    [
        (GPT_4O_MINI, 280, 57, 126, (7.64, 2.26), (7.41, 2.18)),
        (O1, 1291, 407, 125, (36.28, 5.95), (34.15, 5.81)),
    ],
)
def test_the_papers_table_leaves_faults_out_of_the_denominator(
    counts: str,
    wins: int,
    faults: int,
    games: int,
    table_cell: tuple[float, float],
    of_plays: tuple[float, float],
) -> None:
    by_game = tallies(counts)
    assert len(by_game) == 126
    assert sum(tally.wins for tally in by_game) == wins
    assert sum(tally.faults for tally in by_game) == faults
    assert sum(tally.faults < tally.plays for tally in by_game) == games
    rates = over_answers(by_game) or (), over_plays(by_game)
    percent = [[100 * number for number in rate] for rate in rates]
    assert percent[0] == pytest.approx(table_cell, abs=0.005)
    assert percent[1] == pytest.approx(of_plays, abs=0.005)
