"""``+experiment=curriculum``: one player trained on the games of a growth together, and what it
gains on programs that the growth never saw (docs/curriculum.md).

Four curricula of one growth, each learned under several training seeds with equal tokens: the games
of its cover, its initial games, as many random playable games, and as many games that it refused as
covered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote

from rich.console import Console
from rich.table import Table

from archive import Archive, Purpose, Run, RunEvent
from archive.errors import ArchiveError
from archive.export.selection import choose, draw_tasks, playable_tasks
from archive.schema import BASE_POLICY, SCRIPT_POLICY, GainKind, PlaysKey, Reason, TaskId
from archive.statistics.measures.curricula import ALL, CurriculumGains, curriculum_gains
from archive.statistics.values.intervals import Interval
from evo.config.models import FinetuneConfig
from evo.config.schema import RunConfig
from evo.experiments.known_games import (
    archived_tasks,
    library_tasks,
    require_same_models,
    require_unseen,
)
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.experiments.transfer_triplet import with_interval
from evo.jobs.evaluation import Task
from evo.jobs.job import CurriculumTraining
from evo.jobs.results import Finetune, Result
from evo.record.ledger import Row
from evo.record.progress import FINE_TUNING, training_note
from evo.record.requests import PlayRequest
from evo.runner import RunOutcome, Services, shown
from xgl.errors import ConfigError
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed

COVERED = (Reason.COVERED, Reason.SAME_SKILL)
COLLAPSE_SHARE = 0.1
"""Share of different moves below which a player is said to have collapsed."""


@dataclass(frozen=True)
class Curricula:
    """Curricula by name (lists of different games), and the held-out programs by name, which are
    played before and after."""

    courses: Mapping[str, tuple[Task, ...]]
    held_out: Mapping[str, Task]

    @property
    def tasks(self) -> list[Task]:
        """All games."""
        every = [task for course in self.courses.values() for task in course]
        return list({task.id: task for task in (*every, *self.held_out.values())}.values())


def plan_curriculum(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Read the growth; raises what :func:`plan_models` raises, and :class:`ConfigError` if the
    growth cannot be read or had other models."""
    held_out = library_tasks(config, "curriculum.held_out", config.curriculum.held_out)
    curricula = Curricula(read_curricula(config, held_out), held_out)

    def session(plan: ModelPlan, archive: Archive) -> ModelSession:
        return CurriculumSession(plan, archive, curricula)

    plan = plan_models(config, services, resumed, session)
    return replace(plan, begins_with_scope=False)


def read_curricula(config: RunConfig, held_out: Mapping[str, Task]) -> dict[str, tuple[Task, ...]]:
    """The four lists of games. Raises :class:`ConfigError`, also if a held-out game occurs in the
    growth."""
    if config.curriculum.run is None:
        raise ConfigError("curriculum.run: found none, expected the folder of a scope growth")
    folder = Path(config.curriculum.run)
    try:
        with Archive.open(folder) as archive:
            run = Run(archive)
            require_same_models(config, run.config, config.curriculum.run)
            require_unseen(archive, "curriculum.held_out", held_out, config.curriculum.run)
            return _courses(run, config)
    except ArchiveError as error:
        raise ConfigError(f"curriculum.run: {error}") from None


def _courses(run: Run, config: RunConfig) -> dict[str, tuple[Task, ...]]:
    cover = list(choose(run, config.curriculum.eta, skip_unplayable=True).covers)
    _, members = run.newest_scope
    initial = [member.task_id for member in members if member.parent_game_id is None]
    playable, covered_ids = playable_tasks(run), _covered_ids(run)
    ids_by_name: dict[str, Sequence[TaskId]] = {
        "cover": cover,
        "initial": initial,
        "random": draw_tasks(playable, len(cover), config.seed, "playable games"),
        "covered": draw_tasks(covered_ids, len(cover), config.seed, "covered games"),
    }
    return {
        name: tuple(archived_tasks(run.archive, ids).values())
        for name, ids in ids_by_name.items()
        if ids
    }


def _covered_ids(run: Run) -> list[TaskId]:
    """Games outside the scope whose last decision has a reason of ``COVERED``."""
    last = {TaskId.of(row): row["reason"] for row in run.decisions}
    _, members = run.newest_scope
    return sorted(
        {task_id for task_id, reason in last.items() if reason in COVERED}
        - {member.task_id for member in members}
    )


class CurriculumSession(ModelSession):
    """Trains, plays, and compares."""

    def __init__(self, plan: ModelPlan, archive: Archive, curricula: Curricula) -> None:
        self.curricula = curricula
        archived_ids = {row["game_id"] for row in archive.rows("games", ["game_id"])}
        if archived_ids and any(task.game_id not in archived_ids for task in curricula.tasks):
            raise ConfigError(
                f"curriculum.run: {plan.config.curriculum.run} has changed since the run began, "
                "expected the growth it began with"
            )
        super().__init__(plan, archive)

    def expected_finetunes(self) -> int:
        """One for each curriculum and training seed."""
        return len(self.curricula.courses) * self.plan.config.curriculum.seeds

    def work(self) -> RunOutcome:
        """Base plays, fine-tunes, and the plays of all players on the held-out programs."""
        self.collector.calibrate(self.curricula.tasks)
        self._train()
        self.collector.do(self._requests())
        message = "every curriculum has played every held-out program"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the gains on held-out programs, once all plays are archived, and the names under
        which the players can be measured."""
        if outcome.event is RunEvent.FINISHED:
            held_out = self.curricula.held_out
            run = Run(self.ledger.archive, self.ledger.run_id)
            gains = curriculum_gains(run, [task.id for task in held_out.values()])
            show(self.console, gains, {task.id: name for name, task in held_out.items()})
            self._show_own_games()
            self._show_moves()
            self._show_scripts()
        super().show(outcome)

    def commands(self) -> Sequence[tuple[str, str]]:
        """The command that inspects the archive, and that which measures the first player whose
        training is done."""
        lines = [("inspect", f"python -m archive inspect {shown(self.plan.folder)}")]
        trained = [row["curriculum"] for row in self.ledger.archive.rows("curricula")]
        for name in trained[:1]:
            player = quote(f"player=adapter:{self.plan.folder}:{name}")
            measure = f"python -m evo.run +experiment=measure measure=FOLDER {player}"
            lines.append(("measure", measure))
        return lines

    # -- training --------------------------------------------------------------------------------

    def _policy_id(self, name: str, replicate: int) -> str:
        tasks = self.curricula.courses[name]
        ids = [text for task in tasks for text in (task.game_id, task.role)]
        facts: tuple[int | str, ...] = (name, *ids, self._seed(replicate), self._settings())
        return f"{named_seed('curriculum', *facts, bits=64):016x}"

    def _seed(self, replicate: int) -> int:
        return named_seed("training", self.config.seed, replicate)

    def _settings(self) -> str:
        learner = {"curriculum": asdict(self._learner)}
        return json.dumps(json.loads(self.collector.settings_json) | learner)

    @property
    def _learner(self) -> FinetuneConfig:
        return self.config.curriculum.learner(self.config.finetune)

    def _train(self) -> None:
        missing = [
            (name, replicate)
            for replicate in range(self.config.curriculum.seeds)
            for name in self.curricula.courses
            if self._policy_id(name, replicate) not in self.ledger.curricula
        ]
        jobs = [self._job(*each) for each in missing]
        self.display.stage(FINE_TUNING, [job.task for job in jobs], len(jobs))
        results = self.collector.executor.do(jobs)
        for (name, replicate), job, result in zip(missing, jobs, results, strict=True):
            self._keep(name, replicate, job, result)

    def _job(self, name: str, replicate: int) -> CurriculumTraining:
        first, *others = map(self.collector.task_with_floor, self.curricula.courses[name])
        return CurriculumTraining(first, tuple(others), self._seed(replicate), self._learner)

    def _keep(
        self, name: str, replicate: int, job: CurriculumTraining, result: Result[Finetune]
    ) -> None:
        finetune, course = result.outcome, self.curricula.courses[name]
        row = {
            "finetune_id": self._policy_id(name, replicate),
            "curriculum": name,
            "game_ids": [task.game_id for task in course],
            "roles": [task.role for task in course],
            "replicate": replicate,
            "seed": job.seed,
            "steps": len(finetune.curve),
            "curve": finetune.curve,
            "entropy": finetune.entropy,
            "grad_norm": finetune.grad_norm,
            "adapter_hash": self.ledger.archive.put_adapter(finetune.adapter),
            "settings_json": self._settings(),
            "tokens": finetune.tokens,
            "seconds": finetune.seconds,
        }
        maps = self.ledger.map_rows(result.map_texts, Purpose.TRAINING, self.config.judge.stories)
        self.ledger.commit(curricula=[row], maps=maps)
        note = f"{name}: {training_note(finetune.curve)}"
        self.display.job(FINE_TUNING, job.task, finetune.tokens, result.scoring, note)

    # -- playing ---------------------------------------------------------------------------------

    def _requests(self) -> list[PlayRequest]:
        """Base, scripts and every trained player, on every held-out program; base and trained
        players on their own games, on the maps of the first look."""
        looks = self.config.transfer.acceptance_plays
        policy_ids = {name: self._policy_ids(name) for name in self.curricula.courses}
        scripts = [f"{SCRIPT_POLICY}{name}" for name in SCRIPTS]
        everyone = [
            BASE_POLICY,
            *scripts,
            *(policy for ids in policy_ids.values() for policy in ids),
        ]
        pairs = [(policy, task) for task in self.curricula.held_out.values() for policy in everyone]
        own_pairs = [
            (policy, task)
            for name, course in self.curricula.courses.items()
            for task in course
            for policy in (BASE_POLICY, *policy_ids[name])
        ]
        return [*self._plays(pairs, looks[-1]), *self._plays(own_pairs, looks[0])]

    def _plays(self, pairs: Sequence[tuple[str, Task]], count: int) -> list[PlayRequest]:
        seeds = self.collector.seeds(Purpose.ACCEPTANCE, count)
        return [
            PlayRequest(policy, task, Purpose.ACCEPTANCE, seeds)
            for policy, task in dict.fromkeys(pairs)
        ]

    def _policy_ids(self, name: str) -> list[str]:
        """Of a curriculum's players, by training seed."""
        return [self._policy_id(name, seed) for seed in range(self.config.curriculum.seeds)]

    def _show_own_games(self) -> None:
        """Whether each curriculum taught its own games at all."""
        table = Table(title="gain on its own games, bits, mean over them", title_justify="left")
        for head in ("curriculum", "games", *GainKind):
            table.add_column(head, justify="left" if head == "curriculum" else "right")
        for name, course in self.curricula.courses.items():
            task_ids = [task.id for task in course]
            gains = curriculum_gains(Run(self.ledger.archive, self.ledger.run_id), task_ids).gains
            cells = [with_interval(gains[kind][name][ALL]) for kind in GainKind]
            table.add_row(name, str(len(course)), *cells)
        self.console.print(table)

    def _show_scripts(self) -> None:
        """Print the trivial baseline: the best script's gain on each program."""
        best = []
        for name, task in self.curricula.held_out.items():
            base = self._mean(BASE_POLICY, task)
            gains = {each: self._mean(f"{SCRIPT_POLICY}{each}", task) - base for each in SCRIPTS}
            script = max(gains, key=gains.__getitem__)
            best.append(f"{name} {gains[script]:+.1f} ({script})")
        self.console.print(f"best script, bits: {', '.join(best)}", highlight=False, soft_wrap=True)

    def _show_moves(self) -> None:
        """Print each player's share of forfeits and of different moves: both explain gains and
        losses."""
        table = Table(title="plays of all held-out programs", title_justify="left")
        table.add_column("player")
        for head in ("forfeited", "different moves"):
            table.add_column(head, justify="right")
        collapsed_players = []
        for name, policy in self._players().items():
            forfeits, different = self._habits(policy)
            table.add_row(name, f"{forfeits:.0%}", f"{different:.0%}")
            collapsed_players += [name] if different < COLLAPSE_SHARE else []
        self.console.print(table)
        if collapsed_players:
            verb = "says" if len(collapsed_players) == 1 else "say"
            players = ", ".join(collapsed_players)
            line = f"{players} {verb} much the same on every map: training collapsed there"
            self.console.print(line, highlight=False, soft_wrap=True)

    def _players(self) -> dict[str, str]:
        """Policy ids by the players' names."""
        seeds = range(self.config.curriculum.seeds)
        trained_policies = {
            f"{name}.{seed}" if seed else name: self._policy_id(name, seed)
            for name in self.curricula.courses
            for seed in seeds
        }
        return {"base player": BASE_POLICY, **trained_policies}

    def _habits(self, policy: str) -> tuple[float, float]:
        """Share of plays that are forfeited, and of moves that differ among the plays of a
        program, mean over programs."""
        by_program = [self._rows(policy, task) for task in self.curricula.held_out.values()]
        rows = [row for each in by_program for row in each]
        forfeits = sum(math.isinf(row["raw_score"]) for row in rows) / len(rows)
        different = [len({tuple(row["moves"]) for row in each}) / len(each) for each in by_program]
        return forfeits, sum(different) / len(different)

    def _mean(self, policy: str, task: Task) -> float:
        rows = self._rows(policy, task)
        return sum(row["score"] for row in rows) / len(rows)

    def _rows(self, policy: str, task: Task) -> list[Row]:
        return list(self.ledger.scores[PlaysKey(policy, task.id, str(Purpose.ACCEPTANCE))].values())


def show(console: Console, gains: CurriculumGains, names: Mapping[TaskId, str]) -> None:
    """Print a table for each kind of gain, and the first curriculum's lead over the others."""
    for kind in GainKind:
        table = Table(
            title=f"{kind} gain on held-out programs, bits (95 % over plays and training seeds)",
            title_justify="left",
        )
        table.add_column("program")
        for name in gains.curricula:
            table.add_column(f"{name} ({gains.games[name]})", justify="right")
        keys: list[tuple[TaskId | str, str]] = [(task, names[task]) for task in gains.tasks]
        for key, label in [*keys, (ALL, ALL)]:
            cells = [with_interval(gains.gains[kind][name][key]) for name in gains.curricula]
            table.add_row(label, *cells)
        console.print(table)
        for (one, other), lead in gains.leads[kind].items():
            console.print(_lead(one, other, lead), highlight=False, soft_wrap=True)


def _lead(one: str, other: str, lead: Interval) -> str:
    return f"{one} beyond {other}: {with_interval(lead)} bits, mean over programs"
