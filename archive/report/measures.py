"""Xent Measures: the normalised scores of measured players, over the newest scope and by
scope number; and models and games rated together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from archive.errors import RatingError
from archive.run import Run
from archive.schema import ScopeRow, TaskId
from archive.statistics.intervals import CONFIDENCE
from archive.statistics.measure import (
    GameCeiling,
    XentMeasure,
    read_ceilings,
    wasserstein,
    xent_measure,
)
from archive.statistics.paired_scores import read_paired_scores
from archive.statistics.ratings import (
    GameRating,
    MeasureRatings,
    RatingQuestion,
    largest_contributions,
    measure_ratings,
    notes,
    question_of,
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


def gather_ceilings(
    measured_archives: Sequence[Archive], names: Mapping[TaskId, tuple[int, str]]
) -> tuple[tuple[int, str, GameCeiling], ...]:
    """How far players of the measured archives are below the best known scores of games of the
    scope, after place and name of each game."""
    games = {task_id.game_id: name for task_id, name in names.items()}
    return tuple(
        (*games[ceiling.exported_game_id], ceiling)
        for archive in measured_archives
        for ceiling in read_ceilings(archive, CONFIDENCE)
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
    members: dict[int, dict[float, set[TaskId]]] = {}
    for row in run.rows("covers", ["scope", "eta", "game_id", "role"]):
        members.setdefault(row["scope"], {}).setdefault(row["eta"], set()).add(TaskId.of(row))
    return {scope: by_eta[max(by_eta)] for scope, by_eta in members.items()}


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


RatedGame = tuple[GameRating, str, list[str], float]
"""Games that count as one: the first of them, its name, those of the others, the mass of all."""


@dataclass(frozen=True)
class RatingsSection:
    """``columns``: names of the games whose contributions are shown one by one; ``contributions``:
    for each model its name, what each of them adds, what the rest adds, and the sum."""

    result: MeasureRatings
    games: tuple[RatedGame, ...]
    columns: tuple[str, ...]
    contributions: tuple[tuple[str, list[float], float, float], ...]
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
        asked = [row for source in archives for row in source.rows("ratings")]
        question = question_of(asked[-1]) if asked else RatingQuestion(resamples=RESAMPLES)
        ratings = measure_ratings(scores, question)
    except RatingError as error:
        return str(error)
    return ratings_section(ratings, names)


def ratings_section(
    ratings: MeasureRatings, names: Mapping[TaskId, tuple[int, str]]
) -> RatingsSection:
    """What the page shows of ratings; ``names`` as for :func:`gather_ratings`."""
    classes: dict[int, list[tuple[GameRating, str]]] = {}
    titles = []
    for game in ratings.games:
        whole, origin = game.task_id.game_id, TaskId(game.exported_id, game.task_id.role)
        title = names.get(origin, (0, whole[:12] if ratings.noun == "game" else whole))[1]
        classes.setdefault(game.equal_to, []).append((game, title))
        titles.append(title)
    games = [
        (*members[0], [name for _, name in members[1:]], sum(g.mass.value for g, _ in members))
        for members in classes.values()
    ]
    games.sort(key=lambda rated: (-rated[3], -rated[0].rating.value))
    places, rows = largest_contributions(ratings, MOST_COLUMNS)
    columns = tuple(titles[place] for place in places)
    return RatingsSection(ratings, tuple(games), columns, tuple(rows), tuple(notes(ratings)))
