"""Games whose equilibria are known, and games made to be hard: continua of equilibria, players with
one action, next to equal actions, payoffs of every size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import linprog, minimize
from scipy.special import softmax, xlogy
from support.payoffs import antisymmetric, judge_means, random_game

from archive.ratings import normal_form
from archive.ratings.equilibria import limiting_logit_equilibrium, nearest_cce
from archive.ratings.preferences import king_of_the_hill, mean_preferences, wins
from archive.ratings.rating import EquilibriumKind, TargetEntropy, rate

EITHER = pytest.mark.parametrize("solution", list(EquilibriumKind))
SCALES = pytest.mark.parametrize("scale", [1e8, 1e-8])


def game(*payoffs: object) -> normal_form.NormalFormGame:
    return normal_form.NormalFormGame(tuple(np.array(each, np.float64) for each in payoffs))


def uniform(game: normal_form.NormalFormGame) -> list[np.ndarray]:
    return [np.full(size, 1 / size) for size in game.shape]


def times(given_game: normal_form.NormalFormGame, *factors: float) -> normal_form.NormalFormGame:
    """Each player's payoffs times a factor of its own."""
    return normal_form.NormalFormGame(
        tuple(factor * each for factor, each in zip(factors, given_game.payoffs, strict=True))
    )


def matching_pennies_of_three() -> normal_form.NormalFormGame:
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
    "nothing at stake for one": game([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], np.zeros((3, 3))),
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
    how = solution, TargetEntropy.SHANNON
    plain = rate(given_game, *how)
    ratings = rate(times(given_game, *[scale] * len(given_game.payoffs)), *how)
    assert normal_form.relative_exploitability(ratings.game, ratings.joint) <= 1e-6
    assert ratings.joint == pytest.approx(plain.joint, abs=1e-5)


@EITHER
@pytest.mark.parametrize("share", [1e-3, 1e-8])
@pytest.mark.parametrize("name", [*ONLY, *CONTINUA])
def test_a_player_with_little_at_stake_still_gains_nothing(
    name: str, share: float, solution: EquilibriumKind
) -> None:
    given_game = CONTINUA[name] if name in CONTINUA else ONLY[name][0]
    factors = [1.0, *[share] * (len(given_game.payoffs) - 1)]
    ratings = rate(times(given_game, *factors), solution, TargetEntropy.SHANNON)
    assert normal_form.relative_exploitability(ratings.game, ratings.joint) <= 1e-6


PAYOFFS = st.lists(st.integers(1, 4), min_size=2, max_size=3).flatmap(
    lambda shape: st.tuples(
        *[npst.arrays(np.float64, tuple(shape), elements=st.integers(-2, 2).map(float))]
        * len(shape)
    )
)


@EITHER
@given(payoffs=PAYOFFS)
@settings(max_examples=20)
def test_small_whole_payoffs_with_all_their_ties_end_at_an_equilibrium(
    payoffs: tuple[np.ndarray, ...], solution: EquilibriumKind
) -> None:
    ratings = rate(normal_form.NormalFormGame(payoffs), solution)
    assert normal_form.relative_exploitability(ratings.game, ratings.joint) <= 1e-6


@EITHER
@pytest.mark.parametrize("apart", [1e-8, 1e-5])
def test_copies_that_are_nearly_equal_move_ratings_by_little(
    apart: float, solution: EquilibriumKind
) -> None:
    table = judge_means(3, 6, 4)
    noise = np.triu(np.random.default_rng(0).uniform(-apart, apart, (20, 4, 4)), 1)
    copies = table[[0] * 20] + noise - noise.swapaxes(1, 2)
    ratings, more = (
        rate(king_of_the_hill(each), solution).ratings[1]
        for each in (table, np.concatenate([table, copies]))
    )
    assert more == pytest.approx(ratings, abs=100 * apart + 1e-6)


def aims(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.dirichlet(np.full(size, 3.0)) for size in shape]


def nearest(
    target: normal_form.Array,
    start: normal_form.Array,
    least_zero: Callable[[normal_form.Array], normal_form.Array],
) -> normal_form.Array:
    """The distribution of least divergence from the target, of those for which nothing is below
    zero, by a general solver."""
    program = minimize(
        lambda x: float(np.sum(xlogy(x, x / target))),
        start,
        bounds=[(0, 1)] * target.size,
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1},
            {"type": "ineq", "fun": least_zero},
        ],
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    found: normal_form.Array = program.x
    return found


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 2, 2), (2, 3, 2)])
def test_it_is_what_a_general_solver_finds(shape: tuple[int, ...]) -> None:
    game = random_game(2, shape)
    equilibrium = nearest_cce(game, aims(shape))
    target = normal_form.product(aims(shape)).ravel()
    expected = nearest(
        target, target, lambda x: -np.concatenate(normal_form.regrets(game, x.reshape(game.shape)))
    )
    assert equilibrium.ravel() == pytest.approx(expected, abs=2e-3)
    assert normal_form.exploitability(game, equilibrium) <= 1e-6 * game.span


def nearest_optimal(payoff: normal_form.Array, target: normal_form.Array) -> normal_form.Array:
    """Of the optimal strategies of the row player of a zero-sum game the one of least divergence
    from the target."""
    rows, columns = payoff.shape
    program = linprog(
        np.append(np.zeros(rows), -1.0),
        np.hstack([-payoff.T, np.ones((columns, 1))]),
        np.zeros(columns),
        np.append(np.ones(rows), 0.0)[None],
        [1.0],
        [(0, None)] * rows + [(None, None)],
    )
    return nearest(target, program.x[:rows], lambda x: x @ payoff - program.x[-1])


def test_of_two_pure_equilibria_the_path_ends_at_the_risk_dominant_one() -> None:
    stag_hunt = game([[4, 0], [3, 3]], [[4, 3], [0, 3]])
    equilibrium = limiting_logit_equilibrium(stag_hunt, uniform(stag_hunt))
    assert equilibrium[0] == pytest.approx([0, 1], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_in_zero_sum_games_the_limit_is_nearest_to_the_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoff = rng.integers(-2, 3, size=rng.integers(2, 6, size=2)).astype(float)
    aims = [rng.dirichlet(np.ones(size)) for size in payoff.shape]
    path = limiting_logit_equilibrium(normal_form.NormalFormGame((payoff, -payoff)), aims)
    expected = nearest_optimal(payoff, aims[0]), nearest_optimal(-payoff.T, aims[1])
    for one, other in zip(path, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (6, 6), (2, 2, 2), (3, 3, 3)])
def test_gambit_traces_the_same_branch(shape: tuple[int, ...]) -> None:
    gambit = pytest.importorskip("pygambit")
    for seed in range(8):
        game = random_game(seed, shape)
        table = gambit.StrategicGame.from_arrays(*game.payoffs)
        theirs = gambit.nash.logit_solve(table).equilibrium
        ours = limiting_logit_equilibrium(game, uniform(game))
        for one, other in zip(ours, theirs, strict=True):
            assert one == pytest.approx([float(share) for _, share in other], abs=1e-4)


def eighths(seed: int) -> normal_form.NormalFormGame:
    """Eleven tasks and five models, with many ties."""
    samples = np.random.default_rng(seed).uniform(-8, 8, (11, 5, 5))
    return king_of_the_hill(antisymmetric(np.round(samples) / 8))


@pytest.mark.parametrize(
    ("game", "temperature"),
    [
        *((eighths(seed), at) for seed, at in ((125, 0.1), (129, 0.05), (205, 0.1))),
        (random_game(1, (4, 3, 3)), 1.0),
    ],
)
def test_a_path_to_a_temperature_stops_there_where_players_answer_by_softmax(
    game: normal_form.NormalFormGame, temperature: float
) -> None:
    targets = uniform(game)
    equilibrium = limiting_logit_equilibrium(game, targets, temperature)
    cross = normal_form.cross_derivatives(game, equilibrium)
    for i, (strategy, aim) in enumerate(zip(equilibrium, targets, strict=True)):
        j = 1 if i == 0 else 0
        gains = cross[i, j] @ equilibrium[j]
        assert strategy == pytest.approx(softmax(np.log(aim) + gains / temperature), abs=1e-6)


EXAMPLE = Path(__file__).parents[3] / "docs" / "how-to" / "ratings_example.csv"


def test_each_clean_sweep_gives_a_pure_equilibrium_for_each_rival() -> None:
    """Table 1, on the table of docs/how-to/leaderboard.md."""
    scores = np.genfromtxt(EXAMPLE, delimiter=",", skip_header=1)[:, 1:]
    table = mean_preferences([wins(column[:, None]) for column in scores.T])
    game, models = king_of_the_hill(table), range(table.shape[1])
    best = [u >= u.max(axis=i, keepdims=True) - 1e-12 for i, u in enumerate(game.payoffs)]
    pure = {tuple(each) for each in np.argwhere(np.logical_and.reduce(best)).tolist()}
    sweeps = np.argwhere((table >= 1 - 1e-12).sum(axis=2) == len(models) - 1).tolist()
    assert len(sweeps) == 12
    assert {(t, m, r) for t, m in sweeps for r in models if r != m} <= pure
    for profile in pure:
        joint = np.zeros(game.shape)
        joint[profile] = 1
        assert normal_form.exploitability(game, joint) == 0
