"""The limiting logit equilibrium (LLE): the end of the branch of logit equilibria (QRE) that begins
at the target, as the temperature goes to 0.

A QRE at temperature τ = 1/λ is a zero of F(l, λ) = l − log softmax(log t + λ d(e^l)), l = log x.
The branch is followed by its arc length in (l, λ), through folds, where λ decreases; annealing the
temperature cannot do this, and jumps to another branch. Its direction is that in which the
determinant of F's derivatives, bordered by the direction, is positive; if the sign flips however
short the step is, another branch crosses, and the path continues straight.

The coarse correlated equilibrium (CCE) of least divergence from the target is unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, norm
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.special import softmax

from archive.errors import RatingError
from archive.ratings.normal_form import (
    Array,
    NormalFormGame,
    cross_derivatives,
    exploitability,
    product,
    relative_exploitability,
)

DECADES = 5, 7
"""Decades of λ, in units of 1/span, at which the limit is taken by solving for indifference: the
first, and later ones if that is not exact enough."""
TOLERANCE = 1e-6
"""Exploitability, as a share of each player's span of payoffs, above which the limit does not count
as reached."""
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP, _CROSSING_STEP = 0.1, 1.0, 1e-10, 1e-4
_STRAIGHT, _VERY_STRAIGHT = 0.98, 0.995
_MOST_STEPS, _CORRECTIONS = 20_000, 8
_ON_THE_WAY, _AT_END = 1e-8, 1e-11
"""Largest error of a log-probability."""
_SUPPORTS, _ROUNDING = (1e-4, 1e-3, 1e-5, 1e-2, 1e-6), 1e-14
_NEAR = 0.1
_MORE_DECADES = 5
"""Further decades of λ, where the players' spans of payoffs differ."""


def limiting_logit_equilibrium(
    game: NormalFormGame, targets: Sequence[Array], temperature: float = 0.0
) -> list[Array]:
    """The strategies x_i (|A_i|,) at the end of the path from x = ``targets`` (positive, each
    summing to 1) at τ = ∞ to ``temperature`` in units of payoff; 0: the limit.

    Raises :class:`RatingError` if the path cannot be followed to its end.
    """
    if not game.span:
        return list(targets)
    scaled = game.rescale([game.span] * len(game.payoffs))
    path = _Path(scaled, [np.log(target) for target in targets])
    if not temperature:
        return _limit(game, path)
    path.follow(game.span / temperature)
    return path.strategies()


def _limit(game: NormalFormGame, path: _Path) -> list[Array]:
    """The end of the path. An equilibrium with no other near it is solved for at once; one of a
    continuum is followed as far as rounding allows, and extrapolated."""
    limit, previous, (first, last) = None, None, DECADES
    least = min(span for span in game.spans if span) / game.span
    for decade in range(first, last + 1 + min(int(np.ceil(-np.log10(least))), _MORE_DECADES)):
        if limit and decade > last:
            break
        try:
            path.follow(10.0**decade)
        except RatingError:
            if limit is None:
                raise
            return limit
        point = path.strategies()
        solution = _indifference_solution(path.game, point)
        candidates = [solution[0]] if solution else []
        if previous and solution and not solution[1]:
            # points of the path, which move as 1/λ, a decade of λ apart
            ahead = [np.maximum(x + (x - y) / 9, 0.0) for x, y in zip(point, previous, strict=True)]
            candidates.append([x / x.sum() for x in ahead])
        for strategies in candidates:  # the best last
            if relative_exploitability(game, product(strategies)) <= TOLERANCE:
                limit = strategies
        if limit and solution and solution[1]:
            return limit
        previous = point
    reached = product(path.strategies())
    if limit is None and relative_exploitability(game, reached) > TOLERANCE:
        raise RatingError(
            f"the path of logit equilibria ended at an exploitability of "
            f"{exploitability(game, reached):.2g}, expected at most {TOLERANCE:g} of what each "
            "player has at stake: archive.ratings.rate takes a temperature, or rates by CCE"
        )
    return limit or path.strategies()


class _Path:
    """A point of the branch, and the direction in which the branch continues."""

    def __init__(self, game: NormalFormGame, log_targets: Sequence[Array]) -> None:
        self.game, self.log_targets = game, np.concatenate(log_targets)
        self.head = game.shape[0]
        self.slices = [slice(a, b) for a, b in pairwise(np.cumsum([0, *game.shape]).tolist())]
        self.point = np.append(self.log_targets, 0.0)
        self.orientation, self.step = 1.0, _FIRST_STEP
        self.steps = 0
        self.bend = np.zeros_like(self.point)
        self.along = np.append(np.zeros(len(self.point) - 1), 1.0)  # λ alone
        self.tangent = self._tangent(self.point, self.along, self._system(self.point)[1])

    def strategies(self) -> list[Array]:
        """The strategies x_i at the point."""
        weights = np.exp(self.point[:-1])
        return [weights[own] / weights[own].sum() for own in self.slices]

    def follow(self, end: float) -> None:
        """Go on until λ is ``end``."""
        while self.point[-1] < end:
            if self.steps >= _MOST_STEPS or self.step < _SHORTEST_STEP:
                raise RatingError(
                    f"the path of logit equilibria cannot be followed beyond temperature "
                    f"{self.game.span / max(self.point[-1], 1e-12):.2g} of the span of payoffs: "
                    "archive.ratings.rate takes a higher one, or rates by CCE"
                )
            if self._try(end):
                self.steps += 1
            else:
                self.step /= 2

    def _try(self, end: float) -> bool:
        """Take a step of the present length; whether that succeeded."""
        guess = self.point + self.step * (self.tangent + self.step * self.bend)
        last = self.point[-1] + self.step * self.tangent[-1] >= end
        if last:
            share = (end - self.point[-1]) / self.tangent[-1]
            guess = self.point + share * self.tangent
            border, accuracy = self.along, _AT_END
        else:
            border, accuracy = self._metric(guess) * self.tangent, _ON_THE_WAY
        try:
            point, rounds, derivative = self._correct(guess, border, accuracy)
            if point[-1] > end and not last:
                return False
            metric = self._metric(point)
            tangent = self._tangent(point, metric * self.tangent, derivative)
        except LinAlgError:
            return False
        before = self.tangent / np.sqrt((metric * self.tangent**2).sum())
        alike = float((metric * before * tangent).sum())
        if alike < _STRAIGHT:
            if alike > -_STRAIGHT or self.step > _CROSSING_STEP:
                return False
            self.orientation, tangent = -self.orientation, -tangent
        self.bend = (tangent - self.tangent) / (2 * self.step)
        self.point, self.tangent = point, tangent
        if alike > _VERY_STRAIGHT and rounds <= 4:
            self.step = min(1.6 * self.step, _LONGEST_STEP)
        return True

    def _correct(self, point: Array, border: Array, accuracy: float) -> tuple[Array, int, Array]:
        """Newton's method on F = 0 across the path: the point, the number of steps and the
        derivatives. Raises LinAlgError if it does not converge."""
        for rounds in range(_CORRECTIONS):
            residual, derivative = self._system(point)
            size = float(np.abs(residual).max())
            if not np.isfinite(size) or size > 1e3:
                break
            if size <= accuracy + 1e-14 * abs(point[-1]):
                return point, rounds, derivative
            bordered = np.vstack([derivative, border])
            point = point + _solve(bordered, np.append(-residual, 0.0), self.head)[0]
        raise LinAlgError("no convergence")

    def _system(self, point: Array) -> tuple[Array, Array]:
        """F (N,) and its derivatives (N, N + 1) in l and λ."""
        logs, rate = point[:-1], point[-1]
        weights = np.exp(np.minimum(logs, 1.0))
        strategies = [weights[own] for own in self.slices]
        cross = cross_derivatives(self.game, strategies)
        size = len(logs)
        residual, derivative = np.empty(size), np.zeros((size, size + 1))
        for (i, j), slopes in cross.items():
            derivative[self.slices[i], self.slices[j]] = slopes
        scaled_weights = rate * weights
        for i, rows in enumerate(self.slices):
            other = 1 if i == 0 else 0
            gains = cross[i, other] @ strategies[other]
            raw = self.log_targets[rows] + rate * gains
            raw -= raw.max()
            response = raw - np.log(np.exp(raw).sum())
            shares = np.exp(response)
            residual[rows] = logs[rows] - response
            block = derivative[rows]
            block[:, :-1] *= scaled_weights
            block[:, -1] = gains
            np.subtract(shares @ block, block, out=block)
        derivative.ravel()[:: size + 2] += 1.0
        return residual, derivative

    def _tangent(self, point: Array, border: Array, derivative: Array) -> Array:
        """The tangent of length 1 in the direction of the path."""
        tangent, sign = _solve(np.vstack([derivative, border]), self.along, self.head)
        tangent *= sign * self.orientation
        return tangent / np.sqrt((self._metric(point) * tangent**2).sum())

    @staticmethod
    def _metric(point: Array) -> Array:
        """Weights of squared steps: changes of probability, and of λ in proportion to it."""
        logs = point[:-1]
        near = np.exp(np.minimum(logs, 0.0)) + 1e-9 / (1 + logs**2)
        return np.append(near, 1.0 / (0.1 + abs(point[-1])) ** 2)


def _solve(matrix: Array, right_side: Array, head: int) -> tuple[Array, float]:
    """The solution and the sign of the determinant.

    The first ``head`` rows and columns are an identity: no player's answer depends on its own
    strategy. They are eliminated, so that thousands of tasks cost no more than their rows.
    """
    above, below = matrix[:head, head:], matrix[head:, :head]
    factors, swaps, _ = dgetrf(matrix[head:, head:] - below @ above)
    diagonal = np.diagonal(factors)
    if not np.isfinite(diagonal).all() or not diagonal.all():
        raise LinAlgError("singular")
    odd = int((swaps != np.arange(len(swaps))).sum()) + int((diagonal < 0).sum())
    rest, _ = dgetrs(factors, swaps, right_side[head:] - below @ right_side[:head])
    return np.concatenate([right_side[:head] - above @ rest, rest]), -1.0 if odd % 2 else 1.0


def _indifference_solution(
    game: NormalFormGame, near: Sequence[Array]
) -> tuple[list[Array], bool] | None:
    """The equilibrium near a logit equilibrium at a low temperature, whose players are indifferent
    on its support, and whether no other is near it (preferred, if exact); None without one."""
    supports = ([strategy > floor for strategy in near] for floor in _SUPPORTS)
    found = (_solve_indifference(game, near, support) for support in supports)

    def rank(solution: tuple[list[Array], bool]) -> tuple[float, bool]:
        regret = exploitability(game, product(solution[0]))
        return np.floor(np.log10(max(regret, _ROUNDING))), not solution[1]

    return min((each for each in found if each), key=rank, default=None)


def _solve_indifference(
    game: NormalFormGame, near: Sequence[Array], support: Sequence[NDArray[np.bool_]]
) -> tuple[list[Array], bool] | None:
    """Newton's method by least squares; if there are many solutions, the nearest one."""
    if not all(mask.any() for mask in support):
        return None
    strategies = [np.where(s, x, 0.0) for s, x in zip(support, near, strict=True)]
    indices = [np.flatnonzero(mask) for mask in support]
    starts = np.cumsum([0, *(len(each) for each in indices)])
    alone = False
    for _ in range(20):
        rows, misses = _indifference(game, strategies, indices)
        step, _, rank, _ = np.linalg.lstsq(rows, misses, rcond=1e-10)
        alone = int(rank) == starts[-1]
        for own, x, start in zip(indices, strategies, starts, strict=False):
            x[own] += step[start : start + len(own)]
        if np.abs(step).max() < 1e-14 or np.abs(step).max() > 1.0:
            break
    if any(strategy.min() < -1e-12 for strategy in strategies):
        return None
    strategies = [np.maximum(x, 0.0) / np.maximum(x, 0.0).sum() for x in strategies]
    apart = max(np.abs(a - b).max() for a, b in zip(strategies, near, strict=True))
    return (strategies, alone) if apart < _NEAR else None


def _indifference(
    game: NormalFormGame, strategies: Sequence[Array], indices: Sequence[NDArray[np.int64]]
) -> tuple[Array, Array]:
    """The derivatives of d_i(a) − d_i(b) for a, b of the supports ``indices`` and of Σ x_i, and the
    differences of these values from 0 and 1."""
    cross = cross_derivatives(game, strategies)
    rows, misses = [], []
    for i, own in enumerate(indices):
        other = next(j for j in game.players if j != i)
        gains = (cross[i, other] @ strategies[other])[own]
        blocks = [
            np.zeros((len(own), len(own))) if j == i else cross[i, j][np.ix_(own, theirs)]
            for j, theirs in enumerate(indices)
        ]
        block = np.hstack(blocks)
        total = [np.full(len(each), float(j == i)) for j, each in enumerate(indices)]
        rows += [block[1:] - block[:1], np.concatenate(total)[None]]
        misses += [gains[0] - gains[1:], np.array([1.0 - strategies[i].sum()])]
    return np.vstack(rows), np.concatenate(misses)


# -- the coarse correlated equilibrium nearest to a target -----------------------------------------
# min KL(x ‖ t) over {x : E_x[gain_c] ≤ 0 for all c} has the dual min_α≥0 logsumexp(log t − α·gain),
# smooth and convex. A primal-dual interior point method solves it in some 20 to 60 Newton steps on
# E[gain] + s = 0, α s = centre, with slacks s > 0 and the moments of the gains at α.

_MOST_ROUNDS, _HALVINGS = 400, 30
_CENTRING, _FASTEST = 0.1, 1e-3
"""Factor by which complementarity falls in a step: at first, and near the end."""
_RIDGE = 1e-13
"""Share of the mean variance of gains added to their variances, since gains may be linearly
dependent."""
_GAIN, _EXCESS = 1e-10, 1e-13
"""Remaining gains and divergence (nats) that are aimed at."""
_PATIENCE = 3
"""Number of steps without improvement after which a result within the tolerance is accepted."""


class _Iterate(NamedTuple):
    """Multipliers α, slacks, and the means (C,) and covariance (C, C) of the gains at α."""

    multipliers: Array
    slack: Array
    means: Array
    covariance: Array

    def merit(self) -> float:
        """What a step must reduce."""
        return float(norm(self.means + self.slack) + norm(self.multipliers * self.slack))

    def gap(self) -> tuple[float, float]:
        """The largest gain, and the divergence above its minimum, nats."""
        return float(self.means.max(initial=0.0)), abs(float(self.multipliers @ self.means))


def nearest_cce(game: NormalFormGame, targets: Sequence[Array]) -> Array:
    """argmin KL(x ‖ ⊗ t_i) over the CCEs x (8), (|A_1|, …, |A_n|): no gain, as a share of its
    player's span of payoffs, is above ``TOLERANCE``, and the divergence is within ``TOLERANCE``
    nats of the least. Raises :class:`RatingError` if the solver does not reach that."""
    game, log_target = game.rescale(game.spans), np.log(product(targets))
    start, stalls = np.ones(sum(game.shape)), 0
    best = now = _Iterate(start, start, *_moments(game, _tilted(game, log_target, start)))
    for _ in range(_MOST_ROUNDS):
        gain, excess = best.gap()
        done = gain <= _GAIN and excess <= _EXCESS
        if done or (stalls >= _PATIENCE and max(gain, excess) <= TOLERANCE):
            break
        try:
            now = _newton_step(game, log_target, now)
        except LinAlgError:
            break
        stalls = 0 if max(now.gap()) < 0.7 * max(best.gap()) else stalls + 1
        best = min(best, now, key=lambda each: max(each.gap()))
    if max(best.gap()) <= TOLERANCE:
        return _tilted(game, log_target, best.multipliers)
    raise RatingError(
        f"no equilibrium nearest to the target was reached: the gap is {max(best.gap()):.2g}, "
        f"expected at most {TOLERANCE:.2g}"
    )


def _newton_step(game: NormalFormGame, log_target: Array, now: _Iterate) -> _Iterate:
    residual, complementary = now.means + now.slack, now.multipliers * now.slack
    mean = float(complementary.mean())
    # complementarity must not run ahead of the equations
    fall = min(_CENTRING, max(mean, _FASTEST))
    goal = max(fall * mean, min(mean, 0.3 * float(np.abs(residual).max())))
    centre = (goal - complementary) / now.multipliers
    ridge = _RIDGE * np.trace(now.covariance) / len(now.slack)
    system = now.covariance + np.diag(now.slack / now.multipliers + ridge)
    change = np.asarray(np.linalg.solve(system, residual + centre), np.float64)
    slack_change = centre - now.slack * change / now.multipliers
    # the longest step, at most 1, that keeps all values above 0
    both = np.append(now.multipliers, now.slack), np.append(change, slack_change)
    falls = both[1] < 0
    step = float((-0.99 * both[0][falls] / both[1][falls]).min(initial=1.0))
    for _ in range(_HALVINGS):
        further = now.multipliers + step * change
        moments = _moments(game, _tilted(game, log_target, further))
        iterate = _Iterate(further, now.slack + step * slack_change, *moments)
        if iterate.merit() <= (1 - 0.01 * step) * now.merit():
            break
        step /= 2
    return iterate


def _tilted(game: NormalFormGame, log_target: Array, multipliers: Array) -> Array:
    """x(a) ∝ t(a) exp(−Σ α_i(a') gain_{i,a'}(a)), gain_{i,a'}(a) = u_i(a', a_-i) − u_i(a)."""
    logs = log_target.copy()
    for i, alpha in enumerate(np.split(multipliers, np.cumsum(game.shape)[:-1])):
        payoff = game.payoffs[i]
        logs -= np.expand_dims(np.tensordot(alpha, payoff, (0, i)), i) - alpha.sum() * payoff
    return np.asarray(softmax(logs))


def _moments(game: NormalFormGame, joint: Array) -> tuple[Array, Array]:
    """Means (C,) and covariance (C, C) of all gains under a joint distribution. The table of gains
    (C, profiles) is never built: its moments are sums over pairs of players."""
    payoffs, own = game.payoffs, [joint * payoff for payoff in game.payoffs]
    rows = [np.moveaxis(u, i, 0).reshape(game.shape[i], -1) for i, u in enumerate(payoffs)]

    def deviating(i: int, weights: Array) -> Array:  # Σ_a weights(a) u_i(a', a_-i), (|A_i|,)
        return np.asarray(rows[i] @ weights.sum(axis=i).ravel())

    blocks = [[np.empty(0)] * len(own) for _ in own]
    by_size = sorted(game.players, key=lambda i: -game.shape[i])
    for i, j in combinations_with_replacement(by_size, 2):
        if i == j:
            both = (rows[i] * joint.sum(axis=i).ravel()) @ rows[i].T
        else:  # the larger player's actions are summed first, which takes least memory
            weights, one, other = (
                np.moveaxis(each, (i, j), (-2, -1)).reshape(-1, joint.shape[i], joint.shape[j])
                for each in (joint, payoffs[i], payoffs[j])
            )
            both = np.tensordot(one, weights.swapaxes(1, 2) @ other, ((0, 2), (0, 1)))
        both = both - deviating(i, own[j])[:, None] - deviating(j, own[i])
        blocks[i][j] = both + np.vdot(own[i], payoffs[j])
        blocks[j][i] = blocks[i][j].T
    means = np.concatenate([deviating(i, joint) - own[i].sum() for i in game.players])
    return means, np.block(blocks) - np.outer(means, means)
