"""The coarse correlated equilibrium (CCE) of least divergence from the target: unique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from archive.errors import RatingError
from archive.ratings.normal_form import Array, NormalFormGame, exploitability, product

# -- the distribution nearest to a target ----------------------------------------------------------
# min KL(x ‖ t) over {x : E_x[gain_c] ≤ 0 for all c} has the dual min_α≥0 logsumexp(log t − α·gain),
# smooth and convex. A primal-dual interior point method solves it in some 20 to 60 Newton steps.

_MOST_ROUNDS = 400
_CENTRING, _FASTEST = 0.1, 1e-3
"""Factor by which complementarity falls in a step: at first, and near the end."""
_HALVINGS = 30
_RIDGE = 1e-13
"""Share of the mean variance of gains added to their variances, since gains may be linearly
dependent."""
_GAIN, _EXCESS = 1e-10, 1e-13
"""Remaining gains and divergence (nats) that are aimed at."""
Moments = tuple[Array, Array]
"""Means (C,) and covariance (C, C) of the gains under x(α) ∝ t exp(−α·gain)."""
_PATIENCE = 3
"""Number of steps without improvement after which a result within the tolerance is accepted."""


@dataclass(frozen=True)
class _Iterate:
    """Multipliers α > 0, slacks s > 0 of E[gain] + s = 0, and the moments at α."""

    multipliers: Array
    slack: Array
    moments: Moments

    @property
    def residual(self) -> Array:
        return self.moments[0] + self.slack

    def size(self) -> float:
        """The merit function, which a step must reduce."""
        complementary = self.multipliers * self.slack
        return float(np.linalg.norm(self.residual) + np.linalg.norm(complementary))

    def gap(self) -> tuple[float, float]:
        """The largest gain, and the divergence above its minimum, nats."""
        means = self.moments[0]
        return float(means.max(initial=0.0)), abs(float(self.multipliers @ means))


def nearest_distribution(
    moments: Callable[[Array], Moments], constraints: int, tolerance: float
) -> Array:
    """α (C,) ≥ 0 at which no gain is above ``tolerance`` and the divergence from the target is
    within ``tolerance`` nats of the least. Gains are of size 1.

    Raises :class:`RatingError` if that is not reached.
    """
    start = np.ones(constraints)
    best = now = _Iterate(start, start.copy(), moments(start))
    stalls = 0
    for _ in range(_MOST_ROUNDS):
        gain, excess = best.gap()
        if gain <= _GAIN and excess <= _EXCESS:
            break
        if stalls >= _PATIENCE and max(gain, excess) <= tolerance:
            break
        try:
            now = _newton_step(now, moments)
        except np.linalg.LinAlgError:
            break
        better = max(now.gap()) < 0.7 * max(best.gap())
        stalls = 0 if better else stalls + 1
        best = min(best, now, key=lambda each: max(each.gap()))
    if max(best.gap()) <= tolerance:
        return best.multipliers
    raise RatingError(
        f"no equilibrium nearest to the target was reached: the gap is {max(best.gap()):.2g}, "
        f"expected at most {tolerance:.2g}"
    )


def _newton_step(now: _Iterate, moments: Callable[[Array], Moments]) -> _Iterate:
    """One damped Newton step on E[gain] + s = 0, α s = centre."""
    complementary = now.multipliers * now.slack
    mean = float(complementary.mean())
    # Complementarity must not run ahead of the equations.
    fall = min(_CENTRING, max(mean, _FASTEST))
    goal = max(fall * mean, min(mean, 0.3 * float(np.abs(now.residual).max())))
    centre = (goal - complementary) / now.multipliers
    ridge = _RIDGE * np.trace(now.moments[1]) / len(now.slack)
    system = now.moments[1] + np.diag(now.slack / now.multipliers + ridge)
    change = np.asarray(np.linalg.solve(system, now.residual + centre), np.float64)
    slack = centre - now.slack * change / now.multipliers
    step = min(_longest(now.multipliers, change), _longest(now.slack, slack))
    before = now.size()
    for _ in range(_HALVINGS):
        further = now.multipliers + step * change
        iterate = _Iterate(further, now.slack + step * slack, moments(further))
        if iterate.size() <= (1 - 0.01 * step) * before:
            break
        step /= 2
    return iterate


def _longest(values: Array, change: Array) -> float:
    """The longest step, at most 1, that keeps all values above 0."""
    falls = change < 0
    return float((-0.99 * values[falls] / change[falls]).min(initial=1.0))


# -- the equilibrium -------------------------------------------------------------------------------

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
