"""The fewest games that tell models apart as all games do."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.statistics import discriminating
from archive.statistics.discriminating import discriminating_games

WHOLE = np.array([[4.0, 1.0, 4.0, 3.0], [2.0, 2.0, 2.0, 2.0], [0.0, 3.0, 0.0, 1.0]])
"""Three models on four games: the second game ranks them the other way round."""


def test_one_game_that_ranks_as_all_do_and_scores_alike_is_enough() -> None:
    found = discriminating_games(WHOLE, 0.5)
    assert (found.members, found.gap, found.exact) == ((0,), 2.0, True)
    assert found.error == pytest.approx(0.5)
    exact = discriminating_games(WHOLE, 0.0)
    assert exact.members == (3,), "its scores are the means"


def test_games_that_disagree_are_all_needed() -> None:
    scores = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 8.0]])
    with pytest.raises(ValueError, match="no two models"):
        discriminating_games(scores[:2] * 0, 0.1)
    assert discriminating_games(scores, 0.0).members == (0, 1, 2)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_no_smaller_subset_keeps_the_measure(seed: int, tolerance: float) -> None:
    scores = np.random.default_rng(seed).normal(size=(3, 5))
    found = discriminating_games(scores, tolerance)
    whole = scores.mean(axis=1)
    order, spread = np.argsort(whole), np.ptp(whole)

    def keeps(members: tuple[int, ...]) -> bool:
        part = scores[:, list(members)].mean(axis=1)
        error = np.abs(part - whole).max() / spread
        return bool((np.argsort(part) == order).all() and error <= tolerance + 1e-12)

    assert keeps(found.members)
    smaller = (each for n in range(1, len(found.members)) for each in combinations(range(5), n))
    assert not any(map(keeps, smaller))


def test_of_many_games_some_are_left_out_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminating, "MOST_SUBSETS", 2)
    found = discriminating_games(WHOLE, 0.5)
    assert not found.exact
    assert len(found.members) < 4
    assert found.gap > 0
    assert found.error <= 0.5
