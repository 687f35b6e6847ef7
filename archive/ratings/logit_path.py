"""The limiting logit equilibrium (LLE): the end of the branch of logit equilibria (QRE) that begins
at the target, as the temperature goes to 0.

A QRE at temperature τ = 1/λ is a zero of F(l, λ) = l − log softmax(log t + λ d(e^l)), l = log x.
The branch is followed by its arc length in (l, λ), through folds, where λ decreases; annealing the
temperature cannot do this, and jumps to another branch. Its direction is that in which the
determinant of F's derivatives, bordered by the direction, is positive; if the sign flips however
short the step is, another branch crosses, and the path continues straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dgetrf, dgetrs

from archive.errors import RatingError
from archive.ratings.normal_form import (
    Array,
    NormalFormGame,
    cross_derivatives,
    exploitability,
    product,
    relative_exploitability,
)

ENDS = (1e5, 1e6, 1e7)
"""λ, in units of 1/span, at which the limit is taken by solving for indifference: the first, and
the others if that is not exact enough."""
TOLERANCE = 1e-6
"""Exploitability, as a share of each player's span of payoffs, above which the limit does not count
as reached."""
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP, _CROSSING_STEP = 0.1, 1.0, 1e-10, 1e-4
_STRAIGHT, _VERY_STRAIGHT = 0.98, 0.995
_MOST_STEPS, _CORRECTIONS = 20_000, 8
_ON_THE_WAY, _AT_END = 1e-8, 1e-11
"""Largest error of a log-probability."""
_SUPPORTS = (1e-4, 1e-3, 1e-5, 1e-2, 1e-6)
_NEAR = 0.1
_MOST_DECADES = 5


@dataclass(frozen=True)
class LogitEquilibrium:
    """``strategies`` x_i (|A_i|,); ``exploitability`` in units of payoff; ``temperature`` τ at
    which the path ended, in units of payoff, 0 if the limit was solved for.

    ``folds``: number of times that λ changed direction; ``crossings``: number of branch points
    that the path crossed.
    """

    strategies: tuple[Array, ...]
    exploitability: float
    temperature: float
    steps: int
    folds: int
    crossings: int


def limiting_logit_equilibrium(
    game: NormalFormGame, targets: Sequence[Array], temperature: float = 0.0
) -> LogitEquilibrium:
    """The equilibrium at the end of the path from x = ``targets`` (positive, each summing to 1) at
    τ = ∞ to ``temperature`` in units of payoff; 0: the limit.

    Raises :class:`RatingError` if the path cannot be followed to its end.
    """
    unit = game.rescale()
    path = _Path(unit, [np.log(target) for target in targets])
    if not game.span:
        return LogitEquilibrium(tuple(np.array(target) for target in targets), 0.0, 0.0, 0, 0, 0)
    if temperature:
        path.follow(game.span / temperature)
        return path.result(game, path.strategies(), temperature)
    return _limit(game, path)


def _limit(game: NormalFormGame, path: _Path) -> LogitEquilibrium:
    """The end of the path. An equilibrium with no other near it is solved for at once; one of a
    continuum is followed as far as rounding allows, and extrapolated."""
    best, limit, previous = None, None, None
    ends = _ends(game)
    for index, end in enumerate(ends):
        if limit and end > ENDS[-1]:
            break
        try:
            path.follow(end)
        except RatingError:
            if limit is None:
                raise
            return limit
        best = path.result(game, path.strategies(), game.span / end)
        solution = _indifference_solution(path.game, path.strategies())
        for strategies in _candidates(previous, solution, ends[index - 1] / end):
            equilibrium = path.result(game, strategies, 0.0)
            if _is_reached(game, equilibrium):
                limit = best = equilibrium
        if limit and solution and solution.alone:
            return limit
        previous = solution
    if best is None or not _is_reached(game, best):
        raise RatingError(
            f"the path of logit equilibria ended at an exploitability of "
            f"{best.exploitability if best else np.inf:.2g}, expected at most {TOLERANCE:g} of "
            "what each player has at stake: give a temperature, or rate by CCE"
        )
    return limit or best


def _ends(game: NormalFormGame) -> list[float]:
    """``ENDS``, and larger ones if the players' spans of payoffs differ."""
    least = min(span for span in game.spans if span) / game.span
    decades = int(np.ceil(-np.log10(least)))
    return [*ENDS, *(ENDS[-1] * 10.0**n for n in range(1, 1 + min(decades, _MOST_DECADES)))]


def _is_reached(game: NormalFormGame, equilibrium: LogitEquilibrium) -> bool:
    return relative_exploitability(game, product(equilibrium.strategies)) <= TOLERANCE


def _candidates(
    previous: _IndifferenceSolution | None, solution: _IndifferenceSolution | None, share: float
) -> list[list[Array]]:
    """Candidates for the limit, the best last."""
    if solution is None:
        return []
    if previous is None or solution.alone:
        return [solution.strategies]
    return [solution.strategies, _extrapolate(previous.strategies, solution.strategies, share)]


class _Path:
    """A point of the branch, and the direction in which the branch continues."""

    def __init__(self, game: NormalFormGame, log_targets: Sequence[Array]) -> None:
        self.game, self.log_targets = game, np.concatenate(log_targets)
        self.cuts = np.cumsum(game.shape)[:-1]
        self.head = game.shape[0]
        starts = np.concatenate([[0], self.cuts])
        ends = np.concatenate([self.cuts, [len(self.log_targets)]])
        self.slices = [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
        self.point = np.append(self.log_targets, 0.0)
        self.orientation, self.step = 1.0, _FIRST_STEP
        self.steps = self.folds = self.crossings = 0
        self.bend = np.zeros_like(self.point)
        along = np.append(np.zeros(len(self.point) - 1), 1.0)
        self.tangent = self._tangent(self.point, along, self._system(self.point)[1])

    def strategies(self) -> list[Array]:
        """The strategies x_i at the point."""
        weights = np.split(np.exp(self.point[:-1]), self.cuts)
        return [weight / weight.sum() for weight in weights]

    def result(
        self, game: NormalFormGame, strategies: Sequence[Array], temperature: float
    ) -> LogitEquilibrium:
        """The equilibrium with its exploitability in ``game``, the original (not rescaled) game."""
        regret = exploitability(game, product(strategies))
        counts = (self.steps, self.folds, self.crossings)
        return LogitEquilibrium(tuple(strategies), regret, temperature, *counts)

    def follow(self, end: float) -> None:
        """Go on until λ is ``end``."""
        while self.point[-1] < end:
            self._advance(end)
        if self.point[-1] > end:
            raise RatingError(f"the path is beyond λ = {end:g} already")

    # -- one step ------------------------------------------------------------------------------

    def _advance(self, end: float) -> None:
        for _ in range(_MOST_STEPS - self.steps):
            if self._try(end):
                self.steps += 1
                return
            self.step /= 2
            if self.step < _SHORTEST_STEP:
                break
        raise RatingError(
            f"the path of logit equilibria cannot be followed beyond temperature "
            f"{self.game.span / max(self.point[-1], 1e-12):.2g} of the span of payoffs: give a "
            "higher temperature, or rate by CCE"
        )

    def _try(self, end: float) -> bool:
        guess = self.point + self.step * (self.tangent + self.step * self.bend)
        last = self.point[-1] + self.step * self.tangent[-1] >= end
        if last:
            share = (end - self.point[-1]) / self.tangent[-1]
            guess = self.point + share * self.tangent
            border = np.append(np.zeros(len(guess) - 1), 1.0)
        else:
            border = self._metric(guess) * self.tangent
        correction = self._correct(guess, border, _AT_END if last else _ON_THE_WAY)
        if correction is None:
            return False
        point, rounds, derivative = correction
        if point[-1] > end and not last:
            return False
        try:
            tangent = self._tangent(point, self._metric(point) * self.tangent, derivative)
        except LinAlgError:
            return False
        alike = self._cosine(point, tangent)
        if alike < _STRAIGHT:
            if alike > -_STRAIGHT or self.step > _CROSSING_STEP:
                return False
            self.orientation, tangent = -self.orientation, -tangent
            self.crossings += 1
        self.folds += bool(tangent[-1] * self.tangent[-1] < 0)
        self.bend = (tangent - self.tangent) / (2 * self.step)
        self.point, self.tangent = point, tangent
        if alike > _VERY_STRAIGHT and rounds <= 4:
            self.step = min(1.6 * self.step, _LONGEST_STEP)
        return True

    def _correct(
        self, point: Array, border: Array, accuracy: float
    ) -> tuple[Array, int, Array] | None:
        """Newton's method on F = 0 across the path: the point, the number of steps and the
        derivatives; None if it does not converge."""
        for rounds in range(_CORRECTIONS):
            residual, derivative = self._system(point)
            size = float(np.abs(residual).max())
            if not np.isfinite(size) or size > 1e3:
                return None
            if size <= accuracy + 1e-14 * abs(point[-1]):
                return point, rounds, derivative
            try:
                step = _solve(
                    np.vstack([derivative, border]), np.append(-residual, 0.0), self.head
                )[0]
            except LinAlgError:
                return None
            point = point + step
        return None

    # -- derivatives ---------------------------------------------------------------------------

    def _system(self, point: Array) -> tuple[Array, Array]:
        """F (N,) and its derivatives (N, N + 1) in l and λ."""
        logs, rate = point[:-1], point[-1]
        weights = np.exp(np.minimum(logs, 1.0))
        strategies = np.split(weights, self.cuts)
        cross = cross_derivatives(self.game, strategies)
        size = len(logs)
        residual, derivative = np.empty(size), np.zeros((size, size + 1))
        scaled_weights = rate * weights
        for i, rows in enumerate(self.slices):
            other = 1 if i == 0 else 0
            gains = cross[i, other] @ strategies[other]
            raw = self.log_targets[rows] + rate * gains
            raw -= raw.max()
            response = raw - np.log(np.exp(raw).sum())
            shares = np.exp(response)
            residual[rows] = logs[rows] - response
            for j, columns in enumerate(self.slices):
                if j != i:
                    derivative[rows, columns] = cross[i, j]
            block = derivative[rows]
            block[:, :-1] *= scaled_weights
            block[:, -1] = gains
            np.subtract(shares @ block, block, out=block)
        derivative.ravel()[:: size + 2] += 1.0
        return residual, derivative

    def _tangent(self, point: Array, border: Array, derivative: Array) -> Array:
        """The tangent of length 1 in the direction of the path."""
        right_side = np.append(np.zeros(len(point) - 1), 1.0)
        tangent, sign = _solve(np.vstack([derivative, border]), right_side, self.head)
        tangent *= sign * self.orientation
        return tangent / np.sqrt((self._metric(point) * tangent**2).sum())

    def _cosine(self, point: Array, tangent: Array) -> float:
        metric = self._metric(point)
        before = self.tangent / np.sqrt((metric * self.tangent**2).sum())
        return float((metric * before * tangent).sum())

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
    rest, sign = _factorise(
        matrix[head:, head:] - below @ above, right_side[head:] - below @ right_side[:head]
    )
    return np.concatenate([right_side[:head] - above @ rest, rest]), sign


def _factorise(matrix: Array, right_side: Array) -> tuple[Array, float]:
    factors, swaps, _ = dgetrf(matrix)
    diagonal = np.diagonal(factors)
    if not np.isfinite(diagonal).all() or not diagonal.all():
        raise LinAlgError("singular")
    odd = int((swaps != np.arange(len(swaps))).sum()) + int((diagonal < 0).sum())
    solution, _ = dgetrs(factors, swaps, right_side)
    return solution, -1.0 if odd % 2 else 1.0


# -- the limit ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _IndifferenceSolution:
    """An equilibrium of players that are indifferent on their supports; ``alone``: no other one
    with these supports is near it."""

    strategies: list[Array]
    alone: bool


def _indifference_solution(
    game: NormalFormGame, near: Sequence[Array]
) -> _IndifferenceSolution | None:
    """The equilibrium on the support of a logit equilibrium at a low temperature, near it; None if
    there is none."""
    best, least = None, np.inf
    for floor in _SUPPORTS:
        solution = _solve_indifference(game, near, [strategy > floor for strategy in near])
        if solution is not None:
            regret = exploitability(game, product(solution.strategies))
            if regret < 0.1 * least:
                best, least = solution, regret
    return best


def _extrapolate(before: Sequence[Array], after: Sequence[Array], share: float) -> list[Array]:
    """The limit of points that move as 1/λ; ``share`` is the ratio of their λ."""
    ahead = [x + (x - y) * share / (1 - share) for x, y in zip(after, before, strict=True)]
    return [np.maximum(x, 0.0) / np.maximum(x, 0.0).sum() for x in ahead]


def _solve_indifference(
    game: NormalFormGame, near: Sequence[Array], support: Sequence[NDArray[np.bool_]]
) -> _IndifferenceSolution | None:
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
    return _IndifferenceSolution(strategies, alone) if apart < _NEAR else None


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
        total = np.hstack(
            [np.full((1, len(each)), float(j == i)) for j, each in enumerate(indices)]
        )
        rows += [block[1:] - block[:1], total]
        misses += [gains[0] - gains[1:], np.array([1.0 - strategies[i].sum()])]
    return np.vstack(rows), np.concatenate(misses)
