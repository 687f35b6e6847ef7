"""A simulated path of improvement (section 1.1 of the ratings paper): models and prompts enter
where their rating is highest, and what a rating system rewards shows in what enters.

A prompt is a distribution over K skills, a model a vector of competences; on prompt p model m is
better than m' by p·(m − m').
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from archive.ratings.bradley_terry import separability
from archive.ratings.evaluation_games import KING, TASK, king_of_the_hill
from archive.ratings.normal_form import Array
from archive.ratings.rating import TIE, rate

_MOST_SUMS = 100


class System(StrEnum):
    """How models and prompts are rated."""

    ELO = "elo"
    """Models by mean utility, prompts by separability."""
    EQUILIBRIUM = "equilibrium"
    """Both by regret at the limiting logit equilibrium."""


@dataclass(frozen=True)
class PathSettings:
    """Stated in the paper: ``candidates`` P' = 64; ``additional``: whether prompts enter too. Not
    stated: ``skills`` K, ``prompts`` P0, ``models`` M0, ``improvements`` M', ``iterations``."""

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
    """One trial. Raises :class:`RatingError` where an equilibrium is not reached."""
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
    found = np.array(entropies)
    return ImprovementPath(prompts, models, found[:, 0], found[:, 1])


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
    """A sum of improvements, each the best rated of some, that ends as the best model of all."""
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
