"""Payoffs that the tests of ratings share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from archive.ratings.normal_form import NormalFormGame
from archive.ratings.paper import judged_preferences


def antisymmetric(upper: np.ndarray) -> np.ndarray:
    """Preferences (tasks, models, models) from any table of that shape."""
    lower = np.triu(upper, 1)
    return lower - lower.swapaxes(1, 2)


def judge_means(seed: int, tasks: int, models: int) -> np.ndarray:
    """Preferences of simulated models, drawn by a seed."""
    return judged_preferences(tasks, models, np.random.default_rng(seed))


def preference_tables(most_tasks: int = 4, most_models: int = 4) -> st.SearchStrategy[np.ndarray]:
    """Of sixteenths, so that ties and clean sweeps occur."""
    shapes = st.tuples(st.integers(1, most_tasks), st.integers(2, most_models))
    return shapes.flatmap(
        lambda shape: npst.arrays(
            np.int64, (shape[0], shape[1], shape[1]), elements=st.integers(-16, 16)
        ).map(lambda sixteenths: antisymmetric(sixteenths / 16))
    )


def random_game(seed: int, shape: tuple[int, ...]) -> NormalFormGame:
    """Independent normal payoffs."""
    rng = np.random.default_rng(seed)
    return NormalFormGame(tuple(rng.normal(size=shape) for _ in shape))
