"""The scope rated with the policies that were learned on it."""

from __future__ import annotations

import numpy as np
import pytest

from evo.search.scope_ratings import scope_equilibrium

PLAYS = 8


def on_equal_seeds(*means: float) -> np.ndarray:
    """Scores (policies, plays) of policies that differ by a constant."""
    return np.array(means)[:, None] + np.linspace(0, 1, PLAYS)


def test_masses_sum_to_1_and_a_game_that_separates_nothing_has_none() -> None:
    equilibrium = scope_equilibrium(("base", "a"), [on_equal_seeds(0, 3), on_equal_seeds(1, 1)])
    assert equilibrium is not None
    assert equilibrium.masses.sum() == pytest.approx(1)
    assert equilibrium.masses[1] == pytest.approx(0, abs=1e-6)


def test_a_copy_has_no_regret_and_a_game_with_another_order_has() -> None:
    half = np.where(np.arange(PLAYS) < PLAYS / 2, 1.0, -1.0)
    scores = np.stack([np.zeros(PLAYS), half, -half])
    equilibrium = scope_equilibrium(("base", "a", "b"), [scores])
    assert equilibrium is not None
    copy = dict(zip(equilibrium.policies, scores, strict=True))
    assert equilibrium.regret(copy) == pytest.approx(0, abs=1e-6)
    clear = dict(zip(equilibrium.policies, on_equal_seeds(0, 1, 2), strict=True))
    assert equilibrium.regret(clear) == pytest.approx(2 / 3), "king and rebel are one in a third"


def test_only_policies_of_the_equilibrium_need_to_play_a_new_game() -> None:
    clear = [on_equal_seeds(0, 9, 5), on_equal_seeds(0, 5, 9)]
    equilibrium = scope_equilibrium(("base", "a", "b"), clear)
    assert equilibrium is not None
    scores = {name: on_equal_seeds(1)[0] for name in equilibrium.support}
    assert equilibrium.regret(scores) <= 0
    assert set(equilibrium.support) <= {"base", "a", "b"}
