"""Values of zero-sum games, and which optimal strategies are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import linprog
from support.payoffs import ROCK_PAPER_SCISSORS

from archive.ratings.affinity import uniform
from archive.ratings.zero_sum import zero_sum_equilibrium

TABLES = npst.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    elements=st.integers(-4, 4).map(float),
)


def value_by_columns(payoff: np.ndarray) -> float:
    """min_y max_a (payoff y)_a: the other player's program."""
    rows, columns = payoff.shape
    program = linprog(
        np.append(np.zeros(columns), 1.0),
        np.hstack([payoff, -np.ones((rows, 1))]),
        np.zeros(rows),
        np.append(np.ones(columns), 0.0)[None],
        [1.0],
        [(0, None)] * columns + [(None, None)],
    )
    return float(program.x[-1])


@given(TABLES)
@settings(deadline=None, max_examples=60)
def test_the_value_is_that_of_the_column_players_program(payoff: np.ndarray) -> None:
    equilibrium = zero_sum_equilibrium(payoff, uniform(len(payoff)), uniform(payoff.shape[1]))
    assert equilibrium.value == pytest.approx(value_by_columns(payoff), abs=1e-7)
    assert equilibrium.exploitability <= 1e-6
    rows, columns = equilibrium.strategies
    assert rows @ payoff @ columns == pytest.approx(equilibrium.value, abs=1e-6)


def test_of_many_optimal_strategies_the_one_of_most_entropy_is_chosen() -> None:
    equilibrium = zero_sum_equilibrium(np.zeros((3, 2)), uniform(3), uniform(2))
    assert equilibrium.strategies[0] == pytest.approx(1 / 3)
    twice = ROCK_PAPER_SCISSORS[[0, 0, 1, 2]][:, [0, 0, 1, 2]]
    copy_strategy = zero_sum_equilibrium(twice, uniform(4), uniform(4)).strategies[0]
    assert copy_strategy == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-6)


def test_max_entropy_is_not_blind_to_copies_where_optimal_strategies_are_many() -> None:
    """The target is: of rows (0, 0, 0) and (1, −1, −2), the rating of the second depends on how
    the column player divides its mass."""
    payoff = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, -2.0]])
    places = [0, 1, 2, 2, 2]
    rating = []
    for table, aim in (
        (payoff, uniform(3)),
        (payoff[:, places], uniform(5)),
        (payoff[:, places], np.array([1, 1, 1 / 3, 1 / 3, 1 / 3]) / 3),
    ):
        columns = zero_sum_equilibrium(table, uniform(2), aim).strategies[1]
        rating.append(table[1] @ columns)
    assert rating == pytest.approx([-2 / 3, -6 / 5, -2 / 3], abs=1e-4)
