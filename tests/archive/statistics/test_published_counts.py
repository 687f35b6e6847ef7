"""The score of the paper's main table, from the counts that its authors published.

Wins of 126 games of 30 plays, faults in brackets: results/gpt-4o-mini_eval_20250304_204004.json and
results/o1_eval_20250422_061810.json of vivek3141/gg-bench at commit e50cbf1. The figures that the
paper prints come out where a fault of either side counts: the model's, and six of its opponent's.
"""

from __future__ import annotations

import re

import pytest

from archive.statistics.programs import Tally, over_answers, over_plays

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
