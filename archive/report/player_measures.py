"""Xent Measures: the normalised scores of measured players, over the newest scope and by
scope number; and models and games rated together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from archive.errors import RatingError
from archive.ratings.preferences import Preference
from archive.run import Run
from archive.schema import ScopeRow, TaskId
from archive.statistics.ceilings import GameCeiling, read_ceilings
from archive.statistics.intervals import CONFIDENCE
from archive.statistics.measure import XentMeasure, wasserstein, xent_measure
from archive.statistics.paired_scores import read_paired_scores
from archive.statistics.ratings import (
    GameRating,
    MeasureRatings,
    RatingQuestion,
    measure_ratings,
    notes,
)
from archive.store.archive import Archive


@dataclass(frozen=True)
class HistogramScores:
    """The scores behind one histogram, with its name; ``shift`` is the distance to the scope
    before (1-Wasserstein, in normalised scores), None for the first."""

    name: str
    values: tuple[float, ...]
    shift: float | None = None

    @cached_property
    def measure(self) -> XentMeasure:
        """Mean, median and quantiles, with bootstrap bounds over the games."""
        return xent_measure(np.array(self.values))


@dataclass(frozen=True)
class PlayerMeasure:
    """One player: μ over all its measured games of the scope, and μ_k for each scope Σ_k.

    ``of_covers``: the games are those of the scope's cover; else all of the scope.
    """

    player: str
    base: str
    m: int
    whole: HistogramScores
    scopes: tuple[HistogramScores, ...]
    of_covers: bool


@dataclass(frozen=True)
class NamedCeiling:
    """The ceiling of one game of the scope: how far measured players are below its best known
    scores; ``place`` is its place on the page."""

    place: int
    name: str
    ceiling: GameCeiling


def gather_ceilings(
    measured_archives: Sequence[Archive],
    games: Mapping[str, tuple[int, str]],
    confidence: float = CONFIDENCE,
) -> tuple[NamedCeiling, ...]:
    """Ceilings in the measured archives of games of the scope; ``games`` has place and name by
    id."""
    ceilings = [
        ceiling for archive in measured_archives for ceiling in read_ceilings(archive, confidence)
    ]
    return tuple(
        NamedCeiling(*games[ceiling.exported_game_id], ceiling)
        for ceiling in ceilings
        if ceiling.exported_game_id in games
    )


def gather_measures(
    run: Run, measured_archives: Sequence[Archive] = ()
) -> tuple[PlayerMeasure, ...]:
    """Players in the order in which they were measured; none where none was.

    ``measured_archives``: runs of ``+experiment=measure`` on what this run exported.
    """
    scope_ids = {member.task_id for members in run.scopes.values() for member in members}
    columns = ["policy_id", "exported_game_id", "role", "base", "m", "narms"]
    rows = run.rows("measures", columns)
    rows += [row for source in measured_archives for row in source.rows("measures", columns)]
    by_player: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        if _task_id(row) in scope_ids:
            by_player.setdefault(row["policy_id"], []).append(row)
    covers = _covers(run)
    return tuple(_measure(player, rows, run.scopes, covers) for player, rows in by_player.items())


def _covers(run: Run) -> dict[int, set[TaskId]]:
    """Members of each scope's cover, the one at the largest η."""
    rows = run.rows("covers", ["scope", "eta", "game_id", "role"])
    largest: dict[int, float] = {}
    for row in rows:
        largest[row["scope"]] = max(largest.get(row["scope"], 0.0), row["eta"])
    members: dict[int, set[TaskId]] = {}
    for row in rows:
        if row["eta"] == largest[row["scope"]]:
            members.setdefault(row["scope"], set()).add(TaskId.of(row))
    return members


def _measure(
    player: str,
    rows: Sequence[Mapping[str, object]],
    scopes: Mapping[int, Sequence[ScopeRow]],
    covers: Mapping[int, set[TaskId]],
) -> PlayerMeasure:
    """The newest score of each game counts."""
    scores = {_task_id(row): float(str(row["narms"])) for row in rows}
    histograms: list[HistogramScores] = []
    for number, members in scopes.items():
        task_ids = covers.get(number) or {member.task_id for member in members}
        values = tuple(scores[task_id] for task_id in sorted(task_ids) if task_id in scores)
        if values:
            before = histograms[-1].values if histograms else None
            shift = None if before is None else wasserstein(np.array(before), np.array(values))
            histograms.append(HistogramScores(f"scope {number}", values, shift))
    last = rows[-1]
    return PlayerMeasure(
        player,
        str(last["base"]),
        int(str(last["m"])),
        HistogramScores(player, tuple(scores.values())),
        tuple(histograms),
        bool(covers),
    )


def _task_id(row: Mapping[str, object]) -> TaskId:
    """The task of the scope that a measured game was exported from."""
    return TaskId(str(row["exported_game_id"]), str(row["role"]))


RESAMPLES = 200
MOST_COLUMNS = 8
"""Games whose contributions have a column of their own."""


@dataclass(frozen=True)
class RatedGame:
    """Games that count as one: ``game``, the first of them, its ``name``, and the names of the
    others. ``mass``: of all together; ``place`` of the game in the report, None if it is not of
    the scope."""

    game: GameRating
    name: str
    copies: tuple[str, ...]
    mass: float
    place: int | None


@dataclass(frozen=True)
class RatingsSection:
    """``columns``: names of the games whose contributions are shown one by one; ``contributions``:
    for each model its name, what each of them adds, what the rest adds, and the sum."""

    result: MeasureRatings
    games: tuple[RatedGame, ...]
    columns: tuple[str, ...]
    contributions: tuple[tuple[str, tuple[float, ...], float, float], ...]
    notes: tuple[str, ...]


def gather_ratings(
    archive: Archive, measured_archives: Sequence[Archive], names: Mapping[TaskId, tuple[int, str]]
) -> RatingsSection | str | None:
    """Ratings of the models in ``measured_archives``, or else in ``archive``; None with fewer than
    two, a sentence where they cannot be rated. ``names``: place and name of each game."""
    archives = [source for source in (*measured_archives, archive) if source.count("rounds")]
    if not any(source.count("measures") for source in archives):
        return None
    try:
        scores = read_paired_scores(archives)
        if len(scores.models) < 2:
            return None
        ratings = measure_ratings(scores, _question(archives))
    except RatingError as error:
        return str(error)
    return ratings_section(ratings, names)


def _question(archives: Sequence[Archive]) -> RatingQuestion:
    """The question of the newest archived ratings."""
    rows = [row for archive in archives for row in archive.rows("ratings")]
    if not rows:
        return RatingQuestion(resamples=RESAMPLES)
    last = rows[-1]
    return RatingQuestion(
        Preference(last["preference"]),
        last["confidence"],
        last["resamples"],
        last["seed"],
    )


def ratings_section(
    ratings: MeasureRatings, names: Mapping[TaskId, tuple[int, str]]
) -> RatingsSection:
    """What the page shows of ratings; ``names`` as for :func:`gather_ratings`."""
    classes: dict[int, list[GameRating]] = {}
    for game in ratings.games:
        classes.setdefault(game.equal_to, []).append(game)
    games = [_rated_game(ratings, members, names) for members in classes.values()]
    games.sort(key=lambda rated: (-rated.mass, -rated.game.rating.value))
    titles = [_name(ratings, game, names)[1] for game in ratings.games]
    sizes = abs(ratings.by_game).max(axis=0)
    largest = [g for g in (-sizes).argsort(kind="stable").tolist() if sizes[g] > 0][:MOST_COLUMNS]
    rows = []
    for model, parts in zip(ratings.models, ratings.by_game, strict=True):
        alone = tuple(float(parts[g]) for g in largest)
        total = model.rating.value
        rows.append((model.model, alone, total - sum(alone), total))
    columns = tuple(titles[g] for g in largest)
    return RatingsSection(ratings, tuple(games), columns, tuple(rows), tuple(notes(ratings)))


def _rated_game(
    ratings: MeasureRatings,
    members: Sequence[GameRating],
    names: Mapping[TaskId, tuple[int, str]],
) -> RatedGame:
    place, name = _name(ratings, members[0], names)
    copies = tuple(_name(ratings, member, names)[1] for member in members[1:])
    return RatedGame(members[0], name, copies, sum(member.mass.value for member in members), place)


def _name(
    ratings: MeasureRatings, game: GameRating, names: Mapping[TaskId, tuple[int, str]]
) -> tuple[int | None, str]:
    origin, whole = TaskId(game.exported_id, game.task_id.role), game.task_id.game_id
    return names.get(origin, (None, whole[:12] if ratings.noun == "game" else whole))
