"""The paper's closed-form examples (App. D and E): the paper's values and the computed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.rating import EquilibriumKind, RatingSettings, TargetEntropy, rate

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
CHICKEN = np.array([[0.0, -1.0], [1.0, -12.0]])
"""Swerve, straight."""
SHANNON_CCE = RatingSettings(EquilibriumKind.CCE, TargetEntropy.SHANNON)


@dataclass(frozen=True)
class Example:
    """One quantity of an example: ``paper_value`` from the paper or, if it only prints a figure,
    from its definitions; ``computed_value`` of the same shape."""

    game: str
    quantity: str
    paper_value: Array
    computed_value: Array


def symmetric_game(payoff: Array) -> NormalFormGame:
    """Two players with the same actions: ``payoff`` (own action, other's action)."""
    return NormalFormGame((payoff, payoff.T))


def with_copy(payoff: Array, action: int) -> Array:
    """A symmetric game's payoffs, in which ``action`` is there twice."""
    indices = [*range(action + 1), *range(action, len(payoff))]
    return payoff[np.ix_(indices, indices)]


def examples() -> list[Example]:
    """All examples. Raises :class:`RatingError` if no equilibrium is reached."""
    return [*_rock_paper_scissors(), *_chicken(), *_maximal_entropy()]


def _rock_paper_scissors() -> list[Example]:
    examples = []
    twice = with_copy(ROCK_PAPER_SCISSORS, 0)
    for name, payoff in (("once", ROCK_PAPER_SCISSORS), ("rock twice", twice)):
        solution = rate(symmetric_game(payoff))
        game = f"rock-paper-scissors, {name}"
        examples.append(Example(game, "ratings", np.zeros(len(payoff)), solution.ratings[0]))
        masses = solution.classes.fold(0, solution.masses[0])
        examples.append(Example(game, "mass of each of three", np.full(3, 1 / 3), masses))
    wins = rate(symmetric_game(twice)).contributions(0, 1)[2]
    expected = np.array([1 / 6, 1 / 6, 0.0, -1 / 3])
    return [*examples, Example("rock-paper-scissors, rock twice", "added to paper", expected, wins)]


def _chicken() -> list[Example]:
    examples = []
    for variant, payoff in (("once", CHICKEN), ("straight twice", with_copy(CHICKEN, 1))):
        game = symmetric_game(payoff)
        solution = rate(game)
        name = f"chicken, {variant}"
        swerve = solution.classes.fold(0, solution.masses[0])[:1]
        mean_payoff = np.array([np.vdot(solution.joint, game.payoffs[0])])
        examples += [
            Example(name, "mass of swerve", np.array([11 / 12]), swerve),
            Example(name, "payoff", np.array([-1 / 12]), mean_payoff),
            Example(name, "ratings", np.zeros(len(payoff)), solution.ratings[0]),
        ]
    return examples


def _maximal_entropy() -> list[Example]:
    """Under Shannon entropy copies change what is selected."""
    once, twice = symmetric_game(CHICKEN), symmetric_game(with_copy(CHICKEN, 1))
    rows = CHICKEN[[0, 1, 1]]
    uneven = NormalFormGame((rows, CHICKEN.T[[0, 1, 1]]))
    pure = rate(uneven, RatingSettings(selection=TargetEntropy.SHANNON)).masses[1]
    name = "chicken, Shannon entropy"
    return [
        Example(
            f"{name}, once",
            "CCE ratings",
            np.array([0.0, -3.375]),
            rate(once, SHANNON_CCE).ratings[0],
        ),
        Example(
            f"{name}, straight twice",
            "CCE ratings",
            np.array([0.0, -4.178, -4.178]),
            rate(twice, SHANNON_CCE).ratings[0],
        ),
        Example(
            f"{name}, one player's straight twice",
            "largest mass of the other player (1: pure)",
            np.ones(1),
            np.array([pure.max()]),
        ),
    ]


def largest_error(examples: Sequence[Example]) -> float:
    """The largest absolute error over all numbers, in units of payoff or probability."""
    return max(
        float(np.abs(example.computed_value - example.paper_value).max()) for example in examples
    )
