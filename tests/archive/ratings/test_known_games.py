"""Games whose equilibria are known, and games made to be hard: continua of equilibria, players with
one action, next to equal actions, payoffs of every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from support.payoffs import ROCK_PAPER_SCISSORS, judge_means, symmetric

from archive.errors import RatingError
from archive.ratings.affinity import uniform
from archive.ratings.normal_form import NormalFormGame, relative_exploitability
from archive.ratings.preferences import king_of_the_hill
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
    "uneven pennies": (game([[3, 0], [0, 1]], [[0, 1], [1, 0]]), [[0.5, 0.5], [0.25, 0.75]]),
    "inspection": (game([[0, -1], [-2, 0]], [[0, 3], [4, 1]]), [[0.5, 0.5], [1 / 3, 2 / 3]]),
    "dominance in two steps": (game([[1, 1], [0, 0]], [[2, 1], [0, 5]]), [[1, 0], [1, 0]]),
}
"""Games with one equilibrium."""
CONTINUA = {
    "a row player that does not care": game([[1, 0], [1, 0]], [[1, 0], [0, 1]]),
    "weakly dominated": game([[1, 1], [1, 0]], [[1, 1], [1, 0]]),
    "outside option": game([[2, 2], [3, 0], [0, 1]], [[2, 2], [1, 0], [0, 3]]),
    "two components": game(
        [[2, 2, 2, 2], [3, 3, 0, 0], [0, 0, 1, 1]], [[0, 0, 0, 0], [1, 0, 1, 0], [0, 3, 0, 3]]
    ),
    "nothing at stake for one": game(ROCK_PAPER_SCISSORS, np.zeros((3, 3))),
    "a single row": game([[1, 2, 3]], [[0, 5, 5]]),
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
@settings(deadline=None, max_examples=40)
def test_small_whole_payoffs_with_all_their_ties_end_at_an_equilibrium(
    payoffs: tuple[np.ndarray, ...], solution: EquilibriumKind
) -> None:
    ratings = rate(NormalFormGame(payoffs), RatingSettings(solution))
    assert relative_exploitability(ratings.game, ratings.joint) <= 1e-6


@EITHER
@pytest.mark.parametrize("apart", [1e-13, 1e-12, 1e-10])
def test_copies_within_rounding_are_copies(apart: float, solution: EquilibriumKind) -> None:
    table = judge_means(3, 6, 4)
    random = np.random.default_rng(0)
    noise = np.triu(random.uniform(-apart, apart, (2, 4, 4)), 1)
    copies = table[[0, 3]] + noise - noise.swapaxes(1, 2)
    rating_settings = RatingSettings(solution)
    ratings, more = (
        rate(king_of_the_hill(each), rating_settings)
        for each in (table, np.concatenate([table, copies]))
    )
    assert more.classes.labels[0].tolist() == [0, 1, 2, 3, 4, 5, 0, 3]
    for before, after in zip(ratings.ratings, more.ratings, strict=True):
        assert after[: len(before)] == pytest.approx(before, abs=1e-6)


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


def test_all_equal_columns_are_one() -> None:
    ratings = rate(game([[1, 1, 1], [0, 0, 0]], [[2, 2, 2], [3, 3, 3]]))
    assert ratings.classes.labels[1].tolist() == [0, 0, 0]
    assert ratings.masses[1] == pytest.approx([1 / 3] * 3)
    assert ratings.masses[0] == pytest.approx([1, 0], abs=1e-9)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([uniform(3), uniform(2)], r"found targets of shapes \[\(3,\), \(2,\)\]"),
        ([uniform(3), np.array([1.0, 0.0, 0.0])], "found a target of player 1 from 0 up"),
        ([uniform(3), np.full(3, 0.5)], "that sums to 1.5"),
        ([uniform(3), np.full(3, np.nan)], "found a target of player 1 from nan up"),
    ],
)
def test_targets_that_are_no_distributions_are_refused(
    targets: list[np.ndarray], message: str
) -> None:
    with pytest.raises(RatingError, match=message):
        rate(symmetric(ROCK_PAPER_SCISSORS), targets=targets)


@pytest.mark.parametrize("name", ["variance", "temperature"])
def test_settings_that_mean_nothing_are_refused(name: str) -> None:
    with pytest.raises(RatingError, match=f"{name}: found -1"):
        RatingSettings(**{name: -1})  # type: ignore[arg-type]


def test_more_different_actions_than_fit_into_memory_are_refused() -> None:
    many = np.arange(20_000.0)[:, None]
    with pytest.raises(RatingError, match=r"a game of 20,001 different actions takes 11\.9 GiB"):
        rate(game(many, -many))
