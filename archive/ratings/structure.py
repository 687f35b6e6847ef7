"""What the ratings paper looks at in its game beside ratings: pure equilibria, and which of many
equilibria is risk-dominant (its first table, its tenth figure, section F.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.normal_form import Array, NormalFormGame, contract
from archive.ratings.rating import rate

STEP, ROUNDS = 1e-2, 10_000
"""η and T of (84), (85)."""
_SAME = 1e-3
"""Largest difference of probabilities between equilibria that count as one."""


def pure_equilibria(game: NormalFormGame) -> NDArray[np.int64]:
    """All pure equilibria (n, players): indices of actions from which no player gains by a
    change."""
    best = [
        payoff >= payoff.max(axis=player, keepdims=True) - 1e-12
        for player, payoff in enumerate(game.payoffs)
    ]
    return np.argwhere(np.logical_and.reduce(best))


def clean_sweeps(preferences: Array) -> NDArray[np.int64]:
    """(n, 2): tasks and models that win there against every rival on every judgement."""
    models = preferences.shape[1]
    return np.argwhere((preferences >= 1 - 1e-12).sum(axis=2) == models - 1)


def equilibria(game: NormalFormGame, starts: int, seed: int = 0) -> list[list[Array]]:
    """Different equilibria, each the strategies of all players: first the one that ratings select,
    then limits of paths from ``starts`` random targets. Starts whose path cannot be followed are
    left out."""
    random, found = np.random.default_rng(seed), [rate(game).masses]
    for _ in range(starts):
        targets = [random.dirichlet(np.full(size, 0.3)) + 1e-6 for size in game.shape]
        try:
            masses = rate(game, targets=[each / each.sum() for each in targets]).masses
        except RatingError:
            continue
        if min(_apart(masses, other) for other in found) > _SAME:
            found.append(masses)
    return found


def _apart(one: Sequence[Array], other: Sequence[Array]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def coordination_payoffs(
    game: NormalFormGame, found: Sequence[Sequence[Array]], rounds: int = 0
) -> Array:
    """Expected payoff (equilibria, players) of a player that plays its part of one equilibrium,
    where each other player draws an equilibrium from a prior (85): uniform, or after ``rounds``
    steps of players that expect each other's priors (84)."""
    values = []
    for payoff in game.payoffs:
        for player in game.players:
            parts = np.stack([strategies[player] for strategies in found])
            payoff = np.moveaxis(np.tensordot(payoff, parts, (player, 1)), -1, player)
        values.append(payoff)
    priors = [np.full(len(found), 1 / len(found)) for _ in game.players]
    for _ in range(rounds):
        logs = [
            np.log(prior) + STEP * contract(value, priors, [player])
            for player, (prior, value) in enumerate(zip(priors, values, strict=True))
        ]
        weights = [np.exp(log - log.max()) for log in logs]
        priors = [np.maximum(weight / weight.sum(), 1e-300) for weight in weights]
    payoffs = [contract(value, priors, [player]) for player, value in enumerate(values)]
    return np.stack(payoffs, axis=1)
