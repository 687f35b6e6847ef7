"""Games in normal form: payoffs, regrets and exploitability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError

Array = NDArray[np.float64]
Strategies = Sequence[Array]
"""x_i (|A_i|,) of each player, each summing to 1."""

MEMORY = 4 << 30
"""Bytes of payoffs beyond which a game is refused before anything is allocated for it."""


@dataclass(frozen=True)
class NormalFormGame:
    """``payoffs``: u_i (|A_1|, …, |A_n|) float64 of each player i, n ≥ 2, finite.

    Raises :class:`RatingError` for any other payoffs.
    """

    payoffs: tuple[Array, ...]

    def __post_init__(self) -> None:
        shapes = {each.shape for each in self.payoffs}
        if len(self.payoffs) < 2 or shapes != {self.payoffs[0].shape}:
            raise RatingError(
                f"found payoffs of shapes {[each.shape for each in self.payoffs]}, expected one "
                "shape and at least two players"
            )
        if self.payoffs[0].ndim != len(self.payoffs) or not self.payoffs[0].size:
            raise RatingError(
                f"found payoffs of shape {self.payoffs[0].shape} for {len(self.payoffs)} players, "
                "expected one axis a player, none of them empty"
            )
        for player, each in enumerate(self.payoffs):
            if not np.isfinite(each).all():
                place = tuple(int(part) for part in np.argwhere(~np.isfinite(each))[0])
                raise RatingError(
                    f"found payoff {each[place]} of player {player} at {place}, expected a number: "
                    "leave the action out, or measure it"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of actions of each player."""
        return self.payoffs[0].shape

    @property
    def players(self) -> range:
        """0..n−1."""
        return range(len(self.payoffs))

    @cached_property
    def span(self) -> float:
        """The largest difference between two payoffs of one player; 0 where nothing is at stake."""
        return max(float(np.ptp(each)) for each in self.payoffs)

    @cached_property
    def by_pair(self) -> dict[tuple[int, int], Array]:
        """u_i with the axes of i and j first, all i ≠ j, and the others in order."""
        found = {}
        for i, j in permutations(self.players, 2):
            rest = [k for k in self.players if k not in (i, j)]
            found[i, j] = np.ascontiguousarray(self.payoffs[i].transpose(i, j, *rest))
        return found

    def rescaled(self) -> NormalFormGame:
        """Each player's payoffs from 0 up, all divided by ``span``: the same equilibria."""
        scale = self.span or 1.0
        return NormalFormGame(tuple((each - each.min()) / scale for each in self.payoffs))


def check_memory(entries: int, players: int) -> None:
    """Raises :class:`RatingError` where payoffs of so many profiles do not fit."""
    if entries * players * 8 > MEMORY:
        raise RatingError(
            f"the game has {entries:,} profiles, {entries * players * 8 / 2**30:.1f} GiB of "
            f"payoffs, expected at most {MEMORY >> 30} GiB: rate fewer tasks or fewer models"
        )


def contract(tensor: Array, strategies: Strategies, keep: Sequence[int]) -> Array:
    """Σ over the axes not in ``keep`` (ascending), each weighted by its player's strategy."""
    for axis in range(tensor.ndim - 1, -1, -1):
        if axis not in keep:
            tensor = np.moveaxis(tensor, axis, -1) @ strategies[axis]
    return tensor


def deviation_payoffs(game: NormalFormGame, strategies: Strategies) -> list[Array]:
    """d_i(a) = u_i(a, x_-i) of each player, (|A_i|,)."""
    return [contract(game.payoffs[i], strategies, [i]) for i in game.players]


def product(strategies: Strategies) -> Array:
    """The joint distribution of players that choose independently."""
    return reduce(np.multiply.outer, strategies)


def marginals(joint: Array) -> list[Array]:
    """x_i (|A_i|,) of each player."""
    axes = range(joint.ndim)
    return [joint.sum(axis=tuple(j for j in axes if j != i)) for i in axes]


def regrets(game: NormalFormGame, joint: Array) -> list[Array]:
    """regret_i(a, x) = Σ_b x(b) [u_i(a, b_-i) − u_i(b)] of each action of each player (1)."""
    found = []
    for player, payoff in enumerate(game.payoffs):
        others = joint.sum(axis=player)
        rows = np.moveaxis(payoff, player, 0).reshape(game.shape[player], -1)
        found.append(rows @ others.ravel() - float(np.vdot(payoff, joint)))
    return found


def exploitability(game: NormalFormGame, joint: Array) -> float:
    """The largest regret of any player: ε of the ε-CCE ``joint``, or of the ε-NE where it is a
    product; in units of payoff."""
    return max(0.0, *(float(each.max()) for each in regrets(game, joint)))


def cross_derivatives(game: NormalFormGame, strategies: Strategies) -> dict[tuple[int, int], Array]:
    """P_ij (|A_i|, |A_j|) = ∂d_i/∂x_j, all i ≠ j."""
    found = {}
    for (i, j), tensor in game.by_pair.items():
        for k in reversed(game.players):
            if k not in (i, j):
                tensor = tensor @ strategies[k]
        found[i, j] = tensor
    return found
