"""The limiting logit equilibrium against games whose equilibrium is known, the zero-sum theorem
and, in the long tests, an independent solver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import softmax, xlogy
from support.payoffs import random_game, symmetric

from archive.errors import RatingError
from archive.ratings.equilibria import limiting_logit_equilibrium
from archive.ratings.normal_form import (
    Array,
    NormalFormGame,
    cross_derivatives,
    exploitability,
    uniform,
)
from archive.ratings.paper import (
    clean_sweeps,
    coordination_payoffs,
    leader_scores,
    pure_equilibria,
)
from archive.ratings.preferences import king_of_the_hill, mean_preferences, wins

STAG_HUNT = np.array([[4.0, 0.0], [3.0, 3.0]])


def starts(game: NormalFormGame) -> list[np.ndarray]:
    return [uniform(size) for size in game.shape]


def softmax_answers(
    game: NormalFormGame, strategies: Sequence[Array], targets: Sequence[Array], temperature: float
) -> list[Array]:
    """Each player's softmax answer, from its target, to what the others play."""
    cross = cross_derivatives(game, strategies)
    others = [next(j for j in game.players if j != i) for i in game.players]
    gains = [cross[i, j] @ strategies[j] for i, j in zip(game.players, others, strict=True)]
    return [softmax(np.log(t) + g / temperature) for t, g in zip(targets, gains, strict=True)]


def nearest_optimal(payoff: Array, target: Array) -> Array:
    """Of the optimal strategies of the row player of a zero-sum game the one of least divergence
    from the target, by two general solvers."""
    rows, columns = payoff.shape
    program = linprog(
        np.append(np.zeros(rows), -1.0),
        np.hstack([-payoff.T, np.ones((columns, 1))]),
        np.zeros(columns),
        np.append(np.ones(rows), 0.0)[None],
        [1.0],
        [(0, None)] * rows + [(None, None)],
    )
    solution = minimize(
        lambda x: float(np.sum(xlogy(x, x / target))),
        program.x[:rows],
        bounds=[(0, 1)] * rows,
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1},
            {"type": "ineq", "fun": lambda x: x @ payoff - program.x[-1]},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    nearest: Array = solution.x
    return nearest


def test_of_two_pure_equilibria_the_path_ends_at_the_risk_dominant_one() -> None:
    game = symmetric(STAG_HUNT)
    equilibrium = limiting_logit_equilibrium(game, starts(game))
    assert equilibrium.strategies[0] == pytest.approx([0, 1], abs=1e-9)


def test_the_path_goes_through_folds() -> None:
    equilibria = [
        limiting_logit_equilibrium(game, starts(game))
        for game in (random_game(seed, (6, 6, 6)) for seed in range(8))
    ]
    assert sum(each.folds for each in equilibria) > 0
    assert max(each.exploitability for each in equilibria) < 1e-9


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_at_a_temperature_every_player_answers_by_softmax(temperature: float) -> None:
    game = random_game(1, (4, 3, 3))
    aims = [np.random.default_rng(0).dirichlet(np.ones(size)) for size in game.shape]
    equilibrium = limiting_logit_equilibrium(game, aims, temperature)
    for one, answer in zip(
        equilibrium.strategies,
        softmax_answers(game, equilibrium.strategies, aims, temperature),
        strict=True,
    ):
        assert one == pytest.approx(answer, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_in_zero_sum_games_the_limit_is_nearest_to_the_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoff = rng.integers(-2, 3, size=rng.integers(2, 6, size=2)).astype(float)
    aims = [rng.dirichlet(np.ones(size)) for size in payoff.shape]
    path = limiting_logit_equilibrium(NormalFormGame((payoff, -payoff)), aims)
    expected = nearest_optimal(payoff, aims[0]), nearest_optimal(-payoff.T, aims[1])
    for one, other in zip(path.strategies, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_a_path_that_cannot_be_followed_is_an_error_and_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("archive.ratings.equilibria._MOST_STEPS", 5)
    game = random_game(1, (4, 3, 3))
    with pytest.raises(RatingError, match="give a higher temperature, or rate by CCE"):
        limiting_logit_equilibrium(game, starts(game))


@pytest.mark.long
@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (6, 6), (2, 2, 2), (3, 3, 3)])
def test_gambit_traces_the_same_branch(shape: tuple[int, ...]) -> None:
    gambit = pytest.importorskip("pygambit")
    for seed in range(8):
        game = random_game(seed, shape)
        table = gambit.StrategicGame.from_arrays(*game.payoffs)
        theirs = gambit.nash.logit_solve(table).equilibrium
        ours = limiting_logit_equilibrium(game, starts(game))
        for one, other in zip(ours.strategies, theirs, strict=True):
            assert one == pytest.approx([float(share) for _, share in other], abs=1e-4)


@pytest.mark.parametrize(("seed", "temperature"), [(125, 0.1), (129, 0.05), (205, 0.1), (0, 1.0)])
def test_a_path_to_a_temperature_stops_there_and_not_beyond(seed: int, temperature: float) -> None:
    samples = np.random.default_rng(seed).uniform(-8, 8, (11, 5, 5))
    upper = np.triu(np.round(samples) / 8, 1)
    game = king_of_the_hill(upper - upper.swapaxes(1, 2))
    equilibrium = limiting_logit_equilibrium(game, starts(game), temperature)
    assert equilibrium.temperature == temperature
    answers = softmax_answers(game, equilibrium.strategies, starts(game), temperature)
    for one, answer in zip(equilibrium.strategies, answers, strict=True):
        assert one == pytest.approx(answer, abs=1e-6)


# -- Pure equilibria, sweeps, and payoffs of players that miscoordinate ----------------------------

"""Stag pays more where both choose it, hare is safe: risk-dominant."""


def test_each_clean_sweep_gives_a_pure_equilibrium_for_each_rival() -> None:
    table = mean_preferences([wins(column[:, None]) for column in leader_scores()[1].T])
    game = king_of_the_hill(table)
    pure = {tuple(each) for each in pure_equilibria(game).tolist()}
    sweeps, models = clean_sweeps(table).tolist(), range(table.shape[1])
    assert len(sweeps) == 12
    assert {(t, m, r) for (t, m), r in product(sweeps, models) if r != m} <= pure
    for profile in pure:
        joint = np.zeros(game.shape)
        joint[profile] = 1
        assert exploitability(game, joint) == 0


def test_uniform_priors_favour_the_risk_dominant_equilibrium_and_iteration_finds_it() -> None:
    game = NormalFormGame((STAG_HUNT, STAG_HUNT.T))
    stag, hare = ([np.eye(2)[action]] * 2 for action in (0, 1))
    payoffs = coordination_payoffs(game, [stag, hare])
    assert payoffs == pytest.approx(np.array([[2, 2], [3, 3]]))
    iterated = coordination_payoffs(game, [stag, hare], 10_000)
    assert iterated == pytest.approx(np.array([[0, 0], [3, 3]]), abs=1e-6)
