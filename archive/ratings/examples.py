"""The paper's closed examples (App. D and E): what it says of them, and what is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.rating import RatingSettings, Selection, Solution, rate

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
CHICKEN = np.array([[0.0, -1.0], [1.0, -12.0]])
"""Swerve, straight."""
SHANNON_CCE = RatingSettings(Solution.CCE, Selection.SHANNON)


@dataclass(frozen=True)
class Example:
    """``expected`` as in the paper or, where it prints a figure alone, derived from its
    definitions; ``found`` of the same shape."""

    game: str
    quantity: str
    expected: Array
    found: Array


def symmetric_game(payoff: Array) -> NormalFormGame:
    """Two players with the same actions: ``payoff`` (own action, other's action)."""
    return NormalFormGame((payoff, payoff.T))


def with_copy(payoff: Array, action: int) -> Array:
    """A symmetric game's payoffs, in which ``action`` is there twice."""
    places = [*range(action + 1), *range(action, len(payoff))]
    return payoff[np.ix_(places, places)]


def examples() -> list[Example]:
    """All of them. Raises :class:`RatingError` where no equilibrium is reached."""
    return [*_rock_paper_scissors(), *_chicken(), *_maximal_entropy()]


def _rock_paper_scissors() -> list[Example]:
    examples = []
    twice = with_copy(ROCK_PAPER_SCISSORS, 0)
    for name, payoff in (("once", ROCK_PAPER_SCISSORS), ("rock twice", twice)):
        rated = rate(symmetric_game(payoff))
        game = f"rock-paper-scissors, {name}"
        examples.append(Example(game, "ratings", np.zeros(len(payoff)), rated.ratings[0]))
        folded = rated.classes.fold(0, rated.masses[0])
        examples.append(Example(game, "mass of each of three", np.full(3, 1 / 3), folded))
    wins = rate(symmetric_game(twice)).contributions(0, 1)[2]
    expected = np.array([1 / 6, 1 / 6, 0.0, -1 / 3])
    return [*examples, Example("rock-paper-scissors, rock twice", "added to paper", expected, wins)]


def _chicken() -> list[Example]:
    examples = []
    for name, payoff in (("once", CHICKEN), ("straight twice", with_copy(CHICKEN, 1))):
        game = symmetric_game(payoff)
        rated = rate(game)
        said = f"chicken, {name}"
        swerve = rated.classes.fold(0, rated.masses[0])[:1]
        gained = np.array([np.vdot(rated.joint, game.payoffs[0])])
        examples += [
            Example(said, "mass of swerve", np.array([11 / 12]), swerve),
            Example(said, "payoff", np.array([-1 / 12]), gained),
            Example(said, "ratings", np.zeros(len(payoff)), rated.ratings[0]),
        ]
    return examples


def _maximal_entropy() -> list[Example]:
    """Under Shannon entropy copies change what is selected."""
    once, twice = symmetric_game(CHICKEN), symmetric_game(with_copy(CHICKEN, 1))
    rows = CHICKEN[[0, 1, 1]]
    uneven = NormalFormGame((rows, CHICKEN.T[[0, 1, 1]]))
    pure = rate(uneven, RatingSettings(selection=Selection.SHANNON)).masses[1]
    said = "chicken, Shannon entropy"
    return [
        Example(
            f"{said}, once",
            "CCE ratings",
            np.array([0.0, -3.375]),
            rate(once, SHANNON_CCE).ratings[0],
        ),
        Example(
            f"{said}, straight twice",
            "CCE ratings",
            np.array([0.0, -4.178, -4.178]),
            rate(twice, SHANNON_CCE).ratings[0],
        ),
        Example(
            f"{said}, one player's straight twice",
            "largest mass of the other player (1: pure)",
            np.ones(1),
            np.array([pure.max()]),
        ),
    ]


def largest_error(examples: Sequence[Example]) -> float:
    """Over all numbers, in units of payoff or probability."""
    return max(float(np.abs(each.found - each.expected).max()) for each in examples)
