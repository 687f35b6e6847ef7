"""The paper's annealing: its loss, and what it returns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from support.payoffs import random_game

from archive.errors import RatingError
from archive.ratings.affinity import uniform
from archive.ratings.annealing import (
    AnnealingSettings,
    annealed_equilibrium,
    annealed_exploitability,
)
from archive.ratings.logit_path import limiting_logit_equilibrium


def test_the_loss_is_not_negative_and_its_gradient_is_right() -> None:
    game, rng = random_game(0, (3, 2, 2)), np.random.default_rng(0)
    strategies = [rng.dirichlet(np.ones(size)) for size in game.shape]
    log_targets = [np.log(uniform(size)) for size in game.shape]
    cuts = np.cumsum(game.shape)[:-1]

    def loss(flat: np.ndarray) -> float:
        logs = [np.log(each) for each in np.split(flat, cuts)]
        return annealed_exploitability(game, logs, log_targets, 0.3)[0]

    value, slopes = annealed_exploitability(
        game, [np.log(each) for each in strategies], log_targets, 0.3
    )
    assert value > 0
    expected = approx_fprime(np.concatenate(strategies), loss, 1e-7)
    assert np.concatenate(slopes) == pytest.approx(expected, abs=1e-4)


def test_it_ends_on_the_branch_that_continuation_follows() -> None:
    game = random_game(3, (3, 3))
    settings = AnnealingSettings(
        0.1, decay=0.7, updates=50, last_temperature=0.1, exploitability=0.0
    )
    aims = [uniform(3), uniform(3)]
    equilibrium = annealed_equilibrium(game, aims, settings)
    exact = limiting_logit_equilibrium(game, aims, equilibrium.temperature)
    for one, other in zip(equilibrium.strategies, exact.strategies, strict=True):
        assert one == pytest.approx(other, abs=0.02)


def test_too_few_updates_are_an_error() -> None:
    game = random_game(3, (3, 3))
    with pytest.raises(RatingError, match="annealing stood at temperature"):
        annealed_equilibrium(game, [uniform(3)] * 2, AnnealingSettings(most_updates=100))
