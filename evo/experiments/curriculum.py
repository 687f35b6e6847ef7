"""``+experiment=curriculum``: one player trained on the games of a growth together, and what it
gains on programs that the growth never saw: the curricula of docs/explanation/curriculum.md, each
learned under several training seeds with equal tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from archive import Archive, Purpose, Run, RunEvent
from archive.errors import ArchiveError
from archive.export.folder import Options
from archive.export.selection import choose, draw_tasks, playable_tasks
from archive.run import games, stored_game
from archive.schema import BASE_POLICY, TABLES, Reason, TaskId
from archive.statistics.curricula import gains_rows
from archive.views.tables import gains_tables
from evo.config.schema import RunConfig
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.growth.initial_scope import check_world, metadata, read_task, short_name
from evo.jobs.evaluation import Task
from evo.jobs.job import Finetune, Result, Training
from evo.record.collector import Collector
from evo.record.display import training_note
from evo.record.ledger import Ledger, Row
from evo.record.requests import PlayRequest, Request, TrainingRequest
from evo.runner import Plan, RunOutcome, Services, pinned_settings
from xgl.analysis.plain_english import unique
from xgl.errors import ConfigError
from xgl.random_streams import seed as named_seed

COVERED = (Reason.COVERED, Reason.SAME_SKILL)
Courses = Mapping[str, tuple[Task, ...]]
"""Lists of different games, by the name of the curriculum."""


def plan_curriculum(config: RunConfig, services: Services, resumed: bool) -> Plan:
    """Read the growth; raises what :func:`plan_models` raises, and :class:`ConfigError` if the
    growth cannot be read or had other models."""
    held_out = library_tasks(config)
    courses = read_courses(config, held_out)
    every = [task for tasks in (*courses.values(), held_out.values()) for task in tasks]
    for task in every:
        check_world(task.game, config.judge, task.origin)
    plan = plan_models(config, services, resumed, [*{task.id: task for task in every}.values()])
    return "", partial(CurriculumSession, plan, courses=courses, held_out=held_out)


def read_courses(config: RunConfig, held_out: Mapping[str, Task]) -> Courses:
    """The four lists of games. Raises :class:`ConfigError`, also if a held-out game occurs in the
    growth."""
    folder = config.curriculum.run
    if folder is None:
        raise ConfigError("curriculum.run: found none, expected the folder of a scope growth")
    try:
        with Archive.open(folder) as archive:
            run = Run(archive)
            _check_growth(config, archive, run.config, held_out)
            cover = list(choose(run, Options(eta=config.growth.eta, skip_unplayable=True)).covers)
            members, seed, size = run.newest_scope[1], config.seed, len(cover)
            last = {TaskId.of(row): row["reason"] for row in run.decisions}
            covered = {task_id for task_id, reason in last.items() if reason in COVERED}
            covered -= {member.task_id for member in members}
            ids_by_name: dict[str, Sequence[TaskId]] = {
                "cover": cover,
                "initial": [each.task_id for each in members if each.parent_game_id is None],
                "random": draw_tasks(playable_tasks(run), size, seed, "playable games"),
                "covered": draw_tasks(sorted(covered), size, seed, "covered games"),
            }
            rows = games(archive, {each.game_id for ids in ids_by_name.values() for each in ids})
            origin = f"curriculum.run: {folder}"
            return {
                name: tuple(Task(stored_game(rows[i.game_id]), i.role, origin=origin) for i in ids)
                for name, ids in ids_by_name.items()
                if ids and (name == "cover" or {*ids} != {*cover})
            }
    except ArchiveError as error:
        raise ConfigError(f"curriculum.run: {error}") from None


def library_tasks(config: RunConfig) -> dict[str, Task]:
    """The games of ``curriculum.held_out`` by their short names, read by the rules of
    ``game.dialect``. Raises :class:`ConfigError`."""
    key, on = "curriculum.held_out", (metadata(config.game), config.game.dialect)
    entries = config.curriculum.held_out
    tasks = (read_task(key, each, *on, translated=True) for each in entries)
    return dict(zip(unique(map(short_name, entries)), tasks, strict=True))


def _check_growth(
    config: RunConfig, archive: Archive, growth: Mapping[str, Any], held_out: Mapping[str, Task]
) -> None:
    """Raises :class:`ConfigError` unless the growth had the run's player, NPCs and judges, and did
    not meet the held-out programs, under any metadata."""
    folder = config.curriculum.run
    if (kind := growth.get("experiment")) != "scope_growth":
        raise ConfigError(f"curriculum.run: {folder} is of {kind}, expected a scope_growth")
    shared = ("player", "model"), ("player", "npc"), ("judge", "model"), ("judge", "others")
    for group, key in shared:
        mine, other = getattr(getattr(config, group), key), growth.get(group, {}).get(key)
        if mine not in (other, pinned_settings(other, f"{group}.{key}")):
            raise ConfigError(f"{group}.{key}: found {mine}, expected {other}, as in {folder}")
    known = {(row["dialect"], row["code"]) for row in archive.rows("games", ["dialect", "code"])}
    for name, task in held_out.items():
        if (task.game.dialect, task.game.code) in known:
            found = f"curriculum.held_out: {name} was met by {folder}"
            raise ConfigError(f"{found}, expected programs that no growth has met")


@dataclass(frozen=True)
class CourseRequest(TrainingRequest):
    """One adapter trained on ``games`` in turn, of which ``task`` is the first."""

    name: str = ""
    games: tuple[Task, ...] = field(default=(), hash=False)
    joins: ClassVar[bool] = False

    def rows(self, ledger: Ledger) -> list[Row]:
        row = ledger.curricula.get(self.policy_id)
        return [row] if row else []

    def job(self, facts: Collector, together: Sequence[Request]) -> Training:
        first, *others = map(facts.task_with_floor, self.games)
        return Training(first, self.seed, others=tuple(others))

    def tables(
        self, facts: Collector, together: Sequence[Request], result: Result[Finetune]
    ) -> dict[str, list[Row]]:
        row = self.row(facts, result.outcome) | {
            "curriculum": self.name,
            "game_ids": [task.game_id for task in self.games],
            "roles": [task.role for task in self.games],
        }
        kept = {name: row[name] for name in TABLES["curricula"].schema.names if name in row}
        return {"curricula": [kept], "maps": facts.map_rows(result, Purpose.TRAINING)}

    def notes(self, result: Result[Finetune]) -> list[str]:
        return [f"{self.name}: {training_note(result.outcome.curve)}"]


class CurriculumSession(ModelSession):
    """Trains, plays, and compares; ``held_out``: programs that are played before and after."""

    def __init__(
        self, plan: ModelPlan, archive: Archive, courses: Courses, held_out: Mapping[str, Task]
    ) -> None:
        self.courses, self.held_out = courses, held_out
        super().__init__(plan, archive)

    def work(self) -> RunOutcome:
        """Base plays, fine-tunes, and the plays of base and trained players on the held-out
        programs."""
        self.collector.calibrate(self.plan.initial)
        finetunes = self._finetunes()
        self.collector.do(finetunes)
        count = self.config.transfer.acceptance_plays[-1]
        on = Purpose.ACCEPTANCE, self.collector.seeds(Purpose.ACCEPTANCE, count)
        self.collector.do(
            PlayRequest(policy, task, *on)
            for task in self.held_out.values()
            for policy in (BASE_POLICY, *(each.policy_id for each in finetunes))
        )
        message = "every curriculum has played every held-out program"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def _finetunes(self) -> list[CourseRequest]:
        """One of each curriculum under each training seed, seed by seed."""
        requests, settings = [], self.collector.settings_json
        for replicate in range(self.config.curriculum.seeds):
            seed = named_seed("training", self.config.seed, replicate)
            for name, tasks in self.courses.items():
                ids = [text for task in tasks for text in (task.game_id, task.role)]
                number = named_seed("curriculum", name, *ids, seed, settings, bits=64)
                about = (f"{number:016x}", tasks[0], replicate, seed, settings)
                requests.append(CourseRequest(*about, name=name, games=tasks))
        return requests

    def show(self, outcome: RunOutcome) -> None:
        """Print the gains on held-out programs, once all plays are archived."""
        if outcome.event is RunEvent.FINISHED:
            run = Run(self.ledger.archive, self.ledger.run_id)
            names = {task.id: name for name, task in self.held_out.items()}
            for view in gains_tables(gains_rows(run), names):
                self.console.print(view)
        super().show(outcome)
