"""Games whose equilibria are known, and games made to be hard: continua of equilibria, players with
one action, next to equal actions, payoffs of every size."""

from __future__ import annotations

from itertools import product as pairs

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import minimize
from support.payoffs import ROCK_PAPER_SCISSORS, judge_means, random_game, symmetric

from archive.errors import RatingError
from archive.ratings.equilibria import nearest_cce
from archive.ratings.normal_form import (
    NormalFormGame,
    exploitability,
    product,
    regrets,
    relative_exploitability,
    uniform,
)
from archive.ratings.preferences import (
    KING,
    REBEL,
    TASK,
    king_of_the_hill,
)
from archive.ratings.rating import EquilibriumKind, RatingSettings, TargetEntropy, rate

EITHER = pytest.mark.parametrize("solution", list(EquilibriumKind))
SCALES = pytest.mark.parametrize("scale", [1.0, 1e8, 1e-8])


def game(*payoffs: object) -> NormalFormGame:
    return NormalFormGame(tuple(np.array(each, np.float64) for each in payoffs))


def times(given_game: NormalFormGame, *factors: float) -> NormalFormGame:
    """Each player's payoffs times a factor of its own."""
    return NormalFormGame(
        tuple(factor * each for factor, each in zip(factors, given_game.payoffs, strict=True))
    )


def matching_pennies_of_three() -> NormalFormGame:
    """Jordan's: each wants to differ from, or the last to agree with, the next."""
    a, b, c = np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")
    return game(*(np.where(each, 1, -1) for each in (a != b, b != c, c == a)))


ONLY = {
    "shapley": (
        game(np.roll(np.eye(3), 1, axis=0), np.roll(np.eye(3), 1, axis=1)),
        [[1 / 3] * 3] * 2,
    ),
    "jordan": (matching_pennies_of_three(), [[0.5] * 2] * 3),
    "inspection": (game([[0, -1], [-2, 0]], [[0, 3], [4, 1]]), [[0.5, 0.5], [1 / 3, 2 / 3]]),
    "dominance in two steps": (game([[1, 1], [0, 0]], [[2, 1], [0, 5]]), [[1, 0], [1, 0]]),
}
"""Games with one equilibrium."""
CONTINUA = {
    "weakly dominated": game([[1, 1], [1, 0]], [[1, 1], [1, 0]]),
    "outside option": game([[2, 2], [3, 0], [0, 1]], [[2, 2], [1, 0], [0, 3]]),
    "two components": game(
        [[2, 2, 2, 2], [3, 3, 0, 0], [0, 0, 1, 1]], [[0, 0, 0, 0], [1, 0, 1, 0], [0, 3, 0, 3]]
    ),
    "nothing at stake for one": game(ROCK_PAPER_SCISSORS, np.zeros((3, 3))),
    "a single profile": game([[[7]]], [[[3]]], [[[1]]]),
    "next to equal": game([[1, 0, 0], [0, 1, 1 + 1e-12]], [[0, 1, 1], [1, 0, 1e-12]]),
}
"""Games with many, or with hardly any choice."""


@SCALES
@pytest.mark.parametrize("name", list(ONLY))
def test_the_only_equilibrium_is_found_at_every_scale(name: str, scale: float) -> None:
    given_game, expected = ONLY[name]
    ratings = rate(times(given_game, *[scale] * len(given_game.payoffs)))
    for mass, expected_mass in zip(ratings.masses, expected, strict=True):
        assert mass == pytest.approx(expected_mass, abs=1e-6)


@EITHER
@SCALES
@pytest.mark.parametrize("name", list(CONTINUA))
def test_of_many_equilibria_one_is_reached_at_every_scale(
    name: str, scale: float, solution: EquilibriumKind
) -> None:
    given_game = CONTINUA[name]
    rating_settings = RatingSettings(solution, TargetEntropy.SHANNON)
    plain = rate(given_game, rating_settings)
    ratings = rate(times(given_game, *[scale] * len(given_game.payoffs)), rating_settings)
    assert relative_exploitability(ratings.game, ratings.joint) <= 1e-6
    assert ratings.joint == pytest.approx(plain.joint, abs=1e-5)


@EITHER
@pytest.mark.parametrize("share", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("name", [*ONLY, *CONTINUA])
def test_a_player_with_little_at_stake_still_gains_nothing(
    name: str, share: float, solution: EquilibriumKind
) -> None:
    given_game = CONTINUA[name] if name in CONTINUA else ONLY[name][0]
    factors = [1.0, *[share] * (len(given_game.payoffs) - 1)]
    ratings = rate(times(given_game, *factors), RatingSettings(solution, TargetEntropy.SHANNON))
    assert relative_exploitability(ratings.game, ratings.joint) <= 1e-6


PAYOFFS = st.lists(st.integers(1, 4), min_size=2, max_size=3).flatmap(
    lambda shape: st.tuples(
        *[npst.arrays(np.float64, tuple(shape), elements=st.integers(-2, 2).map(float))]
        * len(shape)
    )
)


@EITHER
@given(payoffs=PAYOFFS)
@settings(deadline=None, max_examples=20)
def test_small_whole_payoffs_with_all_their_ties_end_at_an_equilibrium(
    payoffs: tuple[np.ndarray, ...], solution: EquilibriumKind
) -> None:
    ratings = rate(NormalFormGame(payoffs), RatingSettings(solution))
    assert relative_exploitability(ratings.game, ratings.joint) <= 1e-6


@EITHER
@pytest.mark.parametrize("apart", [1e-8, 1e-6, 1e-4])
def test_copies_that_are_nearly_equal_move_ratings_by_little(
    apart: float, solution: EquilibriumKind
) -> None:
    table = judge_means(3, 6, 4)
    noise = np.triu(np.random.default_rng(0).uniform(-apart, apart, (20, 4, 4)), 1)
    copies = table[[0] * 20] + noise - noise.swapaxes(1, 2)
    rating_settings = RatingSettings(solution)
    ratings, more = (
        rate(king_of_the_hill(each), rating_settings).ratings[1]
        for each in (table, np.concatenate([table, copies]))
    )
    assert more == pytest.approx(ratings, abs=100 * apart + 1e-6)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([uniform(3), uniform(2)], r"found targets of shapes \[\(3,\), \(2,\)\]"),
        ([uniform(3), np.full(3, 0.5)], "that sums to 1.5"),
    ],
)
def test_targets_that_are_no_distributions_are_refused(
    targets: list[np.ndarray], message: str
) -> None:
    with pytest.raises(RatingError, match=message):
        rate(symmetric(ROCK_PAPER_SCISSORS), targets=targets)


def test_more_different_actions_than_fit_into_memory_are_refused() -> None:
    many = np.arange(20_000.0)[:, None]
    with pytest.raises(RatingError, match=r"a game of 20,001 different actions takes 11\.9 GiB"):
        rate(game(many, -many))


# -- The CCE of least divergence from the target ---------------------------------------------------


def aims(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.dirichlet(np.full(size, 3.0)) for size in shape]


def nearest_by_a_general_solver(game: NormalFormGame, targets: list[np.ndarray]) -> np.ndarray:
    start = product(targets)

    def joint(flat: np.ndarray) -> np.ndarray:
        return flat.reshape(game.shape)

    program = minimize(
        lambda x: float(x @ np.log(np.maximum(x, 1e-300) / start.ravel())),
        start.ravel(),
        jac=lambda x: np.log(np.maximum(x, 1e-300) / start.ravel()) + 1,
        bounds=[(1e-12, 1)] * start.size,
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1},
            {"type": "ineq", "fun": lambda x: -np.concatenate(regrets(game, joint(x)))},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    return joint(program.x)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 2, 2), (2, 3, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_a_general_solver_finds(shape: tuple[int, ...], seed: int) -> None:
    game = random_game(seed, shape)
    equilibrium = nearest_cce(game, aims(shape))
    expected = nearest_by_a_general_solver(game, aims(shape))
    assert equilibrium == pytest.approx(expected, abs=2e-3)
    assert exploitability(game, equilibrium) <= 1e-6 * game.span


def test_the_only_equilibrium_of_the_prisoners_dilemma_is_reached() -> None:
    dilemma = symmetric(np.array([[3.0, 0.0], [5.0, 1.0]]))
    equilibrium = nearest_cce(dilemma, [uniform(2), uniform(2)])
    assert equilibrium[1, 1] == pytest.approx(1, abs=1e-6)
    assert exploitability(dilemma, equilibrium) <= 1e-6


# -- King of the hill, other games, and what is refused --------------------------------------------


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


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 3)), r"found preferences of shape \(2, 3\)"),
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
        ((np.zeros((2, 2)), np.zeros((2, 3))), "expected one shape"),
        ((np.zeros((1, 1)), np.full((1, 1), np.inf)), r"found payoff inf of player 1 at \(0, 0\)"),
    ],
)
def test_other_payoffs_are_refused_in_a_sentence(
    payoffs: tuple[np.ndarray, ...], message: str
) -> None:
    with pytest.raises(RatingError, match=message):
        NormalFormGame(payoffs)
