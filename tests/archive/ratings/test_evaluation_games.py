"""King of the hill, other games, and what is refused."""

from __future__ import annotations

from itertools import product as pairs

import numpy as np
import pytest
from support.payoffs import judge_means

from archive.errors import RatingError
from archive.ratings.normal_form import NormalFormGame, exploitability, product
from archive.ratings.preferences import (
    KING,
    REBEL,
    TASK,
    king_of_the_hill,
)


def pure(game: NormalFormGame, *actions: int) -> np.ndarray:
    return product([np.eye(n)[a] for n, a in zip(game.shape, actions, strict=True)])


def test_king_of_the_hill() -> None:
    table = judge_means(0, 3, 4)
    game = king_of_the_hill(table)
    assert (game.payoffs[TASK] == np.abs(table)).all()
    assert (game.payoffs[KING] == table).all()
    for king, rebel in pairs(range(4), range(4)):
        expected = -1.0 if king == rebel else -table[:, king, rebel]
        assert (game.payoffs[REBEL][:, king, rebel] == expected).all()


def test_the_rebel_cannot_hide_behind_a_copy_of_the_king() -> None:
    places = [0, 0, 1]
    table = judge_means(0, 3, 2)[:, places][:, :, places]
    assert (king_of_the_hill(table).payoffs[REBEL][:, 0, 1] == -1).all()
    assert (king_of_the_hill(table, rebel_may_copy=True).payoffs[REBEL][:, 0, 1] == 0).all()


def test_a_clean_sweep_gives_a_pure_equilibrium_for_every_rebel() -> None:
    """Table 1: a model that wins a game against all M − 1 others."""
    table = judge_means(0, 4, 5)
    table[2, 1], table[2, :, 1] = 1.0, -1.0
    table[2, 1, 1] = 0.0
    game = king_of_the_hill(table)
    for rebel in (0, 2, 3, 4):
        assert exploitability(game, pure(game, 2, 1, rebel)) == 0
    assert exploitability(game, pure(game, 2, 0, 1)) > 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 3)), r"found preferences of shape \(2, 3\)"),
        (np.zeros((0, 3, 3)), "at least one of each"),
        (np.ones((2, 3, 3)), "expected u"),
        (np.full((1, 2, 2), np.nan), "found nan for models 0 and 0 on task 0"),
    ],
)
def test_other_tables_are_refused_in_a_sentence(table: np.ndarray, message: str) -> None:
    with pytest.raises(RatingError, match=message):
        king_of_the_hill(table)


def test_a_table_too_large_for_memory_is_refused_before_it_is_built() -> None:
    table = np.broadcast_to(np.zeros(1), (10_000_000, 10, 10))
    with pytest.raises(RatingError, match="rate fewer tasks or fewer models"):
        king_of_the_hill(table)


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        ((np.zeros((2, 2)),), "at least two players"),
        ((np.zeros((2, 2)), np.zeros((2, 3))), "expected one shape"),
        ((np.zeros((2, 0)), np.zeros((2, 0))), "none of them empty"),
        ((np.zeros((1, 1)), np.full((1, 1), np.inf)), r"found payoff inf of player 1 at \(0, 0\)"),
    ],
)
def test_other_payoffs_are_refused_in_a_sentence(
    payoffs: tuple[np.ndarray, ...], message: str
) -> None:
    with pytest.raises(RatingError, match=message):
        NormalFormGame(payoffs)
