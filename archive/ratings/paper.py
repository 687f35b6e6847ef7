"""The ratings paper's closed-form examples (App. D and E), pure equilibria and risk dominance, and
its simulations: a path of improvement (section 1.1), in which the models and prompts with the
highest ratings enter, which shows what a rating system rewards; redundant tasks against one model
(Fig. 3 and 11).

On a path of improvement a prompt is a distribution over K skills, a model a vector of competences;
on prompt p model m is better than m' by p·(m − m').
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.normal_form import Array, NormalFormGame, contract
from archive.ratings.preferences import KING, TASK, elo, king_of_the_hill
from archive.ratings.rating import TIE, EquilibriumKind, RatingSettings, TargetEntropy, rate

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
        every = np.concatenate(masses)
        if min(np.abs(every - np.concatenate(other)).max() for other in found) > _SAME:
            found.append(masses)
    return found


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
    share = mean / mean.sum()
    positive = share[share > 0]
    return float(-(positive * np.log(positive)).sum())


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


def leader_scores() -> tuple[list[str], Array]:
    """Names and scores (6, 12), percent, of a simulated table in which the first model leads by 6
    on each task, and is beaten on one."""
    random = np.random.default_rng(5)
    scores = 60 + np.linspace(0, -12, 6)[:, None] + random.normal(0, 4, (6, 12))
    scores[0] += 6
    return [f"model {number}" for number in range(1, 7)], np.round(scores, 1)


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
    preferences: Array, indices: NDArray[np.int64], random: np.random.Generator, jitter: float = 0.0
) -> Array:
    """The table with copies of the tasks ``indices`` appended; payoffs of copies differ by up to
    ``jitter``, uniformly, and stay antisymmetric."""
    noise = np.triu(random.uniform(-jitter, jitter, (len(indices), *preferences.shape[1:])), 1)
    copies = preferences[indices] + noise - noise.swapaxes(1, 2)
    return np.concatenate([preferences, np.clip(copies, -1, 1)])
