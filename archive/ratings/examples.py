"""The paper's closed-form examples (App. D and E): the paper's values and the computed ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.normal_form import Array, NormalFormGame, contract
from archive.ratings.rating import EquilibriumKind, RatingSettings, TargetEntropy, rate

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
CHICKEN = np.array([[0.0, -1.0], [1.0, -12.0]])
"""Swerve, straight."""
ROCK_TWICE = ROCK_PAPER_SCISSORS[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
STRAIGHT_TWICE = CHICKEN[np.ix_([0, 1, 1], [0, 1, 1])]
SHANNON_CCE = RatingSettings(EquilibriumKind.CCE, TargetEntropy.SHANNON)


Example = tuple[str, str, Sequence[float], Array]
"""Game, quantity, the paper's values (or, where it prints a figure, those of its definitions) and
the computed ones."""


def symmetric_game(payoff: Array) -> NormalFormGame:
    """Two players with the same actions: ``payoff`` (own action, other's action)."""
    return NormalFormGame((payoff, payoff.T))


def examples() -> list[Example]:
    """All examples. Raises :class:`RatingError` if no equilibrium is reached."""
    return [*_rock_paper_scissors(), *_chicken(), *_maximal_entropy()]


def _rock_paper_scissors() -> Iterator[Example]:
    for copied, payoff in (("once", ROCK_PAPER_SCISSORS), ("rock twice", ROCK_TWICE)):
        name, solution = f"rock-paper-scissors, {copied}", rate(symmetric_game(payoff))
        yield name, "ratings", [0] * len(payoff), solution.ratings[0]
        masses = solution.classes.fold(0, solution.masses[0])
        yield name, "mass of each of three", [1 / 3] * 3, masses
    wins = solution.contributions(0, 1)[2]
    yield name, "added to paper", [1 / 6, 1 / 6, 0, -1 / 3], wins


def _chicken() -> Iterator[Example]:
    for copied, payoff in (("once", CHICKEN), ("straight twice", STRAIGHT_TWICE)):
        name, game = f"chicken, {copied}", symmetric_game(payoff)
        solution = rate(game)
        swerve = solution.classes.fold(0, solution.masses[0])[:1]
        yield name, "mass of swerve", [11 / 12], swerve
        yield name, "payoff", [-1 / 12], np.array([np.vdot(solution.joint, game.payoffs[0])])
        yield name, "ratings", [0] * len(payoff), solution.ratings[0]


def _maximal_entropy() -> Iterator[Example]:
    """Under Shannon entropy copies change what is selected."""
    name = "chicken, Shannon entropy"
    for copied, payoff, values in (
        ("once", CHICKEN, [0, -3.375]),
        ("straight twice", STRAIGHT_TWICE, [0, -4.178, -4.178]),
    ):
        ratings = rate(symmetric_game(payoff), SHANNON_CCE).ratings[0]
        yield f"{name}, {copied}", "CCE ratings", values, ratings
    uneven = NormalFormGame((CHICKEN[[0, 1, 1]], CHICKEN.T[[0, 1, 1]]))
    pure = rate(uneven, RatingSettings(selection=TargetEntropy.SHANNON)).masses[1]
    quantity = "largest mass of the other player (1: pure)"
    yield f"{name}, one player's straight twice", quantity, [1], np.array([pure.max()])


def largest_error(examples: Sequence[Example]) -> float:
    """The largest absolute error over all numbers, in units of payoff or probability."""
    return max(float(np.abs(found - np.array(paper)).max()) for _, _, paper, found in examples)


# -- pure equilibria and risk dominance (Table 1, Fig. 10, section F.4) ----------------------------

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
