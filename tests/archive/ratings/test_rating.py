"""What holds of every rating (docs/ratings.md), and the paper's closed examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.payoffs import (
    CHICKEN,
    ROCK_PAPER_SCISSORS,
    again,
    judged,
    preference_tables,
    random_game,
    symmetric,
)

from archive.ratings.evaluation_games import KING, TASK, king_of_the_hill
from archive.ratings.normal_form import NormalFormGame
from archive.ratings.rating import (
    Ratings,
    RatingSettings,
    Selection,
    Solution,
    ranks,
    rate,
)

CCE = RatingSettings(Solution.CCE)
EITHER = pytest.mark.parametrize("chosen", [RatingSettings(), CCE], ids=["ne", "cce"])
SLOW = settings(deadline=None, max_examples=25)


def rated(preferences: np.ndarray, chosen: RatingSettings) -> Ratings:
    return rate(king_of_the_hill(preferences), chosen)


# -- the paper's examples ------------------------------------------------------------------------


@EITHER
@pytest.mark.parametrize("payoff", [ROCK_PAPER_SCISSORS, again(ROCK_PAPER_SCISSORS, 0)])
def test_rock_paper_scissors_rates_all_actions_0(
    payoff: np.ndarray, chosen: RatingSettings
) -> None:
    found = rate(symmetric(payoff), chosen)
    assert np.concatenate(found.ratings) == pytest.approx(0, abs=1e-6)
    folded = found.classes.fold(0, found.masses[0])
    assert folded == pytest.approx(1 / 3, abs=1e-6)


def test_contributions_in_rock_paper_scissors_are_wins_by_mass() -> None:
    found = rate(symmetric(again(ROCK_PAPER_SCISSORS, 0)))
    paper = found.contributions(0, 1)[2]
    assert paper == pytest.approx([1 / 6, 1 / 6, 0, -1 / 3], abs=1e-9)


@pytest.mark.parametrize("payoff", [CHICKEN, again(CHICKEN, 1), again(again(CHICKEN, 1), 0)])
def test_chicken_swerves_11_times_in_12_however_often_an_action_is_copied(
    payoff: np.ndarray,
) -> None:
    game = symmetric(payoff)
    found = rate(game)
    swerve = found.classes.fold(0, found.masses[0])[0]
    assert swerve == pytest.approx(11 / 12, abs=1e-9)
    assert np.vdot(found.joint, game.payoffs[0]) == pytest.approx(-1 / 12, abs=1e-9)
    assert np.concatenate(found.ratings) == pytest.approx(0, abs=1e-9)


def test_under_shannon_entropy_a_copy_changes_the_correlated_equilibrium_of_chicken() -> None:
    chosen = RatingSettings(Solution.CCE, Selection.SHANNON)
    once = rate(symmetric(CHICKEN), chosen).ratings[0]
    twice = rate(symmetric(again(CHICKEN, 1)), chosen).ratings[0]
    assert once == pytest.approx([0, -3.375], abs=1e-3)
    assert twice == pytest.approx([0, -4.178, -4.178], abs=1e-3)


def test_under_shannon_entropy_a_players_copy_turns_chicken_pure() -> None:
    rows = CHICKEN[[0, 1, 1]]
    game = NormalFormGame((rows, CHICKEN.T[[0, 1, 1]]))
    found = rate(game, RatingSettings(selection=Selection.SHANNON))
    assert found.masses[1].max() == pytest.approx(1, abs=1e-9)
    assert rate(game).masses[1] == pytest.approx([11 / 12, 1 / 12], abs=1e-9)


# -- laws ----------------------------------------------------------------------------------------


@EITHER
@given(table=preference_tables())
@SLOW
def test_ratings_are_regrets_at_an_equilibrium(table: np.ndarray, chosen: RatingSettings) -> None:
    found = rated(table, chosen)
    assert found.joint.min() >= 0
    assert found.joint.sum() == pytest.approx(1)
    assert found.exploitability <= 4e-6
    for player in range(3):
        assert found.ratings[player].max() <= found.exploitability + 1e-12
        if chosen.solution is Solution.NE:  # what is correlated may leave every action worse off
            assert found.ratings[player].max() >= -1e-6
            assert found.masses[player] @ found.ratings[player] == pytest.approx(0, abs=1e-12)


@EITHER
@given(table=preference_tables(), data=st.data())
@SLOW
def test_copies_of_games_change_nothing(
    table: np.ndarray, chosen: RatingSettings, data: st.DataObject
) -> None:
    tasks = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=5))
    found, more = rated(table, chosen), rated(np.concatenate([table, table[tasks]]), chosen)
    assert more.ratings[KING] == pytest.approx(found.ratings[KING], abs=1e-6)
    assert more.ratings[TASK][: len(table)] == pytest.approx(found.ratings[TASK], abs=1e-6)
    for player in range(3):
        folded = more.classes.fold(player, more.masses[player])
        before = found.classes.fold(player, found.masses[player])
        assert folded == pytest.approx(before, abs=1e-6)


@EITHER
@given(table=preference_tables(3, 3), data=st.data())
@SLOW
def test_copies_of_models_change_nothing(
    table: np.ndarray, chosen: RatingSettings, data: st.DataObject
) -> None:
    models = table.shape[1]
    copied = data.draw(st.lists(st.integers(0, models - 1), min_size=1, max_size=3))
    places = [*range(models), *copied]
    found, more = rated(table, chosen), rated(table[:, places][:, :, places], chosen)
    assert more.ratings[KING] == pytest.approx(found.ratings[KING][places], abs=1e-6)
    assert more.ratings[TASK] == pytest.approx(found.ratings[TASK], abs=1e-6)


@EITHER
def test_a_permutation_of_games_and_models_permutes_the_ratings(chosen: RatingSettings) -> None:
    table, rng = judged(3, 12, 5), np.random.default_rng(0)
    tasks, models = rng.permutation(12), rng.permutation(5)
    found, moved = rated(table, chosen), rated(table[tasks][:, models][:, :, models], chosen)
    assert moved.ratings[TASK] == pytest.approx(found.ratings[TASK][tasks], abs=1e-6)
    assert moved.ratings[KING] == pytest.approx(found.ratings[KING][models], abs=1e-6)


@EITHER
@pytest.mark.parametrize("scale", [0.01, 7.0])
def test_ratings_scale_with_payoffs(chosen: RatingSettings, scale: float) -> None:
    game = random_game(5, (4, 3, 3))
    scaled = NormalFormGame(tuple(scale * each + 3 for each in game.payoffs))
    found, other = rate(game, chosen), rate(scaled, chosen, targets=rate(game, chosen).targets)
    for before, after in zip(found.ratings, other.ratings, strict=True):
        assert after == pytest.approx(scale * before, abs=1e-5 * scale)


@EITHER
@pytest.mark.parametrize(("player", "co_player"), [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1)])
def test_contributions_sum_to_the_ratings(
    chosen: RatingSettings, player: int, co_player: int
) -> None:
    found = rate(random_game(2, (4, 3, 2)), chosen)
    parts = found.contributions(player, co_player)
    assert parts.shape == (found.game.shape[player], found.game.shape[co_player])
    assert parts.sum(axis=1) == pytest.approx(found.ratings[player], abs=1e-9)


@EITHER
def test_a_model_that_loses_everywhere_is_rated_below_0(chosen: RatingSettings) -> None:
    table = judged(1, 6, 4)
    table[:, 3, :3], table[:, :3, 3] = -0.75, 0.75
    table[:, 3, 3] = 0
    assert rated(table, chosen).ratings[KING][3] < 0


# -- limits --------------------------------------------------------------------------------------


@EITHER
def test_equal_models_are_all_rated_0_and_games_share_alike(chosen: RatingSettings) -> None:
    found = rated(np.zeros((3, 4, 4)), chosen)
    assert np.concatenate(found.ratings) == pytest.approx(0, abs=1e-9)
    assert found.masses[TASK] == pytest.approx(1 / 3)


@EITHER
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 3)])
def test_one_game_or_one_model_is_rated(chosen: RatingSettings, shape: tuple[int, int]) -> None:
    found = rated(judged(0, *shape), chosen)
    assert [each.shape for each in found.ratings] == [(shape[0],), (shape[1],), (shape[1],)]
    assert found.exploitability <= 1e-6


def test_the_same_table_gives_the_same_bytes() -> None:
    one, other = (rated(judged(4, 8, 4), RatingSettings()) for _ in range(2))
    assert one.joint.tobytes() == other.joint.tobytes()


def test_the_effective_number_counts_classes_and_not_copies() -> None:
    table = np.zeros((2, 3, 3))
    found = rated(table, RatingSettings())
    assert found.effective_number(TASK) == pytest.approx(1)
    assert rate(symmetric(again(ROCK_PAPER_SCISSORS, 0))).effective_number(0) == pytest.approx(3)


def test_near_ratings_share_a_rank() -> None:
    assert ranks(np.array([0.0, -0.5, -0.00005, -0.2])).tolist() == [1, 4, 1, 3]
