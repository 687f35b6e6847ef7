"""Games that an experiment takes from elsewhere: from the library, or from a growth's archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archive import Archive
from archive.run import games, stored_game
from archive.schema import TaskId
from evo.config.schema import RunConfig
from evo.growth.initial_scope import check_world, main_role, metadata, short_name, split_role
from evo.jobs.evaluation import Task
from xgl import game, parse
from xgl.errors import ConfigError, XGLError
from xgl.language.header import file_metadata
from xgl.library import find


def library_tasks(config: RunConfig, setting: str, names: Sequence[str]) -> dict[str, Task]:
    """Games of the library by their short names, read by the rules of ``game.dialect``;
    ``setting`` names them. Raises :class:`ConfigError`."""
    tasks: dict[str, Task] = {}
    for name in names:
        entry, role = split_role(name)
        try:
            found = find(entry)
            program = parse(found.text, config.game.dialect)
            facts = file_metadata(found.text, found.path, metadata(config.game), name)
        except XGLError as error:
            raise ConfigError(f"{setting}: {name}: {error}") from None
        origin = f"{setting}: {name}"
        task = Task(game(program, facts), main_role(program, role, origin), origin=origin)
        check_world(task.game, config.judge, origin)
        tasks[short_name(name)] = task
    return tasks


def archived_tasks(archive: Archive, ids: Sequence[TaskId]) -> dict[TaskId, Task]:
    """Games as an archive has them, in the order of ``ids``."""
    rows = games(archive, [task_id.game_id for task_id in ids])
    tasks: dict[TaskId, Task] = {}
    for task_id in ids:
        tasks[task_id] = Task(stored_game(rows[task_id.game_id]), task_id.role)
    return tasks


def require_same_models(
    config: RunConfig, growth_config: Mapping[str, object], folder: str
) -> None:
    """Raises :class:`ConfigError` unless the growth in ``folder``, whose configuration is
    ``growth_config``, had the run's player, NPCs and judge."""
    for section, key, model, usual in (
        ("player", "model", config.player.model, None),
        ("player", "npc", config.player.npc, "base"),
        ("judge", "model", config.judge.model, None),
    ):
        settings = growth_config.get(section)
        other = settings.get(key, usual) if isinstance(settings, Mapping) else None
        if other != model:
            raise ConfigError(f"{section}.{key}: found {model}, expected {other}, as in {folder}")


def require_unseen(
    archive: Archive, setting: str, programs: Mapping[str, Task], folder: str
) -> None:
    """Raises :class:`ConfigError` for a program that occurs in the growth in ``folder``, under any
    metadata: it is not held out. ``setting`` names the programs."""
    known_games = {
        (row["dialect"], row["code"]) for row in archive.rows("games", ["dialect", "code"])
    }
    for name, task in programs.items():
        if (task.game.dialect, task.game.code) in known_games:
            raise ConfigError(
                f"{setting}: {name} was met by {folder}, expected programs that no growth has met"
            )
