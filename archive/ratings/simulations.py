"""Simulations of the ratings paper. A path of improvement (section 1.1): the models and prompts
with the highest ratings enter, which shows what a rating system rewards.

A prompt is a distribution over K skills, a model a vector of competences; on prompt p model m is
better than m' by p·(m − m').

Redundant tasks against one model (Fig. 3 and 11), on synthetic preferences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from archive.ratings.normal_form import Array
from archive.ratings.preferences import KING, TASK, elo, king_of_the_hill, separability
from archive.ratings.rating import TIE, EquilibriumKind, RatingSettings, TargetEntropy, rate

_MOST_SUMS = 100


class System(StrEnum):
    """How models and prompts are rated."""

    ELO = "elo"
    """Models by mean utility, prompts by separability."""
    EQUILIBRIUM = "equilibrium"
    """Both by regret at the limiting logit equilibrium."""


@dataclass(frozen=True)
class PathSettings:
    """The paper states ``candidates`` P' = 64 and ``additional`` (whether prompts enter too), but
    not ``skills`` K, ``prompts`` P0, ``models`` M0, ``improvements`` M' and ``iterations``."""

    system: System
    additional: bool
    skills: int = 4
    prompts: int = 8
    models: int = 8
    candidates: int = 64
    improvements: int = 16
    iterations: int = 15


@dataclass(frozen=True)
class ImprovementPath:
    """``prompts`` (P, K) and ``models`` (M, K) in the order in which they entered;
    ``prompt_entropies`` and ``model_entropies`` (iterations + 1,) nats: of the mean vector, from
    the start on; ln K is the largest."""

    prompts: Array
    models: Array
    prompt_entropies: Array
    model_entropies: Array


def improvement_path(settings: PathSettings, seed: int) -> ImprovementPath:
    """One trial. Raises :class:`RatingError` if an equilibrium is not reached."""
    random = np.random.default_rng(seed)
    ones = np.ones(settings.skills)
    prompts, models = (
        random.dirichlet(ones, settings.prompts),
        random.dirichlet(ones, settings.models),
    )
    entropies = [(skill_entropy(prompts), skill_entropy(models))]
    for _ in range(settings.iterations):
        if settings.additional:
            candidates = random.dirichlet(ones, settings.candidates)
            prompts = np.vstack(
                [prompts, _best_prompt(settings.system, candidates, prompts, models)]
            )
        models = np.vstack([models, _new_model(settings, prompts, models, random)])
        entropies.append((skill_entropy(prompts), skill_entropy(models)))
    table = np.array(entropies)
    return ImprovementPath(prompts, models, table[:, 0], table[:, 1])


def utilities(prompts: Array, models: Array) -> Array:
    """u (P, M, M) of each prompt and pair of models."""
    levels = prompts @ models.T
    return levels[:, :, None] - levels[:, None, :]


def skill_entropy(vectors: Array) -> float:
    """Shannon entropy, nats, of the mean vector (K,), normalised to sum 1."""
    mean = vectors.mean(axis=0)
    share = mean / mean.sum()
    positive = share[share > 0]
    return float(-(positive * np.log(positive)).sum())


def _best_prompt(system: System, candidates: Array, prompts: Array, models: Array) -> Array:
    """The candidate with the highest rating among candidates and prompts."""
    table = utilities(np.vstack([candidates, prompts]), models)
    if system is System.ELO:
        ratings = separability(table)
    else:
        ratings = rate(king_of_the_hill(table)).ratings[TASK]
    return candidates[int(np.argmax(ratings[: len(candidates)]))]


def _new_model(
    settings: PathSettings, prompts: Array, models: Array, random: np.random.Generator
) -> Array:
    """A new model: a sum of improvements, each with the best rating of a random set, added until
    the model has the best rating of all."""
    total = np.zeros(settings.skills)
    for _ in range(_MOST_SUMS):
        steps = total + random.dirichlet(np.ones(settings.skills), settings.improvements)
        ratings = _model_ratings(settings.system, prompts, np.vstack([steps, models]))
        best = int(np.argmax(ratings[: len(steps)]))
        total = steps[best]
        if ratings[best] >= ratings.max() - TIE:
            break
    return total


def _model_ratings(system: System, prompts: Array, models: Array) -> Array:
    table = utilities(prompts, models)
    if system is System.ELO:
        return np.asarray(table.mean(axis=(0, 2)))
    return rate(king_of_the_hill(table)).ratings[KING]


LEAD = 6.0
"""Percent by which the leader of a simulated table of scores is better on each task."""
SHARPNESS = 10.0
"""λ: how strongly tasks on which the model performs badly are preferred."""
DRAWN = 1.0
"""Number of draws added to each pair of models under Elo, which would otherwise be infinite for a
model that won all comparisons."""


class RatingSystem(StrEnum):
    """How models are rated. ``shannon``: from uniform targets, which copies change."""

    ELO = "elo"
    NE = "ne"
    CCE = "cce"
    NE_SHANNON = "ne_shannon"
    CCE_SHANNON = "cce_shannon"


_EQUILIBRIA = {
    RatingSystem.NE: RatingSettings(EquilibriumKind.NE),
    RatingSystem.CCE: RatingSettings(EquilibriumKind.CCE),
    RatingSystem.NE_SHANNON: RatingSettings(EquilibriumKind.NE, TargetEntropy.SHANNON),
    RatingSystem.CCE_SHANNON: RatingSettings(EquilibriumKind.CCE, TargetEntropy.SHANNON),
}


def model_ratings(system: RatingSystem, preferences: Array) -> Array:
    """Ratings (models,): Elo points, or regrets as king of the hill. Raises :class:`RatingError` if
    no equilibrium is reached."""
    if system is RatingSystem.ELO:
        return elo(preferences, DRAWN)
    return rate(king_of_the_hill(preferences), _EQUILIBRIA[system]).ratings[KING]


def skilled(
    tasks: int, models: int, random: np.random.Generator, skills: int = 4
) -> tuple[Array, Array]:
    """What tasks demand (tasks, skills) and models have (models, skills), each row of sum 1."""
    return random.dirichlet(np.ones(skills), tasks), random.dirichlet(np.ones(skills), models)


def judged_preferences(
    tasks: int,
    models: int,
    random: np.random.Generator,
    skills: int = 4,
    judgements: int = 8,
    lead: float = 0.0,
) -> Array:
    """u (tasks, models, models): means of a noisy judge's verdicts −1, −½, 0, ½, 1 on models with
    skills that the tasks demand. Model 0 is better by ``lead`` on every task."""
    demands, skill = skilled(tasks, models, random, skills)
    level = demands @ skill.T
    level[:, 0] += lead
    apart = 4 * (level[:, :, None] - level[:, None, :])
    verdicts = np.zeros_like(apart)
    for _ in range(judgements):
        noisy = np.clip(apart + random.normal(0, 0.5, apart.shape), -1, 1)
        verdicts += np.round(2 * noisy) / 2
    upper = np.triu(verdicts / judgements, 1)
    return upper - upper.swapaxes(1, 2)


def leader_scores(models: int = 6, tasks: int = 12) -> tuple[list[str], Array]:
    """Names and scores (models, tasks), percent, of a simulated table in which the first model
    leads, and is beaten on one task."""
    random = np.random.default_rng(5)
    ability = np.linspace(0, -12, models)
    scores = 60 + ability[:, None] + random.normal(0, 4, (models, tasks))
    scores[0] += LEAD
    return [f"model {number + 1}" for number in range(models)], np.round(scores, 1)


def adversarial_tasks(
    preferences: Array,
    model: int,
    count: int,
    random: np.random.Generator,
    sharpness: float = SHARPNESS,
) -> NDArray[np.int64]:
    """Indices (count,) of tasks drawn from softmax(−λ ū), ū the model's mean preference there."""
    mean = preferences[:, model].mean(axis=1)
    weights = np.exp(-sharpness * (mean - mean.min()))
    return random.choice(len(preferences), count, p=weights / weights.sum())


def with_copies(
    preferences: Array,
    indices: NDArray[np.int64],
    random: np.random.Generator,
    jitter: float = 0.0,
) -> Array:
    """The table with copies of the tasks ``indices`` appended; payoffs of copies differ by up to
    ``jitter``, uniformly, and stay antisymmetric."""
    noise = np.triu(random.uniform(-jitter, jitter, (len(indices), *preferences.shape[1:])), 1)
    copies = preferences[indices] + noise - noise.swapaxes(1, 2)
    return np.concatenate([preferences, np.clip(copies, -1, 1)])
