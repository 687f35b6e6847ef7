"""The initial scope: tasks from game files and library names, and the fine-tunes on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from os.path import isfile  # unlike Path's, false for a name too long for the disk
from pathlib import Path

from archive import Reason
from archive.schema import BASE_POLICY, TaskId
from archive.statistics.race import Question
from evo.config.models import JudgeConfig
from evo.config.schema import GameConfig, RunConfig
from evo.growth.stages import Stage
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.requests import PlayRequest, Request
from evo.record.steps import Steps
from xgl import library
from xgl.analysis.static_facts import analyse, learning_roles
from xgl.errors import ConfigError, ProgramError
from xgl.files import user_path
from xgl.judge.stories import check_prompts
from xgl.language.canonical import Game, Metadata, check_names
from xgl.language.syntax import MAIN_PLAYER, Program


def initial_tasks(config: RunConfig) -> list[Task]:
    """Read ``growth.initial_scope``. Raises :class:`ConfigError` naming the file that is missing,
    is not a valid program, cannot teach its main player anything, or is twice in the list."""
    tasks: dict[TaskId, Task] = {}
    for entry in config.growth.initial_scope:
        task = read_task("growth.initial_scope", entry, metadata(config.game), config.game.dialect)
        check_world(task.game, config.judge, task.origin)
        if task.id in tasks:
            raise ConfigError(f"growth.initial_scope: {entry!r} is the same game as one before it")
        tasks[task.id] = task
    return list(tasks.values())


def read_task(
    setting: str, entry: str, shared: Metadata, dialect: str | None = None, translated: bool = False
) -> Task:
    """The game of an entry of a setting, a file or a name of the library, with ``:role`` or
    without; ``dialect``: the only one that it may be of, or by whose rules it is read if it is
    ``translated``. Raises :class:`ConfigError`."""
    name, role = split_role(entry)
    if not name:
        raise ConfigError(f"{setting}: found an empty name, expected a file or a library's game")
    try:
        source = library.read_source(Path(name), dialect if translated else None)
        if dialect not in (None, source.dialect):
            raise ConfigError(
                f"{name}: a game of dialect {source.dialect}, expected one of dialect {dialect}, "
                f"or game.dialect={source.dialect}"
            )
        whole = source.game(shared)
    except OSError as error:
        raise ConfigError(f"{setting}: {name}: cannot be read ({error})") from None
    except (ConfigError, ProgramError) as error:
        raise ConfigError(f"{setting}: {error}") from None
    origin = f"{setting}: {source.origin}"
    return Task(whole, main_role(source.program(), role, origin), origin=origin)


def short_name(entry: str) -> str:
    """A game's short name: without folder, suffix and source, with a role that it names."""
    name, role = split_role(entry)
    short = library.short_name(Path(name).stem)
    return f"{short}:{role}" if role else short


def check_world(game: Game, judge: JudgeConfig, origin: str) -> None:
    """Raises :class:`ConfigError`, which begins with ``origin``, for a game that needs a model that
    is not under the judge, or texts by prompts that its source cannot follow."""
    check_prompts(game, judge.stories, origin, "judge.stories")
    check_names(game, judge.others, origin, "judge.others={{{}: MODEL}}")


def can_play(game: Game, judge: JudgeConfig) -> bool:
    """Whether :func:`check_world` refuses nothing."""
    try:
        check_world(game, judge, "")
    except ConfigError:
        return False
    return True


def whole_path(entry: str) -> str:
    """A file's name, with ``:role`` or without, as its whole path; another entry as it is."""
    name, role = split_role(entry)
    if not isfile(path := user_path(name).absolute()):
        return entry
    return f"{path}:{role}" if role else str(path)


def split_role(entry: str) -> tuple[str, str]:
    """``game:role`` as a game and its main player, who is empty if no role is named (§4.1)."""
    name, colon, role = entry.rpartition(":")
    is_role = colon and role.isidentifier() and not isfile(user_path(entry))
    return (name, role) if is_role else (entry, "")


def main_role(program: Program, role: str, origin: str) -> str:
    """``role`` or, if it is empty, black if it moves, or the only player that does.

    Raises :class:`ConfigError`, which begins with ``origin`` and names the roles that move, for a
    game without such a role, and for a main player that can learn nothing.
    """
    movers = analyse(program).players
    if not role and movers:
        role = MAIN_PLAYER if MAIN_PLAYER in movers else movers[0] if len(movers) == 1 else ""
    if movers and role not in movers:
        found = f"{role} makes no move" if role else "several players move"
        choice = " or ".join(f":{name}" for name in movers)
        raise ConfigError(f"{origin}: {found}, expected {choice} after the game's name")
    if reason := analyse(program, role=role or MAIN_PLAYER).degenerate:
        hint = "".join(f", or :{name}" for name in learning_roles(program))
        raise ConfigError(f"{origin}: {reason}, expected a game to learn{hint}")
    return role


def calibrate_initial_scope(collector: Collector, initial: Sequence[Task]) -> None:
    """Raises :class:`ConfigError` naming a game that cannot be played."""
    for task, refusal in zip(initial, collector.calibrate(initial), strict=True):
        if refusal:
            raise ConfigError(f"{task.origin}: {refusal}")


def learn_initial_scope(selection: Stage, initial: Sequence[Task]) -> Steps[Request, list[Task]]:
    """Fine-tune the calibrated initial games; returns those that fine-tuning improves.

    Whether a fine-tune learns a learnable game depends on its training seed, so an initial game
    gets up to ``growth.initial_attempts`` fine-tunes to be learned clearly. The choice is made on
    selection plays; acceptance tests are on fresh ones.

    Raises :class:`ConfigError` naming a game that fine-tuning does not improve, which
    ``growth.unplayable_initial=keep`` leaves out while another game is learned.
    """
    collector, growth = selection.collector, selection.collector.config.growth
    yield from _learn(selection, initial)
    for _ in range(growth.initial_attempts - 1):
        weak = [task for task in initial if not selection.has_clear_gain(task)]
        collector.restart(weak)
        yield from _learn(selection, weak)
    owns = {task: selection.own(task, selection.looks.plays[-1]) for task in initial}
    usable = [task for task, own in owns.items() if selection.is_learned(own)]
    for task, own in owns.items():
        if task not in usable and (growth.unplayable_initial == "stop" or not usable):
            name, gain = ("own", own.gain) if own.gain.low <= 0 else ("total", own.total)
            raise ConfigError(
                f"{task.origin}: {Reason.NOT_LEARNED}: {name} gain {gain.value:.2f} bits, lower "
                f"bound {gain.low:.2f}, expected games that fine-tuning improves"
            )
    return usable


def _learn(selection: Stage, tasks: Sequence[Task]) -> Steps[Request, None]:
    """Fine-tune on games and measure the own gain of each. The base player and the scripts play
    meanwhile."""
    collector, looks = selection.collector, selection.looks
    finetunes = [each for task in tasks for each in collector.training_requests(task)]
    seeds = selection.seeds(looks.plays[-1])
    base = [PlayRequest(BASE_POLICY, task, selection.purpose, seeds) for task in tasks]
    scripts = [each for task in tasks for each in selection.script_requests(task, looks.plays[0])]
    yield [*finetunes, *selection.blocks([*base, *scripts])]
    question = Question(looks.plays[-1], own=True)
    plays = (each for task in tasks for each in selection.plays(task, task, (), question))
    yield selection.blocks(plays)


def metadata(settings: GameConfig) -> Metadata:
    """The metadata that every game of a run shares."""
    facts = asdict(settings)
    del facts["dialect"]
    try:
        return Metadata(**facts)
    except ConfigError as error:
        raise ConfigError(f"game.{error}") from None
