"""The exported games, either the smallest η-cover of the newest scope or all of it, and what is
exported with them: their conversion for the authors' engine, their maps, their names.

Of a run of ``+experiment=measure`` they are the games that its players played, or the fewest
that tell the players apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from archive.errors import DamagedError, ExportError, LookupFailedError
from archive.export.folder import Options
from archive.run import MapTexts, Run, read_settings, stored_game, story_texts
from archive.schema import Definition, Purpose, TaskId
from archive.statistics.covers import CoverQuestion, discriminating_games, scope_cover
from xgl.language.canonical import Game
from xgl.language.syntax import MAX_LINES
from xgl.lowering import LoweredProgram, LoweringError, lower
from xgl.random_streams import stream
from xgl.runtime.machine import asked_stories


def played_tasks(run: Run) -> list[TaskId]:
    """Every game that the run's players have played, in the order of the archive. Raises
    ExportError if there is none."""
    tasks = list(dict.fromkeys(map(TaskId.of, run.rows("rounds", ["game_id", "role"]))))
    if not tasks:
        raise ExportError(f"found no play of run {run.run_id}, expected games that were played")
    return tasks


def discriminating(run: Run, tolerance: float) -> tuple[list[TaskId], float]:
    """The fewest games that rank the measured players as all games with levels do (§5.5 (2)), and
    the largest difference of a player's mean narms, as a share of the distance between the best and
    the worst: at most ``tolerance``, or all games. Raises ExportError if no two players differ."""
    players = read_settings(run.config_json).get("players") or []
    narms = {(row["policy_id"], TaskId.of(row)): row["narms"] for row in run.rows("measures")}
    tasks = [t for t in played_tasks(run) if all((player, t) in narms for player in players)]
    scores = np.array([[narms[player, task] for task in tasks] for player in players])
    try:
        scores = scores.reshape(len(players), len(tasks))
        found, error = discriminating_games(scores, tolerance)
    except ValueError as problem:
        raise ExportError(f"--discriminating: {problem}, expected two players and more") from None
    return [tasks[index] for index in found], error


def levels_of(run: Run, task_id: TaskId) -> dict[str, Any] | None:
    """The levels that the run's players were measured against, with their floor; None if the base
    never improved."""
    names = ["b", "theta", "m", "rounds", "maps", "k_m", "floor", "base"]
    rows = run.rows_of(task_id, "measures", names)
    return {**rows[0], "policy": rows[0]["base"]} if rows else None


EVALUATED = (Purpose.ACCEPTANCE, Purpose.SELECTION, Purpose.CALIBRATION, Purpose.MEASURE)
"""Purposes of plays on evaluation maps, the most careful first."""


class Map(NamedTuple):
    """One map of a game: its seed and the texts of its ``story()`` sites, in order."""

    map_seed: int
    stories: tuple[str, ...]


def maps_of(texts: Mapping[int, MapTexts], seeds: Iterable[int], game: Game) -> Iterator[Map]:
    """The maps of a game, without those of which a text is not archived."""
    maps = (Map(seed, story_texts(game, texts.get(seed, {}))) for seed in seeds)
    return (each for each in maps if len(each.stories) == len(asked_stories(game)))


_SHORT = 12
# Ids and roles become file names: only what cannot lead out of the folder is let through.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def game_name(task_id: TaskId, games: Iterable[str]) -> str:
    """Name of a game in a role, its id shortened as far as no other of `games` begins in the same
    way. Raises LookupFailedError for ids and roles that are not plain words."""
    for name in task_id:
        if not _NAME.fullmatch(name):
            raise LookupFailedError(
                f"found the name {name!r} in the archive, expected letters, digits, _ and - only"
            )
    game_id, role = task_id
    short = game_id[:_SHORT]
    is_alone = sum(other.startswith(short) for other in games) <= 1
    return f"{short if is_alone else game_id}-{role}"


class GameSelection(NamedTuple):
    """Which games are exported: ``covers`` by task, for η and Δ (None: not known); ``scope``: its
    number (None: the games of a measured run); ``how`` they were chosen, in words."""

    run_id: str
    scope: int | None
    definition: str
    covers: Mapping[TaskId, tuple[str, ...]]
    how: str
    eta: float | None = None
    delta: float | None = None


class ExportedGame(NamedTuple):
    """One game in one role, as it leaves the archive."""

    game: Game
    role: str
    name: str
    lowered_game: LoweredProgram
    maps: tuple[Map, ...]
    purpose: str
    """The purpose of the plays on ``maps``."""

    @property
    def task_id(self) -> TaskId:
        return TaskId(self.game.game_id, self.role)

    @property
    def file(self) -> str:
        return f"{self.name}.xent"

    @property
    def presentation(self) -> str:
        return f"{self.name}_presentation.py"

    @property
    def text(self) -> str:
        """The file's text. The authors' engine counts an empty last line among its 64."""
        lines = self.lowered_game.text.count("\n") + 1
        return self.lowered_game.text + ("\n" if lines < MAX_LINES else "")


def archived_game(row: Mapping[str, Any]) -> Game:
    """The game of a row of ``games``. Raises DamagedError if it is none, or has another id."""
    game, name = stored_game(row), row["game_id"]
    if game.game_id != name:
        raise DamagedError(f"game {name}", f"a program of id {game.game_id}", "its own")
    return game


def choose(run: Run, options: Options) -> GameSelection:
    """The optimal cover at η by the run's own value and gain; without η every game of the newest
    scope, each covering itself, or ``playable`` games drawn at random from all playable ones, for
    comparison. Of a measured run its games, or the fewest that tell its players apart.

    Raises CoverError for an η out of reach, naming the largest, ExportError for more games than are
    playable, and for players that no game tells apart; LookupFailedError if the run has no scope.
    """
    eta, tolerance = options.eta, options.discriminating
    if tolerance is not None or (run.is_measured and eta is None and options.playable is None):
        tasks, how = played_tasks(run), "all of its games"
        if tolerance is not None:
            tasks = discriminating(run, tolerance)[0]
            how = f"the fewest of its games whose scores of players differ by at most {tolerance:g}"
        covers = {t: (t.game_id,) for t in tasks}
        return GameSelection(run.run_id, None, Definition.CAPTURED, covers, how)
    number, members = run.newest_scope
    scope = [member.task_id for member in members]
    (value, gain), how = run.deciding_value, "its whole scope"
    if (count := options.playable) is not None:
        playable = playable_tasks(run)
        if not 0 < count <= len(playable):
            expected = f"1 to {len(playable)}, the initial games and those that were surely learned"
            raise ExportError(f"--playable: found {count}, expected a number from {expected}")
        how = f"{count} games drawn at random from its {len(playable)} initial and learned ones"
        scope = draw_tasks(playable, count, 0, "playable games")
    elif eta is not None:
        question = CoverQuestion(eta, value, gain, skip_unplayable=options.skip_unplayable)
        answer = scope_cover(run, scope, question)
        ids = {m: tuple(t.game_id for t in targets) for m, targets in answer.covers.items()}
        how = f"a smallest cover of its scope at η = {eta:g} ({value})"
        return GameSelection(run.run_id, number, value, ids, how, eta, answer.delta)
    covers = {task_id: (task_id.game_id,) for task_id in scope}
    return GameSelection(run.run_id, number, value, covers, how)


def playable_tasks(run: Run) -> list[TaskId]:
    """The initial games of a run and all games with an established own gain, accepted or not, in
    the order of their ids."""
    _, members = run.newest_scope
    initial = [member.task_id for member in members if member.parent_game_id is None]
    lows = {TaskId.of(row): (row["own_gain_low"], row["total_gain_low"]) for row in run.decisions}
    learned = [task for task, gains in lows.items() if all(low and low > 0 for low in gains)]
    return sorted({*initial, *learned})


def draw_tasks(tasks: Sequence[TaskId], count: int, seed: int, name: str) -> list[TaskId]:
    """``count`` of the games, or all if there are fewer, in their order."""
    return [tasks[index] for index in sorted(stream(name, seed).permutation(len(tasks))[:count])]


def gather(
    run: Run, selection: GameSelection, count: int | None, allow_inexact: bool = False
) -> list[ExportedGame]:
    """The selected games in their order, on at most `count` maps each (None: all).

    Raises ExportError naming every game that the authors' engine cannot play, with the reasons,
    and a game of which no map is archived; LookupFailedError if a game is not.
    """
    rows = run.games(game_id for game_id, _ in selection.covers)
    sources = {task_id: archived_game(rows[task_id.game_id]) for task_id in selection.covers}
    lowered, refusals = dict[TaskId, LoweredProgram](), list[str]()
    for task_id, source in sources.items():
        try:
            lowered[task_id] = lower(source, task_id.role, allow_inexact)
        except LoweringError as error:
            refusals.append(f"{task_id.game_id} ({task_id.role}): {error}")
    if refusals:
        able = "" if allow_inexact else ", --allow-inexact where a game may differ"
        raise ExportError(
            f"the authors' engine cannot play {len(refusals)} of {len(selection.covers)} games: "
            f"found {'; '.join(refusals)}; expected games that it plays, of another η say{able}"
        )
    texts = run.map_texts("purpose", EVALUATED)
    members = list[ExportedGame]()
    for task_id, source in sources.items():
        name, maps = game_name(task_id, rows), _maps(run, texts, source, task_id, count)
        members.append(ExportedGame(source, task_id.role, name, lowered[task_id], *maps))
    return members


def _maps(
    run: Run, texts: Mapping[int, MapTexts], source: Game, task_id: TaskId, count: int | None
) -> tuple[tuple[Map, ...], str]:
    """Maps that a game was evaluated on, in the order of play seeds, and the purpose of the plays:
    the most careful of those whose texts are archived."""
    table = "rounds" if run.is_measured else "scores"
    rows = run.rows_of(task_id, table, ["purpose", "map_seed", "play_seed"])
    for purpose in EVALUATED:
        first: dict[int, int] = {}
        for row in (row for row in rows if row["purpose"] == purpose):
            first.setdefault(row["map_seed"], row["play_seed"])
        seeds = sorted(first, key=first.__getitem__)
        if len(found := tuple(islice(maps_of(texts, seeds, source), count))) > 1:
            return found, purpose
    raise ExportError(
        f"game {task_id.game_id} ({task_id.role}): found fewer than two maps whose texts are "
        "archived, expected two or more that it was evaluated on"
    )
