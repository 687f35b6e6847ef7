"""Models and games of a measure rated together, for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archive.errors import RatingError
from archive.ratings.near_copies import Copies
from archive.ratings.preferences import Preference
from archive.schema import TaskId
from archive.statistics.measure_ratings import (
    GameRating,
    MeasureRatings,
    RatingQuestion,
    measure_ratings,
    notes,
)
from archive.statistics.paired_scores import read_paired_scores
from archive.store.archive import Archive

RESAMPLES = 200
MOST_COLUMNS = 8
"""Games whose contributions have a column of their own."""


@dataclass(frozen=True)
class RatedGame:
    """Games that count as one: ``game``, the first of them, its ``name``, and the names of the
    others. ``mass``: of all together; ``place`` of the game in the report, None where it is not of
    the scope."""

    game: GameRating
    name: str
    copies: tuple[str, ...]
    mass: float
    place: int | None


@dataclass(frozen=True)
class Ratings:
    """``columns``: names of the games whose contributions stand alone; ``contributions``: for each
    model its name, what each of them adds, what the rest adds, and the sum."""

    found: MeasureRatings
    games: tuple[RatedGame, ...]
    columns: tuple[str, ...]
    contributions: tuple[tuple[str, tuple[float, ...], float, float], ...]
    notes: tuple[str, ...]


def gather_ratings(
    archive: Archive, measured: Sequence[Archive], names: Mapping[TaskId, tuple[int, str]]
) -> Ratings | str | None:
    """Ratings of the models in ``measured``, or else in ``archive``; None with fewer than two, a
    sentence where they cannot be rated. ``names``: place and name of each game of the scope."""
    archives = [each for each in (*measured, archive) if each.count("rounds")]
    if not any(each.count("measures") for each in archives):
        return None
    try:
        scores = read_paired_scores(archives)
        if len(scores.models) < 2:
            return None
        found = measure_ratings(scores, _question(archives))
    except RatingError as error:
        return str(error)
    return _shown(found, names)


def _question(archives: Sequence[Archive]) -> RatingQuestion:
    """That of the newest archived ratings."""
    rows = [row for archive in archives for row in archive.rows("ratings")]
    if not rows:
        return RatingQuestion(resamples=RESAMPLES)
    last = rows[-1]
    return RatingQuestion(
        Preference(last["preference"]),
        Copies(last["copies"]),
        last["confidence"],
        last["resamples"],
        last["seed"],
    )


def _shown(found: MeasureRatings, names: Mapping[TaskId, tuple[int, str]]) -> Ratings:
    classes: dict[int, list[GameRating]] = {}
    for game in found.games:
        classes.setdefault(game.equal_to, []).append(game)
    games = [_rated(members, names) for members in classes.values()]
    games.sort(key=lambda each: (-each.mass, -each.game.rating.value))
    titles = [_name(each, names)[1] for each in found.games]
    sizes = abs(found.by_game).max(axis=0)
    largest = [g for g in (-sizes).argsort(kind="stable").tolist() if sizes[g] > 0][:MOST_COLUMNS]
    rows = []
    for model, parts in zip(found.models, found.by_game, strict=True):
        alone = tuple(float(parts[g]) for g in largest)
        total = model.rating.value
        rows.append((model.model, alone, total - sum(alone), total))
    columns = tuple(titles[g] for g in largest)
    return Ratings(found, tuple(games), columns, tuple(rows), tuple(notes(found)))


def _rated(members: Sequence[GameRating], names: Mapping[TaskId, tuple[int, str]]) -> RatedGame:
    place, name = _name(members[0], names)
    copies = tuple(_name(each, names)[1] for each in members[1:])
    return RatedGame(members[0], name, copies, sum(each.mass.value for each in members), place)


def _name(game: GameRating, names: Mapping[TaskId, tuple[int, str]]) -> tuple[int | None, str]:
    origin = TaskId(game.exported_id, game.task_id.role)
    return names.get(origin, (None, game.task_id.game_id[:12]))
