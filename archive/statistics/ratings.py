"""Models and tasks rated together: those of a measure, or of a table (docs/explanation/ratings.md).

Only a complete block can be rated: models that all played the same games, each on at least two
common maps. What is left out is named, and nothing is imputed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from archive.errors import RatingError
from archive.ratings import preferences, rating
from archive.ratings.normal_form import Array, check_memory
from archive.ratings.preferences import KING, TASK, Preference
from archive.ratings.rating import TIE, EquilibriumKind, Resample
from archive.run import Row, Run
from archive.schema import TABLES, Purpose, TaskId
from archive.statistics.intervals import CONFIDENCE
from archive.statistics.measure import MapSeeds
from archive.store.archive import Archive
from xgl.files import BUILT_IN

TEMPERATURE = 0.1
"""Temperature of the ratings shown next to those of the limit, in units of preference."""
FEW_GAMES = 2.0
"""Effective number of games below which ratings rest on too few games."""


class RatingQuestion(NamedTuple):
    """``resamples``: number of resamples of the maps, 0 for no intervals; ``confidence`` of each
    interval; ``seed``: below 2³¹."""

    preference: Preference = Preference.WIN
    confidence: float = CONFIDENCE
    resamples: int = 200
    seed: int = 0


class RatedBlock(NamedTuple):
    """What is rated: a complete block of models × tasks. ``outcomes`` of each task (maps, models,
    models). ``means`` (models,): the number shown beside the ratings, named ``mean_of``.
    ``noun``: what a task is called. ``resampled``: what intervals are over, drawn by ``resample``;
    empty if there is nothing to draw."""

    models: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    outcomes: tuple[Array, ...]
    means: Array
    left_out: tuple[str, ...]
    mean_of: str = "narms"
    noun: str = "game"
    resampled: str = "maps"
    resample: Resample = preferences.resample_maps


# -- the block of a measure ------------------------------------------------------------------------

FEWEST_MAPS, MOST_SETS = 2, 4096
"""Maps that all models of a block share in each of its games; sets of models that are compared."""
SAME_BITS = 1e-3
"""Differences of the same play in other batches."""
SAME = {"judge": "judge", "others": "models under the judge", "dtype": "precision"}
SAME |= {"base": "base player"}
"""Settings of a measure that runs must share for their scores to be compared, in words."""

Maps = dict[MapSeeds, dict[int, float]]
"""Scores in bits by round, of each map."""


def measure_block(archives: Sequence[Archive], preference: Preference) -> RatedBlock:
    """The block of all measured runs in ``archives``.

    X of a model on a map is its best score of the rounds up to ℓ: the least round at which
    normalised scores were taken, and at most the least number of rounds that a map was played.
    Raises :class:`RatingError` if nothing can be rated, or if runs differ in a setting of ``SAME``.
    """
    every = (run for archive in archives for run in Run.all(archive))
    runs = [run for run in every if "digest" in run.config]
    _require_comparable(runs)
    played = _played(runs)
    names = sorted({name for by_model in played.values() for name in by_model})
    if not names:
        folders = ", ".join(str(archive.folder) for archive in archives)
        raise RatingError(
            f"{folders}: found no measured game, expected rounds of +experiment=measure"
        )
    rows, columns = largest_block([[{*own.get(n, ())} for n in names] for own in played.values()])
    if not rows:
        raise RatingError(
            f"no game was played by a model on {FEWEST_MAPS} maps: found fewer, expected more maps"
        )
    lost = left_out("game", [each.key for each in played], rows)
    lost += left_out("model", names, columns)
    names, tasks = [names[column] for column in columns], [[*played][row] for row in rows]
    check_memory((len(tasks), len(names), len(names)))
    measures: dict[TaskId, list[Row]] = {task_id: [] for task_id in tasks}
    for row in (row for run in runs for row in run.rows("measures")):
        measures.get(TaskId.of(row), []).append(row)
    for task_id, rows_of in measures.items():
        _require_same_levels(task_id, rows_of)
    by_game = [{row["policy_id"]: row["narms"] for row in rows} for rows in measures.values()]
    values = np.array([[each.get(name, np.nan) for each in by_game] for name in names])
    known = values[:, np.isfinite(values).all(axis=0)]  # of the games of which all have it
    means = known.mean(axis=1) if known.size else np.full(len(names), np.nan)
    if preference is Preference.MARGIN:
        tasks = [task_id for task_id in tasks if measures[task_id]]
        reason = "is left out: it has no levels, which margin needs"
        lost += [f"game {each.game_id} {reason}" for each in measures if each not in tasks]
    if not tasks:
        raise RatingError("preference margin: found no game with levels, expected some, or win")
    outcomes = (_outcomes(played[each], names, measures[each], preference) for each in tasks)
    return RatedBlock(tuple(names), tuple(tasks), tuple(outcomes), means, tuple(lost))


def _require_comparable(runs: Sequence[Run]) -> None:
    own: dict[Any, str] = dict(zip(BUILT_IN, BUILT_IN, strict=True))  # else a measure's own copy
    facts = [
        {"measure": run.config.get("digest"), "seed": run.config.get("seed")}
        | {words: run.setting("measure", key) for key, words in SAME.items()}
        | {"judge": run.setting("measure", "judge") or own.get(run.config.get("judge_model"))}
        for run in runs
    ]
    for run, of_run in zip(runs, facts, strict=True):
        for what, value in of_run.items():
            if value != (first := facts[0][what]) and "auto" not in (value, first):  # as found
                raise RatingError(
                    f"runs {runs[0].run_id} and {run.run_id} differ in their {what}: found "
                    f"{first} and {value}, expected the same: measure the models of one "
                    "of them again"
                )


def _require_same_levels(task_id: TaskId, measures: Sequence[Row]) -> None:
    for name in ("b", "theta", "m", "floor"):  # what a run's base player sets follows from its maps
        values = [row[name] for row in measures] or [0.0]
        if max(values) - min(values) > SAME_BITS:
            raise RatingError(
                f"game {task_id.game_id}: found levels of {name} from {min(values):g} to "
                f"{max(values):g} bits, expected runs with the same maps, rounds and levels"
            )


def _played(runs: Sequence[Run]) -> dict[TaskId, dict[str, Maps]]:
    """Scores by game, in the order of their ids, and by model."""
    played: dict[TaskId, dict[str, Maps]] = {}
    filters = [("purpose", "=", str(Purpose.MEASURE)), ("control", "=", False)]
    columns = ["policy_id", "game_id", "role", "map_seed", "play_seed", "round", "score"]
    for row in (row for run in runs for row in run.rows("rounds", columns, filters)):
        maps = played.setdefault(TaskId.of(row), {}).setdefault(row["policy_id"], {})
        its = maps.setdefault((row["map_seed"], row["play_seed"]), {})
        if abs((before := its.setdefault(row["round"], row["score"])) - row["score"]) > SAME_BITS:
            raise RatingError(
                f"{row['policy_id']} was measured twice on game {row['game_id']}, with "
                f"different scores ({before:g} and {row['score']:g} bits on one map): name one "
                "of the two runs"
            )
    return dict(sorted(played.items()))


def _outcomes(
    played: Mapping[str, Maps],
    names: Sequence[str],
    measures: Sequence[Row],
    preference: Preference,
) -> Array:
    """Outcomes (maps, models, models) of one game on the maps that all models played."""
    fewest_rounds = min(max(rounds) for name in names for rounds in played[name].values())
    last = min([fewest_rounds, *(r["at_round"] for r in measures if r["policy_id"] in names)])
    common = sorted(set.intersection(*({*played[name]} for name in names)))
    best = [
        [max(s for r, s in played[name][seeds].items() if r <= last) for seeds in common]
        for name in names
    ]
    if preference is Preference.WIN:
        return preferences.wins(np.array(best, np.float64))
    return preferences.margins(np.array(best), min(row["m"] * row["theta"] for row in measures))


def largest_block(maps: Sequence[Sequence[Collection[Any]]]) -> tuple[list[int], list[int]]:
    """Places of the games and of the models of the largest complete block of two models or more, of
    two the one with more models; ``maps`` (games, models) holds what each model played of each
    game. Nothing where no model played enough."""
    players = {frozenset(m for m, own in enumerate(of) if len(own) >= FEWEST_MAPS) for of in maps}
    # All who played a block's games are in it, so its models are those that some games share.
    sets, new = {*players}, {*players}
    while new and len(sets) < MOST_SETS:
        new = {one & other for one in new for other in players} - sets
        sets |= new
    blocks = []
    for models in sorted(map(sorted, sets - {frozenset()})):
        common = (len(set.intersection(*(set(of[m]) for m in models))) for of in maps)
        games = [place for place, count in enumerate(common) if count >= FEWEST_MAPS]
        blocks.append((games, models))
    sizes = ((len(models) > 1, len(games) * len(models), len(models)) for games, models in blocks)
    return max(zip(sizes, blocks, strict=True), default=((), ([], [])))[1]


def left_out(noun: str, names: Sequence[str], kept: Collection[int]) -> list[str]:
    """The sentence on those that are not kept, if there are any."""
    lost = [name for place, name in enumerate(names) if place not in kept]
    verb = f"{noun}s are" if len(lost) > 1 else f"{noun} is"
    sentence = f"{len(lost):,} {verb} left out, with missing comparisons: {joined(lost)}"
    return [sentence] if lost else []


def joined(names: Sequence[str], most: int = 4) -> str:
    """``a, b, c, d and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# -- ratings ---------------------------------------------------------------------------------------


class Estimate(NamedTuple):
    """``value`` with bounds over maps, NaN without resamples."""

    value: float
    low: float
    high: float


class ModelRating(NamedTuple):
    """``rating`` and ``cce_rating`` in units of preference, 0 for the best; bounds are NaN without
    resamples. ``warm_rating``: at temperature 0.1. ``fitted_rating``: by maps that its equilibrium
    did not see. ``first``: P(rank 1). ``mean``: of a measure, the mean normalised score, NaN
    without levels; of a table, the mean score."""

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
    ``by_game`` (models, games), the contributions of games to a model's rating, and in ``above``
    (models, models): P(the first is rated above the second). ``failed``: number of resamples that
    reached no equilibrium."""

    question: RatingQuestion
    models: tuple[ModelRating, ...]
    games: tuple[GameRating, ...]
    by_game: Array
    above: Array
    left_out: tuple[str, ...]
    effective_games: float
    exploitability: float
    cce_exploitability: float
    failed: int
    mean_of: str
    noun: str
    resampled: str


def rate_block(block: RatedBlock, question: RatingQuestion) -> MeasureRatings:
    """Rate a complete block. Raises :class:`RatingError` if no equilibrium is reached."""
    outcomes, level = block.outcomes, question.confidence
    ne, cce = (rating.rate_models(outcomes, solution) for solution in EquilibriumKind)
    how = question.resamples if block.resampled else 0, question.seed, block.resample
    by_ne, by_cce = (rating.bootstrap(outcomes, solution, *how) for solution in EquilibriumKind)
    fitted = rating.cross_fit(outcomes, EquilibriumKind.NE, question.seed)
    of_models = zip(
        block.models,
        _estimates(ne.ratings[KING], by_ne.models, level),
        rating.ranks(ne.ratings[KING]).tolist(),
        *(bounds.tolist() for bounds in rating.percentiles(by_ne.ranks, level)),
        by_ne.first.tolist(),
        ne.masses[KING].tolist(),
        _estimates(cce.ratings[KING], by_cce.models, level),
        cce.masses[KING].tolist(),
        rating.rate_models(outcomes, EquilibriumKind.NE, TEMPERATURE).ratings[KING].tolist(),
        fitted.models.tolist(),
        preferences.elo(preferences.mean_preferences(outcomes)).tolist(),
        block.means.tolist(),
        strict=True,
    )
    of_games = zip(
        block.tasks,
        _estimates(ne.ratings[TASK], by_ne.tasks, level),
        rating.ranks(ne.ratings[TASK]).tolist(),
        _estimates(ne.masses[TASK], by_ne.task_masses, level),
        cce.ratings[TASK].tolist(),
        cce.masses[TASK].tolist(),
        fitted.tasks.tolist(),
        fitted.task_masses.tolist(),
        ne.classes.labels[TASK].tolist(),
        *zip(*(_separation(u.mean(axis=0), block.models) for u in outcomes), strict=True),
        strict=True,
    )
    models, games = [ModelRating(*row) for row in of_models], [GameRating(*row) for row in of_games]
    order = sorted(range(len(models)), key=lambda m: (models[m].rank, models[m].model))
    game_order = sorted(range(len(games)), key=lambda g: (games[g].rank, -games[g].mass.value, g))
    return MeasureRatings(
        question=question,
        models=tuple(models[index] for index in order),
        games=tuple(games[index] for index in game_order),
        by_game=ne.contributions(KING, TASK)[np.ix_(order, game_order)],
        above=by_ne.above[np.ix_(order, order)],
        left_out=block.left_out,
        effective_games=float(np.exp(entr(ne.classes.fold(TASK, ne.masses[TASK])).sum())),
        exploitability=ne.exploitability,
        cce_exploitability=cce.exploitability,
        failed=by_ne.failures + by_cce.failures,
        mean_of=block.mean_of,
        noun=block.noun,
        resampled=block.resampled,
    )


def _estimates(values: Array, resamples: Array, confidence: float) -> list[Estimate]:
    bounds = rating.percentiles(resamples, confidence)
    return [Estimate(*map(float, each)) for each in zip(values, *bounds, strict=True)]


def _separation(u: Array, models: Sequence[str]) -> tuple[float, tuple[str, str] | None]:
    """Mean |u| of pairs of models, and the better and the worse of the two furthest apart."""
    if len(models) < 2 or not u.any():
        return 0.0, None
    better, worse = np.unravel_index(int(u.argmax()), u.shape)
    pairs = np.triu_indices(len(models), 1)
    return float(np.abs(u[pairs]).mean()), (models[int(better)], models[int(worse)])


def notes(ratings: MeasureRatings) -> Iterator[str]:
    """Warnings that belong to the numbers, one sentence each."""
    yield from ratings.left_out
    if ratings.effective_games < FEW_GAMES and len(ratings.games) > 1:
        yield (
            f"the equilibrium rests on {ratings.effective_games:.1f} of {len(ratings.games)} "
            f"{ratings.noun}s, which separates the models most; look at the CCE and at "
            "temperature 0.1 beside it"
        )
    for one, other in combinations(ratings.models, 2):
        by_cce = other.cce_rating.value - one.cce_rating.value
        if one.rating.value - other.rating.value > TIE and by_cce > TIE:
            yield f"NE rates {one.model} above {other.model}, CCE the other way round"
    if ratings.failed:
        resamples = 2 * ratings.question.resamples
        yield f"{ratings.failed} of {resamples} resamples reached no equilibrium"


def rating_id(ratings: MeasureRatings) -> str:
    """Hash of the settings, the models with their ratings, and the games, 16 hexadecimal digits."""
    facts = [
        *map(str, ratings.question),
        *sorted(f"{model.model} {model.rating.value:.6g}" for model in ratings.models),
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
        {name: (shared | row).get(name) for name in TABLES["ratings"].schema.names[1:]}
        for row in rows
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
