"""The distribution nearest to a target among those that leave nobody a gain.

min KL(x ‖ t) over {x : E_x[gain_c] ≤ 0 for all c} has the dual min_α≥0 logsumexp(log t − α·gain),
smooth and convex. A primal-dual interior point method solves it in some 20 to 60 Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archive.errors import RatingError
from archive.ratings.normal_form import Array

_MOST_ROUNDS = 400
_CENTRING, _FASTEST = 0.1, 1e-3
"""By how much complementarity falls in a step: at first, and near to the end."""
_HALVINGS = 30
_RIDGE = 1e-13
"""Of the mean variance of gains, for gains that depend on each other."""
_GAIN, _EXCESS = 1e-10, 1e-13
"""Gains and divergence (nats) left that are aimed at."""
_PATIENCE = 3
"""Steps that help no more before what is within the tolerance is taken."""


@dataclass(frozen=True)
class Moments:
    """Of the gains under x(α) ∝ t exp(−α·gain): ``means`` (C,) and ``covariance`` (C, C)."""

    means: Array
    covariance: Array


@dataclass(frozen=True)
class _Iterate:
    """Multipliers α > 0, slacks s > 0 of E[gain] + s = 0, and the moments at α."""

    multipliers: Array
    slack: Array
    moments: Moments

    @property
    def residual(self) -> Array:
        return self.moments.means + self.slack

    def size(self) -> float:
        """What a step must reduce."""
        complementary = self.multipliers * self.slack
        return float(np.linalg.norm(self.residual) + np.linalg.norm(complementary))

    def gap(self) -> tuple[float, float]:
        """The largest gain, and divergence beyond the least, nats."""
        means = self.moments.means
        return float(means.max(initial=0.0)), abs(float(self.multipliers @ means))


def nearest_distribution(
    moments: Callable[[Array], Moments], constraints: int, tolerance: float
) -> Array:
    """α (C,) ≥ 0 at which no gain is above ``tolerance`` and the divergence from the target is
    within ``tolerance`` nats of the least. Gains are of size 1.

    Raises :class:`RatingError` where that is not reached.
    """
    start = np.ones(constraints)
    best = now = _Iterate(start, start.copy(), moments(start))
    stalled = 0
    for _ in range(_MOST_ROUNDS):
        gain, excess = best.gap()
        if gain <= _GAIN and excess <= _EXCESS:
            break
        if stalled >= _PATIENCE and max(gain, excess) <= tolerance:
            break
        try:
            now = _improved(now, moments)
        except np.linalg.LinAlgError:
            break
        better = max(now.gap()) < 0.7 * max(best.gap())
        stalled = 0 if better else stalled + 1
        best = min(best, now, key=lambda each: max(each.gap()))
    if max(best.gap()) <= tolerance:
        return best.multipliers
    raise RatingError(
        f"no equilibrium nearest to the target was reached: the gap is {max(best.gap()):.2g}, "
        f"expected at most {tolerance:.2g}"
    )


def _improved(now: _Iterate, moments: Callable[[Array], Moments]) -> _Iterate:
    """One Newton step on E[gain] + s = 0, α s = centre, as long as it helps."""
    complementary = now.multipliers * now.slack
    mean = float(complementary.mean())
    # Complementarity must not run ahead of the equations.
    fall = min(_CENTRING, max(mean, _FASTEST))
    wanted = max(fall * mean, min(mean, 0.3 * float(np.abs(now.residual).max())))
    centre = (wanted - complementary) / now.multipliers
    ridge = _RIDGE * np.trace(now.moments.covariance) / len(now.slack)
    system = now.moments.covariance + np.diag(now.slack / now.multipliers + ridge)
    moved = np.asarray(np.linalg.solve(system, now.residual + centre), np.float64)
    slack = centre - now.slack * moved / now.multipliers
    step = min(_longest(now.multipliers, moved), _longest(now.slack, slack))
    before = now.size()
    for _ in range(_HALVINGS):
        further = now.multipliers + step * moved
        iterate = _Iterate(further, now.slack + step * slack, moments(further))
        if iterate.size() <= (1 - 0.01 * step) * before:
            break
        step /= 2
    return iterate


def _longest(values: Array, moved: Array) -> float:
    """The longest step, at most 1, that keeps all values above 0."""
    falls = moved < 0
    return float((-0.99 * values[falls] / moved[falls]).min(initial=1.0))
