"""``+experiment=held_out``: what the playable candidates of growths, accepted or refused, teach on
programs that no growth saw (docs/held_out.md).

Every candidate is learned again under fresh training seeds, so that results do not depend on the
luck of training behind its verdict; all play the same maps, which are used for nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote

from archive import Archive, Purpose, RunEvent
from archive.errors import ArchiveError
from archive.query import find_run, run_config
from archive.schema import BASE_POLICY, SCRIPT_POLICY, TaskId
from archive.statistics.studies.growth_candidates import GrowthCandidate, playable_candidates
from archive.statistics.studies.held_out_plays import counting_programs, held_out_of
from archive.views.held_out import show
from evo.config.models import FinetuneConfig
from evo.config.schema import RunConfig
from evo.experiments.known_games import (
    archived_tasks,
    library_tasks,
    require_same_models,
    require_unseen,
)
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.jobs.evaluation import Task
from evo.jobs.job import CurriculumTraining, Finetune, Job, Result, Training
from evo.record.ledger import Row, finetune_row
from evo.record.progress import FINE_TUNING, training_note
from evo.record.requests import PlayRequest
from evo.runner import RunOutcome, Services
from xgl.errors import ConfigError
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed

Candidates = tuple[tuple[GrowthCandidate, ...], dict[TaskId, Task]]
"""Candidates, and the game of each by id."""


@dataclass(frozen=True)
class HeldOutGames:
    """The candidates to learn again, one entry for each growth that judged a game, their games by
    id, and the held-out programs by name."""

    candidates: tuple[GrowthCandidate, ...]
    tasks: Mapping[TaskId, Task]
    programs: Mapping[str, Task]

    @property
    def all(self) -> list[Task]:
        """Every game once."""
        return [*self.tasks.values(), *self.programs.values()]

    def rows(self) -> list[Row]:
        """Rows of the table ``held_out_games``."""
        own = [candidate.row() for candidate in self.candidates]
        empty = dict.fromkeys(own[0])
        programs = [
            empty | {"game_id": task.game_id, "role": task.role, "program": name}
            for name, task in self.programs.items()
        ]
        return [*own, *programs]


@dataclass(frozen=True)
class HeldOutLesson:
    """One fine-tune to be made: on a candidate, or on a held-out program as its reference."""

    task: Task
    number: int
    is_reference: bool
    """Whether it is a reference, which has its own settings."""


# -- planning --------------------------------------------------------------------------------------


def plan_held_out(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Read the growths or, for a resumed run, what it took from them; raises what
    :func:`plan_models` raises, and :class:`ConfigError` if a growth cannot be read or had other
    models, or if there is nothing to compare."""
    programs = library_tasks(config, "held_out.programs", config.held_out.programs)
    candidates = _archived_candidates(config.folder) if resumed else None
    games = HeldOutGames(*(candidates or read_growths(config, programs)), programs)

    def session(plan: ModelPlan, archive: Archive) -> ModelSession:
        return HeldOutSession(plan, archive, games)

    plan = plan_models(config, services, resumed, session)
    return replace(plan, begins_with_scope=False)


def _archived_candidates(folder: Path) -> Candidates | None:
    """The candidates that a run in this folder began with; None if it was killed earlier."""
    with Archive.open(folder / "archive") as archive:
        rows = [row for row in archive.rows("held_out_games") if row["program"] is None]
        candidates = tuple(map(GrowthCandidate.of, rows))
        tasks = archived_tasks(archive, [each.task_id for each in candidates])
    return (candidates, tasks) if candidates else None


def read_growths(config: RunConfig, programs: Mapping[str, Task]) -> Candidates:
    """Playable candidates of all growths, and their games. Raises :class:`ConfigError`."""
    if not config.held_out.runs:
        raise ConfigError("held_out.runs: found none, expected the folders of scope growths")
    candidates: list[GrowthCandidate] = []
    tasks: dict[TaskId, Task] = {}
    run_ids: set[str] = set()
    for folder in config.held_out.runs:
        try:
            with Archive.open(folder) as archive:
                run_id = find_run(archive).run_id
                if run_id in run_ids:
                    raise ConfigError(f"held_out.runs: {folder} is given twice, expected once")
                run_ids.add(run_id)
                require_same_models(config, run_config(archive, run_id), folder)
                require_unseen(archive, "held_out.programs", programs, folder)
                playable = playable_candidates(archive, run_id)
                if not playable:
                    raise ConfigError(
                        f"held_out.runs: {folder} holds no candidate that a fine-tune surely "
                        "learned, expected growths with some"
                    )
                tasks |= archived_tasks(archive, [each.task_id for each in playable])
        except ArchiveError as error:
            raise ConfigError(f"held_out.runs: {error}") from None
        candidates += playable
    _require_choice(candidates)
    return tuple(candidates), tasks


def _require_choice(candidates: Sequence[GrowthCandidate]) -> None:
    verdicts: dict[object, set[bool]] = {}
    for each in candidates:
        verdicts.setdefault(each.list_key, set()).add(each.accepted)
    if all(len(both) < 2 for both in verdicts.values()):
        n_accepted = sum(each.accepted for each in candidates)
        raise ConfigError(
            f"held_out.runs: found {n_accepted} accepted among {len(candidates)} playable "
            f"candidates in {len(verdicts)} lists, expected a list with an accepted one and another"
        )


# -- the session -----------------------------------------------------------------------------------


class HeldOutSession(ModelSession):
    """Learns again, plays, and compares."""

    def __init__(self, plan: ModelPlan, archive: Archive, games: HeldOutGames) -> None:
        self.games = games
        for row in archive.rows("held_out_games"):
            task = games.programs.get(row["program"])
            if task is not None and task.game_id != row["game_id"]:
                raise ConfigError(
                    f"held_out.programs: {row['program']} has changed since the run began, "
                    "expected the game it began with"
                )
        super().__init__(plan, archive)

    def expected_finetunes(self) -> int:
        """Number of fine-tunes of references and of all different candidates."""
        held_out = self.plan.config.held_out
        references = len(self.games.programs) * held_out.reference.count
        return references + len(self.games.tasks) * held_out.seeds

    def work(self) -> RunOutcome:
        """Learn the references first; then all candidates, one training seed after another, which
        play the programs that count before the others, so that a run that ends early has compared
        them on these."""
        self._begin()
        self.collector.calibrate(self.games.all)
        held_out, programs = self.config.held_out, list(self.games.programs.values())
        references = [
            HeldOutLesson(task, number, True)
            for number in range(held_out.reference.count)
            for task in programs
        ]
        self._learn(references)
        self.collector.do(self._first_requests(references))
        for some in filter(None, self._programs_in_order()):
            for number in range(held_out.seeds):
                lessons = [HeldOutLesson(task, number, False) for task in self.games.tasks.values()]
                self._learn(lessons)
                policies = map(self._policy_id, lessons)
                self.collector.do(self._requests(list(policies), some, held_out.maps))
        message = "every candidate has played every held-out program"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the analysis, once all plays are archived."""
        if outcome.event is RunEvent.FINISHED:
            show(held_out_of(self.ledger.archive, self.ledger.run_id), self.console)
        super().show(outcome)

    def commands(self) -> Sequence[tuple[str, str]]:
        """The command that shows the analysis again."""
        return [("again", f"python -m archive held-out {quote(str(self.plan.folder))}")]

    def _begin(self) -> None:
        archive, mine = self.ledger.archive, [("run_id", "=", self.ledger.run_id)]
        if not archive.rows("held_out_games", ["game_id"], mine):
            self.ledger.commit(
                games=self.ledger.game_rows(self.games.all), held_out_games=self.games.rows()
            )

    # -- learning --------------------------------------------------------------------------------

    def _seed(self, lesson: HeldOutLesson) -> int:
        """Training seed, from a stream that no growth draws from: the same for all candidates,
        another for programs."""
        kind = "reference" if lesson.is_reference else "candidate"
        return named_seed("held-out training", kind, self.config.seed, lesson.number)

    def _settings(self, lesson: HeldOutLesson) -> str:
        facts = json.loads(self.collector.settings_json)
        if lesson.is_reference:
            facts["finetune"] = asdict(self._reference_learner)
        return json.dumps(facts, sort_keys=True)

    @property
    def _reference_learner(self) -> FinetuneConfig:
        return self.config.held_out.reference.learner(self.config.finetune)

    def _policy_id(self, lesson: HeldOutLesson) -> str:
        facts = (*lesson.task.id, self._seed(lesson), self._settings(lesson))
        return f"{named_seed('held-out', *facts, bits=64):016x}"

    def _learn(self, lessons: Sequence[HeldOutLesson]) -> None:
        missing = [each for each in lessons if self._policy_id(each) not in self.ledger.finetunes]
        jobs = [self._job(each) for each in missing]
        self.display.stage(FINE_TUNING, [each.task for each in missing], len(jobs))
        results = self.collector.executor.do(jobs)
        for lesson, result in zip(missing, results, strict=True):
            self._keep(lesson, result)

    def _job(self, lesson: HeldOutLesson) -> Job[Finetune]:
        task, seed = self.collector.task_with_floor(lesson.task), self._seed(lesson)
        if lesson.is_reference:
            return CurriculumTraining(task, (), seed, self._reference_learner)
        return Training(task, seed)

    def _keep(self, lesson: HeldOutLesson, result: Result[Finetune]) -> None:
        finetune, task = result.outcome, lesson.task
        digest = self.ledger.archive.put_adapter(finetune.adapter)
        identity = (self._policy_id(lesson), self._seed(lesson), self._settings(lesson), digest)
        row = finetune_row(task, finetune, *identity) | {"replicate": lesson.number}
        maps = self.ledger.map_rows(result.map_texts, Purpose.TRAINING, self.config.judge.stories)
        self.ledger.commit(finetunes=[row], maps=maps)
        note = training_note(finetune.curve)
        self.display.job(FINE_TUNING, task, finetune.tokens, result.scoring, note)

    def _programs_in_order(self) -> tuple[list[Task], list[Task]]:
        """The programs that count for the primary question, and the others."""
        counting = counting_programs(self.ledger.archive, self.ledger.run_id)
        programs = self.games.programs.items()
        return (
            [task for name, task in programs if name in counting],
            [task for name, task in programs if name not in counting],
        )

    # -- playing ---------------------------------------------------------------------------------

    def _first_requests(self, references: Sequence[HeldOutLesson]) -> list[PlayRequest]:
        """Plays of base and scripts on every program, and of each program's own fine-tunes."""
        held_out, programs = self.config.held_out, list(self.games.programs.values())
        scripts = [f"{SCRIPT_POLICY}{name}" for name in SCRIPTS]
        requests = self._requests([BASE_POLICY], programs, held_out.reference.plays)
        requests += self._requests(scripts, programs, held_out.maps)
        for lesson in references:
            own = [self._policy_id(lesson)]
            requests += self._requests(own, [lesson.task], held_out.reference.plays)
        return requests

    def _requests(
        self, policies: Sequence[str], programs: Sequence[Task], plays: int
    ) -> list[PlayRequest]:
        seeds = self.collector.seeds(Purpose.HELD_OUT, plays)
        return [
            PlayRequest(policy, task, Purpose.HELD_OUT, seeds)
            for task in programs
            for policy in policies
        ]
