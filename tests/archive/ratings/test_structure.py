"""Pure equilibria, sweeps, and payoffs of players that miscoordinate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.payoffs import judge_means

from archive.ratings.normal_form import NormalFormGame, exploitability
from archive.ratings.normal_form import product as joint_of
from archive.ratings.paper import (
    clean_sweeps,
    coordination_payoffs,
    equilibria,
    leader_scores,
    pure_equilibria,
)
from archive.ratings.preferences import king_of_the_hill, mean_preferences, wins

STAG_HUNT = np.array([[4.0, 0.0], [3.0, 3.0]])
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


def test_all_found_equilibria_are_equilibria_and_different() -> None:
    game = king_of_the_hill(judge_means(0, 6, 4))
    found = equilibria(game, 8)
    assert len(found) > 1
    for masses in found:
        assert exploitability(game, joint_of(masses)) < 1e-6


def test_uniform_priors_favour_the_risk_dominant_equilibrium_and_iteration_finds_it() -> None:
    game = NormalFormGame((STAG_HUNT, STAG_HUNT.T))
    stag, hare = ([np.eye(2)[action]] * 2 for action in (0, 1))
    payoffs = coordination_payoffs(game, [stag, hare])
    assert payoffs == pytest.approx(np.array([[2, 2], [3, 3]]))
    iterated = coordination_payoffs(game, [stag, hare], 10_000)
    assert iterated == pytest.approx(np.array([[0, 0], [3, 3]]), abs=1e-6)
