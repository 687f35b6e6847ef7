"""The CCE of least divergence from the target."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from support.payoffs import random_game, symmetric

from archive.ratings.affinity import uniform
from archive.ratings.correlated import nearest_cce
from archive.ratings.normal_form import NormalFormGame, product, regrets


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
    assert equilibrium.joint == pytest.approx(expected, abs=2e-3)
    assert equilibrium.exploitability <= 1e-6 * game.span


def test_a_target_that_leaves_no_gain_is_kept() -> None:
    game = NormalFormGame((np.eye(3), np.eye(3)))
    equilibrium = nearest_cce(game, [uniform(3), uniform(3)])
    assert equilibrium.joint == pytest.approx(1 / 9, abs=1e-6)
    assert equilibrium.divergence == pytest.approx(0, abs=1e-6)


def test_the_only_equilibrium_of_the_prisoners_dilemma_is_reached() -> None:
    dilemma = symmetric(np.array([[3.0, 0.0], [5.0, 1.0]]))
    equilibrium = nearest_cce(dilemma, [uniform(2), uniform(2)])
    assert equilibrium.joint[1, 1] == pytest.approx(1, abs=1e-6)
    assert equilibrium.exploitability <= 1e-6
