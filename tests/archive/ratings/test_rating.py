"""What holds of every rating (docs/explanation/ratings.md), and the paper's closed examples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.payoffs import judge_means, preference_tables, random_game

from archive.ratings.normal_form import NormalFormGame
from archive.ratings.preferences import KING, TASK, king_of_the_hill
from archive.ratings.rating import (
    EquilibriumKind,
    Ratings,
    RatingSamples,
    TargetEntropy,
    ranks,
    rate,
)

NE, CCE = EquilibriumKind
EITHER = pytest.mark.parametrize("solution", list(EquilibriumKind))
SLOW = settings(max_examples=12)


def rate_table(preferences: np.ndarray, solution: EquilibriumKind) -> Ratings:
    return rate(king_of_the_hill(preferences), solution)


ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
CHICKEN = np.array([[0.0, -1.0], [1.0, -12.0]])  # swerve, straight


def symmetric(
    payoff: np.ndarray,
    *places: int,
    solution: EquilibriumKind = NE,
    selection: TargetEntropy = TargetEntropy.AFFINITY,
) -> Ratings:
    """Of two players whose actions are those at these places, one of them perhaps twice."""
    table = payoff[np.ix_(places, places)]
    return rate(NormalFormGame((table, table.T)), solution, selection)


@pytest.mark.parametrize("places", [(0, 1, 2), (0, 0, 1, 2)])
def test_rock_paper_scissors(places: tuple[int, ...]) -> None:
    """App. D, also with rock twice."""
    found = symmetric(ROCK_PAPER_SCISSORS, *places)
    assert found.ratings[0] == pytest.approx(0, abs=1e-3)
    assert found.classes.fold(0, found.masses[0]) == pytest.approx(1 / 3, abs=1e-3)
    added_to_paper = found.contributions(0, 1)[-2]
    rock = [1 / 3] if len(places) == 3 else [1 / 6, 1 / 6]
    assert added_to_paper == pytest.approx([*rock, 0, -1 / 3], abs=1e-3)


@pytest.mark.parametrize(("places", "cce"), [((0, 1), -3.375), ((0, 1, 1), -4.178)])
def test_chicken(places: tuple[int, ...], cce: float) -> None:
    """App. E, also with straight twice; under Shannon entropy a copy changes what is selected."""
    found, shannon = symmetric(CHICKEN, *places), TargetEntropy.SHANNON
    assert found.classes.fold(0, found.masses[0])[0] == pytest.approx(11 / 12, abs=1e-3)
    assert np.vdot(found.joint, found.game.payoffs[0]) == pytest.approx(-1 / 12, abs=1e-3)
    assert found.ratings[0] == pytest.approx(0, abs=1e-3)
    by_shannon = symmetric(CHICKEN, *places, solution=CCE, selection=shannon)
    assert by_shannon.ratings[0] == pytest.approx([0, *[cce] * (len(places) - 1)], abs=1e-3)
    uneven = NormalFormGame((CHICKEN[[0, 1, 1]], CHICKEN.T[[0, 1, 1]]))
    pure = rate(uneven, selection=shannon).masses[1]
    assert pure.max() == pytest.approx(1, abs=1e-3)


@EITHER
@given(table=preference_tables())
@SLOW
def test_ratings_are_regrets_at_an_equilibrium(
    table: np.ndarray, solution: EquilibriumKind
) -> None:
    ratings = rate_table(table, solution)
    assert ratings.joint.min() >= 0
    assert ratings.joint.sum() == pytest.approx(1)
    assert ratings.exploitability <= 4e-6
    for player in range(3):
        assert ratings.ratings[player].max() <= ratings.exploitability + 1e-12
        if solution is NE:  # what is correlated may leave every action worse off
            assert ratings.ratings[player].max() >= -1e-6
            assert ratings.masses[player] @ ratings.ratings[player] == pytest.approx(0, abs=1e-12)


def places(data: st.DataObject, count: int) -> list[int]:
    """Each of so many once or more, in any order."""
    copies = data.draw(st.lists(st.integers(0, count - 1), max_size=4))
    return data.draw(st.permutations([*range(count), *copies]))


SIXTEENTHS = (0, -5, -12), (-16, -5, -5), (-5, -5, -5)  # an end of a continuum is the limit
CONTINUUM = np.array([[[0, a, b], [-a, 0, c], [-b, -c, 0]] for a, b, c in SIXTEENTHS]) / 16


@EITHER
@given(table=preference_tables(3, 3) | st.just(CONTINUUM), data=st.data())
@settings(max_examples=30)
def test_copies_and_order_of_games_and_models_change_nothing(
    table: np.ndarray, solution: EquilibriumKind, data: st.DataObject
) -> None:
    tasks, models = places(data, len(table)), places(data, table.shape[1])
    ratings = rate_table(table, solution)
    more = rate_table(table[tasks][:, models][:, :, models], solution)
    for player, its in ((KING, models), (TASK, tasks)):
        assert more.ratings[player] == pytest.approx(ratings.ratings[player][its], abs=1e-6)
        folded = (each.classes.fold(player, each.masses[player]) for each in (ratings, more))
        before, after = map(sorted, folded)
        assert after == pytest.approx(before, abs=1e-6)


@EITHER
@pytest.mark.parametrize("scale", [0.01, 7.0])
def test_ratings_scale_with_payoffs(solution: EquilibriumKind, scale: float) -> None:
    game = random_game(5, (4, 3, 3))
    scaled_game = NormalFormGame(tuple(scale * each + 3 for each in game.payoffs))
    ratings, other = (rate(each, solution, TargetEntropy.SHANNON) for each in (game, scaled_game))
    for before, after in zip(ratings.ratings, other.ratings, strict=True):
        assert after == pytest.approx(scale * before, abs=1e-5 * scale)


@EITHER
@pytest.mark.parametrize(("player", "co_player"), [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1)])
def test_contributions_are_gains_where_the_co_player_acts_and_sum_to_the_ratings(
    solution: EquilibriumKind, player: int, co_player: int
) -> None:
    ratings = rate(random_game(2, (4, 3, 2)), solution)
    payoff, parts = ratings.game.payoffs[player], ratings.contributions(player, co_player)
    expected = np.zeros((payoff.shape[player], payoff.shape[co_player]))
    for cell, action in product(np.ndindex(payoff.shape), range(len(expected))):
        deviation = *cell[:player], action, *cell[player + 1 :]
        gain = payoff[deviation] - payoff[cell]
        expected[action, cell[co_player]] += ratings.joint[cell] * gain
    assert parts == pytest.approx(expected, abs=1e-9)
    assert parts.sum(axis=1) == pytest.approx(ratings.ratings[player], abs=1e-9)


def test_the_same_table_gives_the_same_bytes() -> None:
    one, other = (rate_table(judge_means(4, 8, 4), NE) for _ in range(2))
    assert one.joint.tobytes() == other.joint.tobytes()


def test_of_two_models_closer_than_a_tie_neither_is_above() -> None:
    models = np.array([[0.0, 0.0], [5e-5, 0.0], [0.1, 0.0]])
    samples = RatingSamples(models, np.zeros((3, 1)), np.ones((3, 1)), failures=0)
    assert samples.above[0, 1] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert samples.first.tolist() == [1.0, pytest.approx(2 / 3)]
    assert ranks(np.array([0, -9e-5, -18e-5])).tolist() == [1, 1, 3], "from the best of a rank"
