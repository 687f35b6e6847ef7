"""Affinity entropy: its axioms (P1–P3), the distances of App. C, and its maximiser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import block_diag
from scipy.special import entr
from support.payoffs import random_game

from archive.ratings import normal_form

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


def affinity_entropy(strategy: np.ndarray, similarity: np.ndarray, p: float = 1.0) -> float:
    """H_a^p (5) of a mixed strategy, p in [0, 1]; p = 0 is the limit (23)."""
    columns = normal_form.normalised_columns(similarity, p)
    mixture = columns @ strategy
    if p:
        return float((1 - (mixture ** (p + 1)).sum()) / p)
    return float(entr(mixture).sum() - strategy @ entr(columns).sum(axis=0))


def random_kernel(seed: int, actions: int = 5) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(actions, 2))
    return normal_form.kernel(((points[:, None] - points[None]) ** 2).sum(axis=2), 1.0)


def mixed_strategy(seed: int, actions: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(actions))


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 2, 2)])
def test_distances_are_means_over_independent_mixed_opponents(shape: tuple[int, ...]) -> None:
    payoff, rng = random_game(0, shape).payoffs[0], np.random.default_rng(1)
    game = normal_form.NormalFormGame((payoff, *[np.zeros(shape)] * (len(shape) - 1)))
    squares = []
    for _ in range(4_000):
        x = [rng.dirichlet(np.ones(size)) for size in shape]
        gains = payoff
        for strategy in reversed(x[1:]):
            gains = gains @ strategy
        squares.append((gains[:, None] - gains[None]) ** 2)
    estimate = np.mean(squares, axis=0)
    assert normal_form.distances(game, 0) == pytest.approx(estimate, rel=0.12)


def test_actions_are_apart_that_only_another_player_tells_apart() -> None:
    """Against (x, 1 − x) they differ by x, of which the mean square is 1/3."""
    others = np.array([[0.0, 0.0], [1.0, 0.0]])
    game = normal_form.NormalFormGame((np.zeros((2, 2)), others))
    assert normal_form.distances(game, 0)[0, 1] == pytest.approx(1 / 3)


def test_the_kernel_is_that_of_the_paper() -> None:
    """At σ² = 1e-6, D = 2σ²: exp(−1)."""
    assert normal_form.kernel(np.array([0.0, 2e-6])) == pytest.approx([1.0, np.exp(-1)])


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]))
def test_entropy_is_0_at_the_corners_concave_and_nowhere_below(seed: int, p: float) -> None:
    similarity, x, y = random_kernel(seed), mixed_strategy(seed), mixed_strategy(seed + 1)
    for corner in np.eye(5):
        assert affinity_entropy(corner, similarity, p) == pytest.approx(0, abs=1e-12)
    between = affinity_entropy((x + y) / 2, similarity, p)
    ends = affinity_entropy(x, similarity, p), affinity_entropy(y, similarity, p)
    assert min(ends) >= -1e-12
    assert between >= sum(ends) / 2 - 1e-12


def test_small_p_approaches_the_shannon_form() -> None:
    similarity, x = random_kernel(2), mixed_strategy(2)
    near = affinity_entropy(x, similarity, 1e-6)
    assert near == pytest.approx(affinity_entropy(x, similarity, 0.0), abs=1e-5)


@given(SIZES, st.sampled_from([0.3, 1.0]))
def test_the_most_entropy_of_c_sets_of_clones_is_that_of_c_actions(
    sizes: list[int], p: float
) -> None:
    similarity = block_diag(*(np.ones((size, size)) for size in sizes))
    distribution = normal_form.target(similarity)
    shares = [part.sum() for part in np.split(distribution, np.cumsum(sizes)[:-1])]
    assert shares == pytest.approx([1 / len(sizes)] * len(sizes), abs=1e-8)
    most = (1 - len(sizes) ** -p) / p
    assert affinity_entropy(distribution, similarity, p) == pytest.approx(most, abs=1e-8)


@given(st.integers(0, 1000))
def test_no_other_strategy_has_more_entropy_than_the_target(seed: int) -> None:
    similarity = random_kernel(seed)
    best = affinity_entropy(normal_form.target(similarity), similarity)
    others = np.random.default_rng(seed).dirichlet(np.full(5, 0.5), 200)
    assert max(affinity_entropy(each, similarity) for each in others) <= best + 1e-8
