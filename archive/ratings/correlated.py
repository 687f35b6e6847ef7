"""The coarse correlated equilibrium (CCE) of least divergence from the target: unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from archive.ratings.nearest import Moments, nearest_distribution
from archive.ratings.normal_form import Array, NormalFormGame, exploitability, product

TOLERANCE = 1e-6
"""Largest remaining gain, as a share of the player's span of payoffs, and largest remaining
divergence, nats."""


@dataclass(frozen=True)
class CorrelatedEquilibrium:
    """``joint`` (|A_1|, …, |A_n|); ``exploitability``, its largest regret, in units of payoff;
    ``divergence`` from the target, nats."""

    joint: Array
    exploitability: float
    divergence: float


def nearest_cce(game: NormalFormGame, targets: Sequence[Array]) -> CorrelatedEquilibrium:
    """argmin KL(x ‖ ⊗ t_i) over the CCEs x (8). Raises :class:`RatingError` if the solver does not
    reach it."""
    gains = _Gains(game.rescale_by_player(), np.log(product(targets)))
    joint = gains.joint(nearest_distribution(gains.moments, sum(game.shape), TOLERANCE))
    positive = joint > 0
    divergence = float(joint[positive] @ (np.log(joint[positive]) - gains.log_target[positive]))
    return CorrelatedEquilibrium(joint, exploitability(game, joint), divergence)


class _Gains:
    """gain_{i,a'}(a) = u_i(a', a_-i) − u_i(a), for all players i and actions a'. It is never built
    as one table: its moments are sums over pairs of players."""

    def __init__(self, game: NormalFormGame, log_target: Array) -> None:
        self.game, self.log_target = game, log_target
        self.cuts = np.cumsum(game.shape)[:-1]
        self.rows = [
            np.moveaxis(payoff, i, 0).reshape(game.shape[i], -1)
            for i, payoff in enumerate(game.payoffs)
        ]

    def joint(self, multipliers: Array) -> Array:
        """x(a) ∝ t(a) exp(−Σ α_i(a') gain_{i,a'}(a))."""
        logs = self.log_target.copy()
        for i, alpha in enumerate(np.split(multipliers, self.cuts)):
            payoff = self.game.payoffs[i]
            logs -= np.expand_dims(np.tensordot(alpha, payoff, (0, i)), i) - alpha.sum() * payoff
        return np.asarray(softmax(logs))

    def moments(self, multipliers: Array) -> Moments:
        """Means and covariance of all gains at α."""
        joint = self.joint(multipliers)
        players = self.game.players
        deviating = [self.rows[i] @ joint.sum(axis=i).ravel() for i in players]
        expected = [float(np.vdot(payoff, joint)) for payoff in self.game.payoffs]
        means = np.concatenate([deviating[i] - expected[i] for i in players])
        blocks = [[np.empty(0)] * len(players) for _ in players]
        for i in players:
            blocks[i][i] = self._second(joint, i, i)
            for j in range(i):
                more, less = (i, j) if self.game.shape[i] >= self.game.shape[j] else (j, i)
                blocks[more][less] = self._second(joint, more, less)
                blocks[less][more] = blocks[more][less].T
        return means, np.block(blocks) - np.outer(means, means)

    def _second(self, joint: Array, i: int, j: int) -> Array:
        """E[gain_{i,a'} gain_{j,b'}], (|A_i|, |A_j|)."""
        payoffs = self.game.payoffs
        own, others = joint * payoffs[i], joint * payoffs[j]
        products = self._deviations(joint, i, j)
        left = self.rows[i] @ others.sum(axis=i).ravel()
        right = self.rows[j] @ own.sum(axis=j).ravel()
        both = float(np.vdot(own, payoffs[j]))
        return products - left[:, None] - right[None, :] + both

    def _deviations(self, joint: Array, i: int, j: int) -> Array:
        """E[u_i(a', a_-i) u_j(b', a_-j)], (|A_i|, |A_j|). The fewer |A_j|, the less memory."""
        if i == j:
            return (self.rows[i] * joint.sum(axis=i).ravel()) @ self.rows[i].T
        weights, one, other = (
            np.moveaxis(tensor, (i, j), (-2, -1)).reshape(-1, joint.shape[i], joint.shape[j])
            for tensor in (joint, self.game.payoffs[i], self.game.payoffs[j])
        )
        spread = weights.swapaxes(1, 2) @ other  # (rest, A_j, b')
        return np.tensordot(one, spread, ((0, 2), (0, 1)))
