"""Redundant tasks against one model: the experiments of Fig. 3 and 11 on synthetic preferences."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from archive.ratings.bradley_terry import elo
from archive.ratings.evaluation_games import KING, king_of_the_hill
from archive.ratings.normal_form import Array
from archive.ratings.rating import RatingSettings, Selection, Solution, rate

SHARPNESS = 10.0
"""λ: how strongly tasks on which the model does badly are preferred."""
JITTER = 0.01
"""Largest change of a payoff of a near copy."""
DRAWN = 1.0
"""Drawn comparisons added to each pair of models under Elo, which is infinite without any where
a model won all."""


class RatingSystem(StrEnum):
    """How models are rated. ``shannon``: from uniform targets, which copies move."""

    ELO = "elo"
    NE = "ne"
    CCE = "cce"
    NE_SHANNON = "ne_shannon"
    CCE_SHANNON = "cce_shannon"


_EQUILIBRIA = {
    RatingSystem.NE: RatingSettings(Solution.NE),
    RatingSystem.CCE: RatingSettings(Solution.CCE),
    RatingSystem.NE_SHANNON: RatingSettings(Solution.NE, Selection.SHANNON),
    RatingSystem.CCE_SHANNON: RatingSettings(Solution.CCE, Selection.SHANNON),
}


def model_ratings(system: RatingSystem, preferences: Array) -> Array:
    """(models,): Elo points, or regrets as king of the hill. Raises :class:`RatingError` where no
    equilibrium is reached."""
    if system is RatingSystem.ELO:
        return elo(preferences, DRAWN)
    return rate(king_of_the_hill(preferences), _EQUILIBRIA[system]).ratings[KING]


def judged_preferences(
    tasks: int, models: int, random: np.random.Generator, skills: int = 4, judgements: int = 8
) -> Array:
    """u (tasks, models, models): means of a noisy judge's verdicts −1, −½, 0, ½, 1 on models whose
    skills the tasks ask for."""
    asked, skill = (random.dirichlet(np.ones(skills), size) for size in (tasks, models))
    level = asked @ skill.T
    apart = 4 * (level[:, :, None] - level[:, None, :])
    verdicts = np.zeros_like(apart)
    for _ in range(judgements):
        noisy = np.clip(apart + random.normal(0, 0.5, apart.shape), -1, 1)
        verdicts += np.round(2 * noisy) / 2
    upper = np.triu(verdicts / judgements, 1)
    return upper - upper.swapaxes(1, 2)


def adversarial_tasks(
    preferences: Array,
    model: int,
    count: int,
    random: np.random.Generator,
    sharpness: float = SHARPNESS,
) -> NDArray[np.int64]:
    """Places (count,) of tasks drawn from softmax(−λ ū), ū the model's mean preference there."""
    mean = preferences[:, model].mean(axis=1)
    weights = np.exp(-sharpness * (mean - mean.min()))
    return random.choice(len(preferences), count, p=weights / weights.sum())


def with_copies(
    preferences: Array,
    places: NDArray[np.int64],
    random: np.random.Generator,
    jitter: float = 0.0,
) -> Array:
    """The table with copies of the tasks at ``places``; payoffs of copies differ by up to
    ``jitter``, uniformly, and stay antisymmetric."""
    noise = np.triu(random.uniform(-jitter, jitter, (len(places), *preferences.shape[1:])), 1)
    copies = preferences[places] + noise - noise.swapaxes(1, 2)
    return np.concatenate([preferences, np.clip(copies, -1, 1)])
