"""Games in normal form: payoffs, regrets and exploitability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import permutations
from math import prod

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError

Array = NDArray[np.float64]
Strategies = Sequence[Array]
"""x_i (|A_i|,) of each player, each summing to 1."""

MEMORY = 4 << 30
"""Bytes that rating a game may take; a larger game is refused before anything is allocated."""
_ROUNDING = 1e-13
"""Difference of payoffs, as a share of the largest payoff, that counts as 0."""
_MATRICES = 4
"""Number of square matrices over all actions in memory at once."""


@dataclass(frozen=True)
class NormalFormGame:
    """``payoffs``: u_i (|A_1|, …, |A_n|) float64 of each player i, n ≥ 2, finite.

    Raises :class:`RatingError` for any other payoffs.
    """

    payoffs: tuple[Array, ...]

    def __post_init__(self) -> None:
        shapes = {payoff.shape for payoff in self.payoffs}
        if len(self.payoffs) < 2 or shapes != {self.payoffs[0].shape}:
            raise RatingError(
                f"found payoffs of shapes {[payoff.shape for payoff in self.payoffs]}, expected "
                "one shape and at least two players"
            )
        if self.payoffs[0].ndim != len(self.payoffs) or not self.payoffs[0].size:
            raise RatingError(
                f"found payoffs of shape {self.payoffs[0].shape} for {len(self.payoffs)} players, "
                "expected one axis a player, none of them empty"
            )
        for player, payoff in enumerate(self.payoffs):
            if not np.isfinite(payoff).all():
                index = tuple(int(part) for part in np.argwhere(~np.isfinite(payoff))[0])
                raise RatingError(
                    f"found payoff {payoff[index]} of player {player} at {index}, expected a "
                    "number: leave the action out, or measure it"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of actions of each player."""
        return self.payoffs[0].shape

    @property
    def players(self) -> range:
        """The players 0, …, n − 1."""
        return range(len(self.payoffs))

    @cached_property
    def spans(self) -> tuple[float, ...]:
        """The largest difference between two payoffs of each player; 0 if it is only rounding."""
        sizes = [(float(np.ptp(payoff)), float(np.abs(payoff).max())) for payoff in self.payoffs]
        return tuple(span if span > _ROUNDING * size else 0.0 for span, size in sizes)

    @property
    def span(self) -> float:
        """The largest of the players' spans."""
        return max(self.spans)

    @cached_property
    def by_pair(self) -> dict[tuple[int, int], Array]:
        """u_i with the axes of i and j first, all i ≠ j, and the others in order."""
        payoffs = {}
        for i, j in permutations(self.players, 2):
            rest = [k for k in self.players if k not in (i, j)]
            payoffs[i, j] = np.ascontiguousarray(self.payoffs[i].transpose(i, j, *rest))
        return payoffs

    def rescale(self) -> NormalFormGame:
        """Each player's payoffs shifted to begin at 0, all divided by ``span``: the same
        equilibria, and the same logit equilibria at temperatures divided by ``span``."""
        scale = self.span or 1.0
        return NormalFormGame(tuple((payoff - payoff.min()) / scale for payoff in self.payoffs))

    def rescale_by_player(self) -> NormalFormGame:
        """Each player's payoffs from 0 to 1, or all 0: the same equilibria."""
        both = zip(self.payoffs, self.spans, strict=True)
        return NormalFormGame(
            tuple((payoff - payoff.min()) / (span or np.inf) for payoff, span in both)
        )


def check_memory(shape: Sequence[int]) -> None:
    """Raises :class:`RatingError` if payoffs for ``shape`` actions of each player do not fit."""
    players = len(shape)
    tables = players + players + players * (players - 1)  # payoffs, rescaled, by pair
    _refuse(" × ".join(f"{size:,}" for size in shape), prod(shape) * tables)


def check_actions(actions: int) -> None:
    """Raises :class:`RatingError` if matrices over ``actions``, the number of actions of all
    players with clones merged, do not fit."""
    _refuse(f"{actions:,} different", _MATRICES * actions**2)


def _refuse(what: str, numbers: int) -> None:
    if 8 * numbers > MEMORY:
        raise RatingError(
            f"a game of {what} actions takes {8 * numbers / 2**30:,.1f} GiB, expected at most "
            f"{MEMORY >> 30} GiB: rate fewer tasks or fewer models"
        )


def contract(tensor: Array, strategies: Strategies, keep: Sequence[int]) -> Array:
    """Σ over the axes not in ``keep`` (ascending), each weighted by its player's strategy."""
    for axis in range(tensor.ndim - 1, -1, -1):
        if axis not in keep:
            tensor = np.moveaxis(tensor, axis, -1) @ strategies[axis]
    return tensor


def product(strategies: Strategies) -> Array:
    """The joint distribution of players that choose independently."""
    return reduce(np.multiply.outer, strategies)


def marginals(joint: Array) -> list[Array]:
    """x_i (|A_i|,) of each player."""
    axes = range(joint.ndim)
    return [joint.sum(axis=tuple(j for j in axes if j != i)) for i in axes]


def regrets(game: NormalFormGame, joint: Array) -> list[Array]:
    """regret_i(a, x) = Σ_b x(b) [u_i(a, b_-i) − u_i(b)] of each action of each player (1)."""
    deviations = []
    for player, payoff in enumerate(game.payoffs):
        others = joint.sum(axis=player)
        rows = np.moveaxis(payoff, player, 0).reshape(game.shape[player], -1)
        deviations.append(rows @ others.ravel() - float(np.vdot(payoff, joint)))
    return deviations


def exploitability(game: NormalFormGame, joint: Array) -> float:
    """The largest regret of any player: ε of the ε-CCE ``joint``, or of the ε-NE where it is a
    product; in units of payoff."""
    return max(0.0, *(float(regret.max()) for regret in regrets(game, joint)))


def relative_exploitability(game: NormalFormGame, joint: Array) -> float:
    """The largest regret, each player's as a share of what it has at stake."""
    pairs = zip(regrets(game, joint), game.spans, strict=True)
    return max([0.0, *(float(regret.max()) / span for regret, span in pairs if span)])


def cross_derivatives(game: NormalFormGame, strategies: Strategies) -> dict[tuple[int, int], Array]:
    """P_ij (|A_i|, |A_j|) = ∂d_i/∂x_j, all i ≠ j."""
    slices = {}
    for (i, j), tensor in game.by_pair.items():
        for k in reversed(game.players):
            if k not in (i, j):
                tensor = tensor @ strategies[k]
        slices[i, j] = tensor
    return slices
