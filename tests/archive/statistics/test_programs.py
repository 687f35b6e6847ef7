"""The paper's tables of games that are programs, from rows: Tables 1, 5, 6, the funnel, Figures 5
and 6."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom
from support.rows import row

from archive.statistics import programs

GAMES = (
    # name, category, author, rules, lines of the program, last stage, whether it passed
    ("a", "number", "chat:m", "one two three.", 10, "opponent", True),
    ("b", "number", "chat:m", "one two.", 20, "opponent", True),
    ("c", "combat", "chat:n", "one", 30, "timeout", False),
    ("d", "combat", "chat:n", "", 0, "", None),
)
STAGES = ("keyword", "execution", "timeout", "opponent")


def rows() -> dict[str, list[dict[str, Any]]]:
    """Four games: two are kept, one is refused, and one has no texts."""
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in programs.NAMES}
    for place, (name, category, author, rules, lines, last, passed) in enumerate(GAMES):
        ids = {"run_id": "r", "program_id": name}
        texts = {"rules": rules, "moves": rules, "source": "\n".join(["x = 1"] * lines)}
        facts = {"title": name.upper(), "category": category, "author": author, "place": place}
        failed = None if last else "rules: the answer is empty"
        tables["gg_games"].append(row("gg_games", **ids, **texts, **facts, failed=failed))
        for stage in STAGES[: STAGES.index(last) + 1] if last else ():
            verdict = passed if stage == last else True
            actions = 3 + place if stage == "execution" else None
            facts = {"stage": stage, "passed": verdict, "actions": actions}
            tables["gg_filters"].append(row("gg_filters", **ids, **facts))
        if passed:
            pair = {"purpose": "confirmation", "winner": "quarter4", "loser": "quarter2"}
            facts = {"passed": True, "wins": 27, "games": 30, "simulations": 100}
            tables["gg_pairs"].append(row("gg_pairs", **ids, **pair, **facts))
            for outcome in ("win", "loss", "fault", "draw"):
                tables["gg_plays"].append(row("gg_plays", **ids, player="p", outcome=outcome))
    return tables


@pytest.fixture(scope="module")
def tables() -> dict[str, list[dict[str, Any]]]:
    return {
        part.title: [dict(zip(part.columns, cells, strict=True)) for cells in part.rows]
        for part in programs.program_tables(rows())
    }


def test_table_1_compares_all_texts_with_those_that_are_kept(tables: dict[str, Any]) -> None:
    description, code, moves, actions = tables["Texts before and after filtering"]
    of_all, of_kept = ("n", "min", "max"), ("n after", "mean after")
    assert [description[name] for name in (*of_all, *of_kept)] == [3, 1, 4, 2, 3.5]
    assert description["SD"] == pytest.approx(np.std([4, 3, 1]))
    assert (code["mean"], code["max after"]) == (20, 20)
    assert moves == description | {"": moves[""]}
    assert (actions["mean"], actions["mean after"], actions["max"]) == (4, 3.5, 5)
    filtered = rows() | {"gg_pairs": [], "gg_plays": []}
    filtered["gg_filters"] = [r for r in filtered["gg_filters"] if r["stage"] != "opponent"]
    [texts] = [each for each in programs.program_tables(filtered) if each.title.startswith("Texts")]
    assert texts.rows[0][texts.columns.index("n after")] == 2, "without players they are filtered"


def test_the_funnel_counts_each_filter(tables: dict[str, Any]) -> None:
    counts = {each["filter"]: (each["games"], each["refused"]) for each in tables["Funnel"]}
    assert list(counts) == ["texts", *STAGES]
    assert list(counts.values()) == [(4, 1), (3, 0), (3, 0), (3, 1), (2, 0)]
    kinds = [[*each.values()] for each in tables["Categories before and after filtering"]]
    assert kinds == [["number", 2, 0.5, 2, 1.0], ["combat", 2, 0.5, 0, 0.0]]
    [player] = tables["Win rates"]
    assert (player["wins / plays"], player["wins / (plays − faults)"]) == (1 / 4, 1 / 3)


def test_a_program_s_tokens_are_in_the_order_of_its_text() -> None:
    kinds = [each for each in programs.tokens("a = 1  # one") if each.isidentifier()]
    assert kinds == ["module", "expression_statement", "assignment", "identifier", "integer"]


# -- Win rates: the two denominators, the interval of the paper, and the two rules for pairs -------


@pytest.mark.parametrize("games", [2, 3, 20])
def test_bounds_cover_a_known_mean_however_few_the_games(games: int) -> None:
    rng, hits = np.random.default_rng(0), 0
    for _ in range(60):
        rates = rng.beta(2, 2, games)
        tallies = [programs.Tally(int(rng.binomial(30, rate)), 30) for rate in rates]
        low, high = programs.bounds(tallies)
        hits += low <= 0.5 <= high
    assert hits >= 54


@pytest.mark.parametrize("tallies", [[(0, 30)] * 3, [(15, 30)] * 2, [(30, 30)], [(2, 30)]])
def test_bounds_on_a_win_rate_are_never_a_point(tallies: list[tuple[int, int]]) -> None:
    low, high = programs.bounds([programs.Tally(*each) for each in tallies])
    wins, plays = (sum(column) for column in zip(*tallies, strict=True))
    assert low <= wins / plays <= high
    assert high - low > 0.03


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


"""Wins in 30 plays of each game and, in brackets, answers that were none."""


@pytest.mark.parametrize(
    ("counts", "wins", "faults", "games", "percent"),
    [
        (GPT_4O_MINI, 280, 57, 126, [(7.64, 2.26), (7.41, 2.18)]),
        (O1, 1291, 407, 125, [(36.28, 5.95), (34.15, 5.81)]),
    ],
)
def test_the_papers_table_leaves_faults_out_of_the_denominator(
    counts: str, wins: int, faults: int, games: int, percent: list[tuple[float, float]]
) -> None:
    matches = [re.fullmatch(r"(\d+)(?:\((\d+)\))?", word) for word in counts.split()]
    by_game = [programs.Tally(int(each[1]), 30, int(each[2] or 0)) for each in matches if each]
    totals = [sum(column) for column in zip(*by_game, strict=True)]
    assert totals == [wins, 126 * 30, faults]
    assert sum(tally.faults < tally.plays for tally in by_game) == games
    rates = programs.over_answers(by_game), programs.over_plays(by_game)
    assert 100 * np.array(rates) == pytest.approx(np.array(percent), abs=0.005)


COUNTS = st.integers(0, 40)
TALLIES = st.lists(
    st.builds(
        lambda won, lost, faults: programs.Tally(won, won + lost + faults, faults), *[COUNTS] * 3
    ),
    min_size=1,
    max_size=20,
).filter(lambda tallies: all(tally.plays for tally in tallies))


@given(TALLIES)
def test_leaving_faults_out_never_lowers_a_rate(tallies: list[programs.Tally]) -> None:
    for tally in tallies:
        paper = programs.over_answers([tally])
        assert paper is None or paper >= programs.over_plays([tally])
    low, high = programs.bounds(tallies)
    assert 0 <= low <= high <= 1


def test_fresh_games_are_hardly_ever_won_by_equals() -> None:
    fewest = min(
        wins for wins in range(31) if programs.passes(programs.PairPurpose.CONFIRMATION, wins, 30)
    )
    assert fewest == 24
    assert not programs.passes(programs.PairPurpose.SELECTION, 4, 5), "above 80 %"
    assert programs.winnow([1, 1, 2], 2) == [1], "the rightmost of equal ones"
    assert programs.similarity([1, 1, 2], [1]) == 3 / 4, "a hash counts as often as it occurs"
    assert binom.sf(fewest - 1, 30, 0.5) == pytest.approx(0.0007, abs=5e-5)
    assert binom.sf(fewest - 1, 30, 0.9) > 0.97
