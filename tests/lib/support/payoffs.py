"""Payoffs that the tests of ratings share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from archive.ratings.normal_form import NormalFormGame

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
CHICKEN = np.array([[0.0, -1.0], [1.0, -12.0]])
"""Swerve, straight."""


def symmetric(payoff: np.ndarray) -> NormalFormGame:
    """Both players alike: ``payoff`` (own action, other's action)."""
    return NormalFormGame((payoff, payoff.T))


def again(payoff: np.ndarray, action: int) -> np.ndarray:
    """A symmetric game's payoffs with a copied action."""
    places = [*range(action + 1), *range(action, len(payoff))]
    return payoff[np.ix_(places, places)]


def antisymmetric(upper: np.ndarray) -> np.ndarray:
    """Preferences (tasks, models, models) from any table of that shape."""
    lower = np.triu(upper, 1)
    return lower - lower.swapaxes(1, 2)


def judge_means(seed: int, tasks: int, models: int, judgements: int = 8) -> np.ndarray:
    """Preferences of models with skills on tasks that ask for skills, as a noisy judge's means of
    verdicts −1, −½, 0, ½ and 1."""
    rng = np.random.default_rng(seed)
    task_skills, skill = rng.dirichlet(np.ones(4), tasks), rng.dirichlet(np.ones(4), models)
    level = task_skills @ skill.T
    gaps = 4 * (level[:, :, None] - level[:, None, :])
    noise = rng.normal(0, 0.5, (judgements, *gaps.shape))
    verdicts = np.round(2 * np.clip(gaps + noise, -1, 1)) / 2
    return antisymmetric(verdicts.mean(axis=0))


def preference_tables(most_tasks: int = 4, most_models: int = 4) -> st.SearchStrategy[np.ndarray]:
    """Of sixteenths, so that ties and clean sweeps occur."""
    shapes = st.tuples(st.integers(1, most_tasks), st.integers(2, most_models))
    return shapes.flatmap(
        lambda shape: npst.arrays(
            np.float64, (shape[0], shape[1], shape[1]), elements=st.integers(-16, 16).map(_share)
        ).map(antisymmetric)
    )


def _share(sixteenths: int) -> float:
    return sixteenths / 16


def random_game(seed: int, shape: tuple[int, ...]) -> NormalFormGame:
    """Independent normal payoffs."""
    rng = np.random.default_rng(seed)
    return NormalFormGame(tuple(rng.normal(size=shape) for _ in shape))
