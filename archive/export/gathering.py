"""From an archive to what is exported: the games of a cover, lowered, with their maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archive.errors import ExportError
from archive.export.exported import Chosen, ExportedGame, archived, story_limits
from archive.export.maps import Map, Texts, played_seeds
from archive.export.names import game_name
from archive.query import games
from archive.schema import TaskId
from archive.store.archive import Archive
from xgl.language.canonical import Game
from xgl.lowering import Lowered, LoweringError, lower


def gather(
    archive: Archive, chosen: Chosen, count: int, allow_inexact: bool = False
) -> list[ExportedGame]:
    """The chosen games in their order, on at most `count` maps each.

    Raises ExportError naming every game that the authors' engine cannot play, with the reasons,
    and a game of which no map is archived; LookupFailedError where a game is not.
    """
    rows = games(archive, (game_id for game_id, _ in chosen.covers))
    texts = Texts(archive, ("acceptance", "selection", "calibration"))
    lowered = _lowered(chosen, rows, allow_inexact)
    made = []
    for (game_id, role), (of, low) in lowered.items():
        maps, purpose = _maps(archive, chosen.run_id, texts, of, role, count)
        name = game_name(game_id, role, rows)
        made.append(ExportedGame(of, role, name, low, tuple(maps), purpose))
    return made


def _lowered(
    chosen: Chosen, rows: dict[str, dict[str, Any]], allow_inexact: bool
) -> dict[TaskId, tuple[Game, Lowered]]:
    made: dict[TaskId, tuple[Game, Lowered]] = {}
    refused: list[str] = []
    for task_id in chosen.covers:
        game_id, role = task_id
        of = archived(rows[game_id])
        try:
            made[task_id] = of, lower(of, role, allow_inexact)
        except LoweringError as error:
            refused.append(f"{game_id} ({role}): {error}")
    if refused:
        able = "" if allow_inexact else ", --allow-inexact where a game may differ"
        raise ExportError(
            f"the authors' engine cannot play {len(refused)} of {len(chosen.covers)} games: found "
            f"{'; '.join(refused)}; expected games that it plays, of another η say{able}"
        )
    return made


def _maps(
    archive: Archive, run_id: str, texts: Texts, of: Game, role: str, count: int
) -> tuple[Sequence[Map], str]:
    limits = story_limits(of)
    for purpose, seeds in played_seeds(archive, run_id, of.game_id, role).items():
        maps = [one for seed in seeds if (one := _map(texts, seed, limits))][:count]
        if maps:
            return maps, purpose
    raise ExportError(
        f"game {of.game_id} ({role}): found no map whose texts are archived, expected one that it "
        "was evaluated on"
    )


def _map(texts: Texts, seed: int, limits: Sequence[int]) -> Map | None:
    return texts.map(seed, limits) if limits else Map(seed, ())
