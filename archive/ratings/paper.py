"""The ratings paper's simulations: a path of improvement (section 1.1), in which the models and
prompts with the highest ratings enter, which shows what a rating system rewards; redundant tasks
against one model (Fig. 3 and 11).

On a path of improvement a prompt is a distribution over K skills, a model a vector of competences;
on prompt p model m is better than m' by p·(m − m').
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from archive.ratings.normal_form import Array
from archive.ratings.preferences import KING, TASK, elo, king_of_the_hill
from archive.ratings.rating import TIE, EquilibriumKind, TargetEntropy, rate

_MOST_SUMS = 100


class System(StrEnum):
    """How models and prompts are rated."""

    ELO = "elo"
    """Models by mean utility, prompts by separability."""
    EQUILIBRIUM = "equilibrium"
    """Both by regret at the limiting logit equilibrium."""


def improvement_path(
    system: System,
    additional: bool,
    seed: int,
    *,
    skills: int = 4,
    prompts: int = 8,
    models: int = 8,
    candidates: int = 64,
    improvements: int = 16,
    iterations: int = 15,
) -> tuple[Array, Array, Array]:
    """One trial: prompts (P, K) and models (M, K) in the order in which they entered, and the skill
    entropy of each (iterations + 1, 2), nats, from the start on; ln K is the largest.

    The paper states ``candidates`` P' = 64 and ``additional`` (whether prompts enter too), but not
    ``skills`` K, ``prompts`` P0, ``models`` M0, ``improvements`` M' and ``iterations``. Raises
    :class:`RatingError` if an equilibrium is not reached.
    """
    random, ones = np.random.default_rng(seed), np.ones(skills)
    tasks, players = random.dirichlet(ones, prompts), random.dirichlet(ones, models)
    entropies = [(skill_entropy(tasks), skill_entropy(players))]
    for _ in range(iterations):
        if additional:
            drawn = random.dirichlet(ones, candidates)
            table = utilities(np.vstack([drawn, tasks]), players)
            ratings = _ratings(system, table, TASK)[: len(drawn)]
            tasks = np.vstack([tasks, drawn[int(np.argmax(ratings))]])
        players = np.vstack([players, _new_model(system, tasks, players, random, improvements)])
        entropies.append((skill_entropy(tasks), skill_entropy(players)))
    return tasks, players, np.array(entropies)


def utilities(prompts: Array, models: Array) -> Array:
    """u (P, M, M) of each prompt and pair of models."""
    levels = prompts @ models.T
    return levels[:, :, None] - levels[:, None, :]


def skill_entropy(vectors: Array) -> float:
    """Shannon entropy, nats, of the mean vector (K,), normalised to sum 1."""
    mean = vectors.mean(axis=0)
    return float(entr(mean / mean.sum()).sum())


def _new_model(
    system: System, prompts: Array, models: Array, random: np.random.Generator, improvements: int
) -> Array:
    """A new model: a sum of improvements, each with the best rating of a random set, added until
    the model has the best rating of all."""
    total = np.zeros(models.shape[1])
    for _ in range(_MOST_SUMS):
        steps = total + random.dirichlet(np.ones(len(total)), improvements)
        ratings = _ratings(system, utilities(prompts, np.vstack([steps, models])), KING)
        best = int(np.argmax(ratings[: len(steps)]))
        total = steps[best]
        if ratings[best] >= ratings.max() - TIE:
            break
    return total


def _ratings(system: System, table: Array, player: int) -> Array:
    """Of prompts (``TASK``) or models (``KING``), from utilities u (P, M, M); under Elo a prompt
    has (1/M²) Σ |u| (section 1.1 of the ratings paper)."""
    if system is System.EQUILIBRIUM:
        return rate(king_of_the_hill(table)).ratings[player]
    return np.abs(table).mean(axis=(1, 2)) if player == TASK else table.mean(axis=(0, 2))


class RatingSystem(StrEnum):
    """How models are rated: Elo, or an equilibrium, perhaps with the entropy of its target.
    ``shannon``: from uniform targets, which copies change."""

    ELO = "elo"
    NE = "ne"
    CCE = "cce"
    NE_SHANNON = "ne_shannon"
    CCE_SHANNON = "cce_shannon"


def model_ratings(system: RatingSystem, preferences: Array) -> Array:
    """Ratings (models,): Elo points, or regrets as king of the hill. Raises :class:`RatingError` if
    no equilibrium is reached."""
    if system is RatingSystem.ELO:
        return elo(preferences)
    solution, _, entropy = system.partition("_")
    how = EquilibriumKind(solution), TargetEntropy(entropy or "affinity")
    return rate(king_of_the_hill(preferences), *how).ratings[KING]


def judged_preferences(
    tasks: int, models: int, random: np.random.Generator, judgements: int = 8, lead: float = 0.0
) -> Array:
    """u (tasks, models, models): means of a noisy judge's verdicts −1, −½, 0, ½, 1 on models with
    four skills that the tasks demand. Model 0 is better by ``lead`` on every task."""
    demands, skill = (random.dirichlet(np.ones(4), count) for count in (tasks, models))
    level = demands @ skill.T
    level[:, 0] += lead
    apart = 4 * (level[:, :, None] - level[:, None, :])
    verdicts = np.zeros_like(apart)
    for _ in range(judgements):
        noisy = np.clip(apart + random.normal(0, 0.5, apart.shape), -1, 1)
        verdicts += np.round(2 * noisy) / 2
    upper = np.triu(verdicts / judgements, 1)
    return upper - upper.swapaxes(1, 2)


def adversarial_tasks(
    preferences: Array, model: int, count: int, random: np.random.Generator, sharpness: float
) -> NDArray[np.int64]:
    """Indices (count,) of tasks drawn from softmax(−λ ū), λ ``sharpness``, ū the model's mean
    preference there: tasks on which it performs badly are preferred."""
    mean = preferences[:, model].mean(axis=1)
    weights = np.exp(-sharpness * (mean - mean.min()))
    return random.choice(len(preferences), count, p=weights / weights.sum())


def with_copies(
    preferences: Array, indices: NDArray[np.int64], random: np.random.Generator, jitter: float = 0.0
) -> Array:
    """The table with copies of the tasks ``indices`` appended; payoffs of copies differ by up to
    ``jitter``, uniformly, and stay antisymmetric."""
    noise = np.triu(random.uniform(-jitter, jitter, (len(indices), *preferences.shape[1:])), 1)
    copies = preferences[indices] + noise - noise.swapaxes(1, 2)
    return np.concatenate([preferences, np.clip(copies, -1, 1)])
