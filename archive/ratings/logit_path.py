"""The limiting logit equilibrium (LLE): the end of the branch of logit equilibria (QRE) that begins
at the target, as the temperature goes to 0.

A QRE at temperature τ = 1/λ is a zero of F(l, λ) = l − log softmax(log t + λ d(e^l)), l = log x.
The branch is followed by its arc length in (l, λ), through folds, where λ goes back; annealing the
temperature cannot, and falls off to another branch. Its direction is that in which the determinant
of F's derivatives, bordered by the direction, is positive; where the sign flips at however short a
step, another branch crosses, and the path goes straight on.
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
where that is not exact enough the others."""
TOLERANCE = 1e-6
"""Exploitability, as a share of what each player has at stake, above which the limit does not count
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
    which the path ended, in units of payoff, 0 where the limit was solved for.

    ``folds``: how often λ turned; ``crossings``: branch points passed straight on.
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
    """From x = ``targets`` (positive, each summing to 1) at τ = ∞ to ``temperature`` in units of
    payoff, or with 0 to the limit.

    Raises :class:`RatingError` where the path cannot be followed to its end.
    """
    unit = game.rescaled()
    path = _Path(unit, [np.log(each) for each in targets])
    if not game.span:
        return LogitEquilibrium(tuple(np.array(each) for each in targets), 0.0, 0.0, 0, 0, 0)
    if temperature:
        path.follow(game.span / temperature)
        return path.result(game, path.strategies(), temperature)
    return _limit(game, path)


def _limit(game: NormalFormGame, path: _Path) -> LogitEquilibrium:
    """Where the path ends. An equilibrium with no other near it is solved for at once; one of a
    continuum is followed as far as rounding allows, and extrapolated."""
    best, reached, before = None, None, None
    ends = _ends(game)
    for place, end in enumerate(ends):
        if reached and end > ENDS[-1]:
            break
        try:
            path.follow(end)
        except RatingError:
            if reached is None:
                raise
            return reached
        best = path.result(game, path.strategies(), game.span / end)
        solved = _indifferent(path.game, path.strategies())
        for strategies in _candidates(before, solved, ends[place - 1] / end):
            equilibrium = path.result(game, strategies, 0.0)
            if _is_reached(game, equilibrium):
                reached = best = equilibrium
        if reached and solved and solved.alone:
            return reached
        before = solved
    if best is None or not _is_reached(game, best):
        raise RatingError(
            f"the path of logit equilibria ended at an exploitability of "
            f"{best.exploitability if best else np.inf:.2g}, expected at most {TOLERANCE:g} of "
            "what each player has at stake: give a temperature, or rate by CCE"
        )
    return reached or best


def _ends(game: NormalFormGame) -> list[float]:
    """``ENDS``, and further ones where a player has less at stake than the one with the most."""
    least = min(span for span in game.spans if span) / game.span
    decades = int(np.ceil(-np.log10(least)))
    return [*ENDS, *(ENDS[-1] * 10.0**n for n in range(1, 1 + min(decades, _MOST_DECADES)))]


def _is_reached(game: NormalFormGame, equilibrium: LogitEquilibrium) -> bool:
    return relative_exploitability(game, product(equilibrium.strategies)) <= TOLERANCE


def _candidates(
    before: _Indifferent | None, solved: _Indifferent | None, share: float
) -> list[list[Array]]:
    """For the limit, the better the later."""
    if solved is None:
        return []
    if before is None or solved.alone:
        return [solved.strategies]
    return [solved.strategies, _extrapolated(before.strategies, solved.strategies, share)]


class _Path:
    """A point of the branch, with the direction in which it goes on."""

    def __init__(self, game: NormalFormGame, log_targets: Sequence[Array]) -> None:
        self.game, self.log_targets = game, np.concatenate(log_targets)
        self.cuts = np.cumsum(game.shape)[:-1]
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
        """x_i at the point."""
        weights = np.split(np.exp(self.point[:-1]), self.cuts)
        return [each / each.sum() for each in weights]

    def result(
        self, game: NormalFormGame, strategies: Sequence[Array], temperature: float
    ) -> LogitEquilibrium:
        """What the path found, judged in the game as it was given."""
        left = exploitability(game, product(strategies))
        counts = (self.steps, self.folds, self.crossings)
        return LogitEquilibrium(tuple(strategies), left, temperature, *counts)

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
        corrected = self._correct(guess, border, _AT_END if last else _ON_THE_WAY)
        if corrected is None:
            return False
        point, rounds, derivative = corrected
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
        """Newton's method on F = 0 across the path: the point, how many steps, and derivatives;
        None where it does not converge."""
        for rounds in range(_CORRECTIONS):
            residual, derivative = self._system(point)
            size = float(np.abs(residual).max())
            if not np.isfinite(size) or size > 1e3:
                return None
            if size <= accuracy + 1e-14 * abs(point[-1]):
                return point, rounds, derivative
            try:
                moved = _solve(np.vstack([derivative, border]), np.append(-residual, 0.0))[0]
            except LinAlgError:
                return None
            point = point + moved
        return None

    # -- derivatives ---------------------------------------------------------------------------

    def _system(self, point: Array) -> tuple[Array, Array]:
        """F (N,) and its derivatives (N, N + 1) in l and λ."""
        logs, rate = point[:-1], point[-1]
        weights = np.exp(np.minimum(logs, 1.0))
        split = np.split(weights, self.cuts)
        cross = cross_derivatives(self.game, split)
        size = len(logs)
        residual, derivative = np.empty(size), np.zeros((size, size + 1))
        scaled = rate * weights
        for i, rows in enumerate(self.slices):
            other = 1 if i == 0 else 0
            gains = cross[i, other] @ split[other]
            raw = self.log_targets[rows] + rate * gains
            raw -= raw.max()
            response = raw - np.log(np.exp(raw).sum())
            shares = np.exp(response)
            residual[rows] = logs[rows] - response
            for j, columns in enumerate(self.slices):
                if j != i:
                    derivative[rows, columns] = cross[i, j]
            block = derivative[rows]
            block[:, :-1] *= scaled
            block[:, -1] = gains
            np.subtract(shares @ block, block, out=block)
        derivative.ravel()[:: size + 2] += 1.0
        return residual, derivative

    def _tangent(self, point: Array, border: Array, derivative: Array) -> Array:
        """Of length 1, in the direction of the path."""
        wanted = np.append(np.zeros(len(point) - 1), 1.0)
        tangent, sign = _solve(np.vstack([derivative, border]), wanted)
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


def _solve(matrix: Array, wanted: Array) -> tuple[Array, float]:
    """The solution and the sign of the determinant."""
    factors, swaps, _ = dgetrf(matrix)
    diagonal = np.diagonal(factors)
    if not np.isfinite(diagonal).all() or not diagonal.all():
        raise LinAlgError("singular")
    odd = int((swaps != np.arange(len(swaps))).sum()) + int((diagonal < 0).sum())
    solution, _ = dgetrs(factors, swaps, wanted)
    return solution, -1.0 if odd % 2 else 1.0


# -- the limit ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Indifferent:
    """An equilibrium of players that are indifferent on their supports; ``alone``: no other one
    with these supports is near to it."""

    strategies: list[Array]
    alone: bool


def _indifferent(game: NormalFormGame, near: Sequence[Array]) -> _Indifferent | None:
    """The equilibrium on the support of a logit equilibrium at a low temperature, near to it; None
    where there is none."""
    best, least = None, np.inf
    for floor in _SUPPORTS:
        solution = _solve_indifference(game, near, [each > floor for each in near])
        if solution is not None:
            left = exploitability(game, product(solution.strategies))
            if left < 0.1 * least:
                best, least = solution, left
    return best


def _extrapolated(before: Sequence[Array], after: Sequence[Array], share: float) -> list[Array]:
    """Where points that move as 1/λ will end, ``share`` being the ratio of their λ."""
    ahead = [x + (x - y) * share / (1 - share) for x, y in zip(after, before, strict=True)]
    return [np.maximum(each, 0.0) / np.maximum(each, 0.0).sum() for each in ahead]


def _solve_indifference(
    game: NormalFormGame, near: Sequence[Array], support: Sequence[NDArray[np.bool_]]
) -> _Indifferent | None:
    """Newton's method, by least squares: of many solutions the nearest."""
    strategies = [np.where(s, x, 0.0) for s, x in zip(support, near, strict=True)]
    places = [np.flatnonzero(each) for each in support]
    starts = np.cumsum([0, *(len(each) for each in places)])
    alone = False
    for _ in range(20):
        rows, wanted = _indifference(game, strategies, places)
        moved, _, rank, _ = np.linalg.lstsq(rows, wanted, rcond=1e-10)
        alone = int(rank) == starts[-1]
        for own, x, start in zip(places, strategies, starts, strict=False):
            x[own] += moved[start : start + len(own)]
        if np.abs(moved).max() < 1e-14 or np.abs(moved).max() > 1.0:
            break
    if any(each.min() < -1e-12 for each in strategies):
        return None
    strategies = [np.maximum(each, 0.0) / np.maximum(each, 0.0).sum() for each in strategies]
    apart = max(np.abs(a - b).max() for a, b in zip(strategies, near, strict=True))
    return _Indifferent(strategies, alone) if apart < _NEAR else None


def _indifference(
    game: NormalFormGame, strategies: Sequence[Array], places: Sequence[NDArray[np.int64]]
) -> tuple[Array, Array]:
    """The derivatives of d_i(a) − d_i(b) for a, b of the supports ``places`` and of Σ x_i, and by
    how much each misses 0 and 1."""
    cross = cross_derivatives(game, strategies)
    rows, wanted = [], []
    for i, own in enumerate(places):
        other = next(j for j in game.players if j != i)
        gains = (cross[i, other] @ strategies[other])[own]
        blocks = [
            np.zeros((len(own), len(own))) if j == i else cross[i, j][np.ix_(own, theirs)]
            for j, theirs in enumerate(places)
        ]
        block = np.hstack(blocks)
        total = np.hstack([np.full((1, len(each)), float(j == i)) for j, each in enumerate(places)])
        rows += [block[1:] - block[:1], total]
        wanted += [gains[0] - gains[1:], np.array([1.0 - strategies[i].sum()])]
    return np.vstack(rows), np.concatenate(wanted)
