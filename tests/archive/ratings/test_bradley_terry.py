"""Elo by maximum likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from support.payoffs import antisymmetric, judge_means

from archive.errors import RatingError
from archive.ratings.preferences import elo, separability


def test_odds_of_10_to_1_are_400_points() -> None:
    share = 10 / 11
    table = antisymmetric(np.full((3, 2, 2), 2 * share - 1))
    assert elo(table) == pytest.approx([1200, 800])


def test_in_a_full_tournament_the_order_is_that_of_mean_preferences() -> None:
    table = judge_means(0, 30, 8)
    order = np.argsort(elo(table))
    assert order.tolist() == np.argsort(table.mean(axis=(0, 2))).tolist()


def test_expected_wins_are_the_wins() -> None:
    table = judge_means(1, 20, 5)
    ratings = elo(table)
    chance = 1 / (1 + 10 ** ((ratings[None] - ratings[:, None]) / 400))
    wins = (1 + table.mean(axis=0)) / 2
    np.fill_diagonal(wins, 0.5)
    assert chance.sum(axis=1) == pytest.approx(wins.sum(axis=1), abs=1e-6)
    assert ratings.mean() == pytest.approx(1000)


def test_a_model_that_won_everything_has_an_elo_only_beside_drawn_comparisons() -> None:
    table = antisymmetric(np.ones((2, 3, 3)))
    with pytest.raises(RatingError, match="Elo is infinite"):
        elo(table)
    first, second, third = elo(table, draws=1.0)
    assert first > second > third


def test_a_lone_model_has_the_mean() -> None:
    assert elo(np.zeros((4, 1, 1))) == pytest.approx([1000])


def test_separability_is_the_mean_distance_of_pairs() -> None:
    assert separability(antisymmetric(np.full((1, 2, 2), 0.5))) == pytest.approx([0.25])
