"""Two-player zero-sum games: the value by a linear program, and of many optimal strategies those
nearest to the targets.

They are the limiting logit equilibrium: adding the optimality conditions of a logit equilibrium
(x, y) and of any equilibrium (x*, y*) gives KL(x‖t) + KL(y‖t) ≤ KL(x*‖t) + KL(y*‖t), and the
equilibria are all pairs of optimal strategies, so each player's is the nearest in the limit. From
uniform targets they are the strategies of maximal entropy (Balduzzi et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.special import softmax

from archive.errors import RatingError
from archive.ratings.nearest import Moments, nearest_distribution
from archive.ratings.normal_form import Array, NormalFormGame, exploitability, product

_SLACK = 1e-9
"""Largest allowed difference of an optimal strategy's payoff from the value, as a share of the span
of payoffs."""
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ZeroSumEquilibrium:
    """``value`` to the row player; ``strategies`` of rows and columns; ``exploitability`` in units
    of payoff."""

    value: float
    strategies: tuple[Array, Array]
    exploitability: float


def zero_sum_equilibrium(
    payoff: Array, row_target: Array, column_target: Array
) -> ZeroSumEquilibrium:
    """The equilibrium of ``payoff`` (rows, columns), paid by the column player to the row player.

    Raises :class:`RatingError` if a program has no solution within the tolerance.
    """
    game = NormalFormGame((np.asarray(payoff, np.float64), -np.asarray(payoff, np.float64)))
    scale, least = game.span or 1.0, float(game.payoffs[0].min())
    unit = (game.payoffs[0] - least) / scale
    value = zero_sum_value(unit)
    rows = _nearest_optimal(unit, value, row_target)
    columns = _nearest_optimal(-unit.T, -value, column_target)
    regret = exploitability(game, product([rows, columns]))
    return ZeroSumEquilibrium(least + value * scale, (rows, columns), regret)


def zero_sum_value(payoff: Array) -> float:
    """max_x min_b (xᵀ payoff)_b, by a linear program."""
    rows, columns = payoff.shape
    solution = linprog(
        np.append(np.zeros(rows), -1.0),
        np.hstack([-payoff.T, np.ones((columns, 1))]),
        np.zeros(columns),
        np.append(np.ones(rows), 0.0)[None],
        [1.0],
        [(0, None)] * rows + [(None, None)],
        method="highs",
    )
    if not solution.success:
        raise RatingError(f"no value of the zero-sum game was found: {solution.message}")
    return float(solution.x[-1])


def _nearest_optimal(payoff: Array, value: float, target: Array) -> Array:
    """argmin KL(x ‖ target) over {x : (xᵀ payoff)_b ≥ value for all b}."""
    support = _largest_support(payoff - value)
    gains = value - _SLACK - payoff[support]  # Σ x gains ≤ 0
    logs = np.log(target[support])

    def moments(multipliers: Array) -> Moments:
        x = softmax(logs - gains @ multipliers)
        means = x @ gains
        return Moments(means, (gains.T * x) @ gains - np.outer(means, means))

    multipliers = nearest_distribution(moments, payoff.shape[1], _TOLERANCE)
    strategy = np.zeros(len(payoff))
    strategy[support] = softmax(logs - gains @ multipliers)
    return strategy


def _largest_support(advantage: Array) -> Array:
    """The rows that some optimal strategy plays, a mask; one program, as optimal strategies are
    convex: max Σ min(y, 1) over the cone of multiples y ≥ 0 of optimal strategies.
    """
    rows, columns = advantage.shape
    solution = linprog(
        np.concatenate([np.zeros(rows), -np.ones(rows)]),
        np.block(
            [
                [-(advantage + _SLACK).T, np.zeros((columns, rows))],
                [-np.eye(rows), np.eye(rows)],
            ]
        ),
        np.zeros(columns + rows),
        bounds=[(0, None)] * rows + [(0, 1)] * rows,
        method="highs",
    )
    if not solution.success:
        raise RatingError(f"no optimal strategy of the zero-sum game was found: {solution.message}")
    return solution.x[rows:] > 0.5
