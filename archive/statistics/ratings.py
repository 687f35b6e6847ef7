"""Models and tasks rated together: those of a measure, or of a table
(docs/explanation/ratings.md)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from archive.errors import RatingError
from archive.ratings.normal_form import Array, check_memory
from archive.ratings.preferences import (
    KING,
    REBEL,
    TASK,
    Preference,
    elo,
    margins,
    mean_preferences,
    wins,
)
from archive.ratings.rating import (
    TIE,
    EquilibriumKind,
    Progress,
    RatingSamples,
    Resampling,
    bootstrap,
    cross_fit,
    ranks,
    rate_models,
)
from archive.schema import TABLES, TaskId
from archive.statistics.intervals import CONFIDENCE, Scores
from archive.statistics.measure import PairedScores

TEMPERATURE = 0.1
"""Temperature of the ratings shown next to those of the limit, in units of preference."""
WORTH_PROCESSES = 40_000
"""Models × games × resamples from which several processes are faster than one."""
DRAWN = 1.0
"""Number of draws added to each pair of models: without them a model that won all comparisons has
no finite Elo."""
FEW_GAMES = 2.0
"""Effective number of games below which ratings rest on too few games."""


class RatingQuestion(NamedTuple):
    """``resamples``: number of resamples of the maps, 0 for no intervals; ``confidence`` of each
    interval."""

    preference: Preference = Preference.WIN
    confidence: float = CONFIDENCE
    resamples: int = 200
    seed: int = 0


class RatedBlock(NamedTuple):
    """What is rated: a complete block of models × tasks. ``outcomes`` of each task (maps, models,
    models). ``means`` (models,): the number shown beside the ratings, named ``mean_of``.
    ``noun``: what a task is called. ``resampled``: what intervals are over, drawn by ``resampling``
    (None: maps); empty if there is nothing to draw. ``counts`` (tasks, models, models): number of
    comparisons, for Elo; None: one each."""

    models: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    exported_ids: tuple[str, ...]
    outcomes: tuple[Array, ...]
    means: Scores
    left_out: tuple[str, ...]
    mean_of: str = "narms"
    noun: str = "game"
    resampled: str = "maps"
    resampling: Resampling | None = None
    counts: Array | None = None


class Estimate(NamedTuple):
    """``value`` with bounds over maps, NaN without resamples."""

    value: float
    low: float
    high: float


class ModelRating(NamedTuple):
    """``rating`` and ``cce_rating`` in units of preference, 0 for the best; bounds are NaN without
    resamples. ``warm_rating``: at temperature 0.1. ``fitted_rating``: by maps that its equilibrium
    did not see. ``first``: P(rank 1). ``mean``: of a measure, the mean normalised score, NaN
    without levels; of a table, the mean score or the share of wins."""

    model: str
    rating: Estimate
    rank: int
    rank_low: float
    rank_high: float
    first: float
    mass: float
    cce_rating: Estimate
    cce_mass: float
    warm_rating: float
    fitted_rating: float
    elo: float
    mean: float


class GameRating(NamedTuple):
    """``rating``: how much less than the best game it separates the models that the equilibrium
    plays, 0 for games with mass. ``equal_to``: games with the same number count as one.
    ``separation``: mean |u| over pairs of models; ``separates``: the two models furthest apart,
    None if all are equal."""

    task_id: TaskId
    exported_id: str
    rating: Estimate
    rank: int
    mass: Estimate
    cce_rating: float
    cce_mass: float
    fitted_rating: float
    fitted_mass: float
    equal_to: int
    separation: float
    separates: tuple[str, str] | None


@dataclass(frozen=True)
class MeasureRatings:
    """The ratings of a measure or table. Models and games are in order of rating, also in
    ``by_game`` (models, games) and ``by_rival`` (models, models), the contributions of games and
    rivals to a model's rating, and in ``above`` (models, models): P(the first is rated above the
    second).

    ``disagreements``: pairs of models that NE and CCE order differently. ``failed``: number of
    resamples that reached no equilibrium. ``value``: payoff of the game player; ``fitted_value``:
    the same on maps that the equilibrium did not see.
    """

    question: RatingQuestion
    models: tuple[ModelRating, ...]
    games: tuple[GameRating, ...]
    by_game: Scores
    by_rival: Scores
    above: Scores
    disagreements: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    effective_games: float
    exploitability: float
    cce_exploitability: float
    temperature: float
    folds: int
    crossings: int
    failed: int
    value: float
    fitted_value: float
    mean_of: str
    noun: str
    resampled: str


def useful_workers(models: int, tasks: int, resamples: int) -> int:
    """Number of processes: one for each core if there is much to resample; else one."""
    work = models * tasks * resamples
    return (os.cpu_count() or 1) if work >= WORTH_PROCESSES else 1


def measure_ratings(
    scores: PairedScores,
    question: RatingQuestion,
    workers: int = 1,
    progress: Progress | None = None,
) -> MeasureRatings:
    """Rate a measure. Raises :class:`RatingError` if no equilibrium is reached, or no game can be
    used."""
    return rate_block(measure_block(scores, question.preference), question, workers, progress)


def measure_block(scores: PairedScores, preference: Preference) -> RatedBlock:
    """The block of a measure. Raises :class:`RatingError` if no game can be used."""
    check_memory((len(scores.games), len(scores.models), len(scores.models)))
    by_wins = preference is Preference.WIN
    games = [game for game in scores.games if by_wins or game.step is not None]
    if not games:
        raise RatingError("preference margin: found no game with levels, expected some, or win")
    without = [
        f"game {game.task_id.game_id} is left out: it has no levels, which margin needs"
        for game in scores.games
        if not by_wins and game.step is None
    ]
    return RatedBlock(
        scores.models,
        tuple(game.task_id for game in games),
        tuple(game.exported_id for game in games),
        tuple(wins(g.best) if by_wins else margins(g.best, g.step or 1.0) for g in games),
        scores.mean_narms(),
        (*scores.left_out, *without),
    )


def rate_block(
    block: RatedBlock, question: RatingQuestion, workers: int = 1, progress: Progress | None = None
) -> MeasureRatings:
    """Rate a complete block. Raises :class:`RatingError` if no equilibrium is reached."""
    return _BlockRatings(block, question, workers, progress).ratings()


class _BlockRatings:
    """Both equilibria of one block, with their resamples."""

    def __init__(
        self, block: RatedBlock, question: RatingQuestion, workers: int, progress: Progress | None
    ) -> None:
        self.block, self.question, outcomes = block, question, block.outcomes
        self.preferences = mean_preferences(outcomes)
        self.ne, self.cce = (rate_models(outcomes, solution) for solution in EquilibriumKind)
        self.warm = rate_models(outcomes, EquilibriumKind.NE, TEMPERATURE)
        self.fitted = cross_fit(outcomes, EquilibriumKind.NE, question.seed)
        total = question.resamples if block.resampled else 0

        def samples(solution: EquilibriumKind, before: int) -> RatingSamples:
            report = progress and (lambda count, _: progress(before + count, 2 * total))
            how = question.seed, workers, report, block.resampling
            return bootstrap(outcomes, solution, total, *how)

        self.samples = samples(EquilibriumKind.NE, 0)
        self.cce_samples = samples(EquilibriumKind.CCE, total)

    def ratings(self) -> MeasureRatings:
        models, games = self._models(), self._games()
        order = sorted(range(len(models)), key=lambda m: (models[m].rank, models[m].model))
        masses, path = self.ne.masses[TASK], self.ne.path
        game_order = sorted(range(len(games)), key=lambda g: (games[g].rank, -masses[g], g))
        by_game, by_rival = (self.ne.contributions(KING, other) for other in (TASK, REBEL))
        above = np.full_like(by_rival, np.nan)
        if len(self.samples.models):
            above = self.samples.above
        return MeasureRatings(
            question=self.question,
            models=tuple(models[index] for index in order),
            games=tuple(games[index] for index in game_order),
            by_game=by_game[np.ix_(order, game_order)],
            by_rival=by_rival[np.ix_(order, order)],
            above=above[np.ix_(order, order)],
            disagreements=self._disagreements(order),
            left_out=self.block.left_out,
            effective_games=self.ne.effective_number(TASK),
            exploitability=self.ne.exploitability,
            cce_exploitability=self.cce.exploitability,
            temperature=path.temperature if path else 0.0,
            folds=path.folds if path else 0,
            crossings=path.crossings if path else 0,
            failed=self.samples.failures + self.cce_samples.failures,
            value=float(np.vdot(self.ne.game.payoffs[TASK], self.ne.joint)),
            fitted_value=self.fitted.task_value,
            mean_of=self.block.mean_of,
            noun=self.block.noun,
            resampled=self.block.resampled,
        )

    def _models(self) -> list[ModelRating]:
        ne, cce, samples, others = self.ne, self.cce, self.samples, self.cce_samples
        low, high = samples.bounds(samples.ranks, self.question.confidence)
        unknown = np.full(len(self.block.models), np.nan)
        columns: tuple[Sequence[Any], ...] = (
            self.block.models,
            self._intervals(ne.ratings[KING], samples, samples.models),
            ranks(ne.ratings[KING]).tolist(),
            low.tolist(),
            high.tolist(),
            (samples.first if len(samples.models) else unknown).tolist(),
            ne.masses[KING].tolist(),
            self._intervals(cce.ratings[KING], others, others.models),
            cce.masses[KING].tolist(),
            self.warm.ratings[KING].tolist(),
            self.fitted.models.tolist(),
            elo(self.preferences, DRAWN, self.block.counts).tolist(),
            self.block.means.tolist(),
        )
        return [ModelRating(*row) for row in zip(*columns, strict=True)]

    def _games(self) -> list[GameRating]:
        ne, samples = self.ne, self.samples
        columns: tuple[Sequence[Any], ...] = (
            self.block.tasks,
            self.block.exported_ids,
            self._intervals(ne.ratings[TASK], samples, samples.tasks),
            ranks(ne.ratings[TASK]).tolist(),
            self._intervals(ne.masses[TASK], samples, samples.task_masses),
            self.cce.ratings[TASK].tolist(),
            self.cce.masses[TASK].tolist(),
            self.fitted.tasks.tolist(),
            self.fitted.task_masses.tolist(),
            ne.classes.labels[TASK].tolist(),
            *zip(*(_separation(u, self.block.models) for u in self.preferences), strict=True),
        )
        return [GameRating(*row) for row in zip(*columns, strict=True)]

    def _intervals(self, values: Array, samples: RatingSamples, resamples: Array) -> list[Estimate]:
        low, high = samples.bounds(resamples, self.question.confidence)
        return [Estimate(*map(float, each)) for each in zip(values, low, high, strict=True)]

    def _disagreements(self, order: Sequence[int]) -> tuple[tuple[str, str], ...]:
        ne, cce = (each.ratings[KING] for each in (self.ne, self.cce))
        return tuple(
            (self.block.models[a], self.block.models[b])
            for a, b in combinations(order, 2)
            if ne[a] - ne[b] > TIE and cce[b] - cce[a] > TIE
        )


def _separation(preferences: Array, models: Sequence[str]) -> tuple[float, tuple[str, str] | None]:
    """Mean |u| of pairs of models, and the better and the worse of the two furthest apart."""
    if len(models) < 2 or not preferences.any():
        return 0.0, None
    better, worse = np.unravel_index(int(preferences.argmax()), preferences.shape)
    pairs = np.triu_indices(len(models), 1)
    return float(np.abs(preferences[pairs]).mean()), (models[int(better)], models[int(worse)])


def notes(ratings: MeasureRatings) -> Iterator[str]:
    """Warnings that belong to the numbers, one sentence each."""
    yield from ratings.left_out
    if ratings.effective_games < FEW_GAMES and len(ratings.games) > 1:
        yield (
            f"the equilibrium rests on {ratings.effective_games:.1f} of {len(ratings.games)} "
            f"{ratings.noun}s"
            ": some model wins one of them clean; look at the CCE and at temperature 0.1 beside it"
        )
    for better, worse in ratings.disagreements:
        yield f"NE rates {better} above {worse}, CCE the other way round"
    if ratings.failed:
        resamples = 2 * ratings.question.resamples
        yield f"{ratings.failed} of {resamples} resamples reached no equilibrium"


def largest_contributions(
    ratings: MeasureRatings, most: int
) -> tuple[list[int], list[tuple[str, list[float], float, float]]]:
    """Places of the games that add most to ratings, at most ``most``, and for each model its name,
    what each of them adds, what the rest adds, and its rating."""
    sizes = abs(ratings.by_game).max(axis=0)
    places = [g for g in (-sizes).argsort(kind="stable").tolist() if sizes[g] > 0][:most]
    rows = []
    for model, parts in zip(ratings.models, ratings.by_game, strict=True):
        alone, total = parts[places].tolist(), model.rating.value
        rows.append((model.model, alone, total - sum(alone), total))
    return places, rows


# -- rows ----------------------------------------------------------------------------------------


def question_of(row: Mapping[str, Any]) -> RatingQuestion:
    """The question that a row of the table ``ratings`` answers."""
    names = ("confidence", "resamples", "seed")
    return RatingQuestion(Preference(row["preference"]), *(row[name] for name in names))


def rating_id(ratings: MeasureRatings) -> str:
    """Hash of the models, games and settings of a rating, 16 hexadecimal digits."""
    facts = [
        *map(str, ratings.question),
        *sorted(model.model for model in ratings.models),
        *sorted(f"{game.task_id.game_id} {game.task_id.role}" for game in ratings.games),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def rating_rows(ratings: MeasureRatings) -> list[dict[str, Any]]:
    """Rows of the table ``ratings`` without the run's id: models, then games, best first."""
    question = ratings.question
    shared = {
        "rating_id": rating_id(ratings),
        "preference": str(question.preference),
        "copies": "exact",
        "confidence": question.confidence,
        "resamples": question.resamples,
        "seed": question.seed,
        "exploitability": ratings.exploitability,
        "effective_games": ratings.effective_games,
    }
    rows = [_row("model", m, policy_id=m.model, narms=m.mean) for m in ratings.models]
    for game in ratings.games:
        better, worse = game.separates or (None, None)
        rows.append(_row("game", game, **game.task_id._asdict(), better=better, worse=worse))
    table = [
        {name: (shared | row).get(name) for name in TABLES["ratings"].names[1:]} for row in rows
    ]
    return [{k: None if v != v else v for k, v in row.items()} for row in table]


def _row(kind: str, each: ModelRating | GameRating, **facts: Any) -> dict[str, Any]:
    """A row with an estimate's bounds beside it; what the table has no column for is left out."""
    row: dict[str, Any] = {"kind": kind, **facts}
    for name, value in each._asdict().items():
        if isinstance(value, Estimate):
            row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            row[name] = value
    return row
