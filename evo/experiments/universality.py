"""``+experiment=universality``: do measures of independent growths rank models alike
(docs/universality.md)?

One ladder of models, fixed before anything is measured, plays the measure of every growth and one
of as many random playable games of it. Each measure is a measured run of its own below the run's
folder; the ladder's fine-tunes are rows of the run.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

from archive import Archive, RunEvent
from archive.errors import ArchiveError, RatingError
from archive.export import Options, export_xent
from archive.export.selection import choose, playable_tasks
from archive.query import find_run
from archive.statistics.studies.universality import (
    FEWEST_MODELS,
    MeasuredScope,
    Universality,
    UniversalityQuestion,
    read_measured_scope,
    universality,
)
from archive.store.disk import write_whole, writing
from archive.views.tables import plural
from archive.views.universality import as_json, show, show_values
from evo.config.measure import MeasureConfig, MeasureRunConfig
from evo.config.schema import ArchiveRoot, RunConfig
from evo.experiments.known_games import library_tasks, require_unseen
from evo.experiments.model_run import ModelPlan, ModelSession, plan_models
from evo.jobs.evaluation import Task
from evo.jobs.processes import Workers
from evo.measure.folder import MANIFEST, read
from evo.measure.parallel_runs import (
    Measurement,
    ParallelSession,
    SessionTally,
    WorkDone,
    events_of,
    work_done_in,
)
from evo.record.budget import check, exhausted_budget
from evo.record.cost import amount
from evo.runner import RunOutcome, Services
from meta_sampler import BudgetReachedError
from xgl.errors import ConfigError, PlayerError

log = logging.getLogger("evo")
LADDER, GROWTHS, GAMES = 12, 4, 4
"""Least numbers of models, growths, and games of a growth; below them the run prints a warning."""
EXPORTED, MEASURED = "exported", "measured"
GROWN, RANDOM = "grown", "random"
ANSWER = "universality.json"


@dataclass(frozen=True)
class GrowthSource:
    """A growth, or an exported measure, at ``source``. ``name``: of its folders in the run."""

    name: str
    source: Path

    @property
    def is_exported(self) -> bool:
        """Whether it is a measure already."""
        return (self.source / MANIFEST).is_file()


# -- what is asked for -----------------------------------------------------------------------------


def plan_universality(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Find the growths and the ladder; raises what :func:`plan_models` raises, and
    :class:`ConfigError` if a growth cannot be read or if there are too few models or growths."""
    settings = config.universality
    programs = config.curriculum.held_out if settings.programs is None else settings.programs
    tasks = library_tasks(config, "universality.programs", programs)
    growths = find_growths(settings.runs)
    for growth in growths:
        if growth.is_exported:
            _check_measure(growth, tasks)
        elif not resumed:
            _check_growth(growth, settings.eta, tasks)
    _check_ladder(config, len(tasks))

    def session(plan: ModelPlan, archive: Archive) -> ModelSession:
        return UniversalitySession(plan, archive, growths, list(tasks.values()))

    return replace(plan_models(config, services, resumed, session), begins_with_scope=False)


def find_growths(runs: Sequence[str]) -> tuple[GrowthSource, ...]:
    """The growths, each with a name of its own: its folder's, numbered if two have the same."""
    if len(runs) < 2:
        raise ConfigError(
            f"universality.runs: found {len(runs)}, expected two or more folders of scope growths "
            "or of exported measures"
        )
    growths: dict[str, GrowthSource] = {}
    for folder in runs:
        plain = Path(folder).resolve().name
        numbered_names = (f"{plain}-{number}" for number in count(2))
        name = next(each for each in chain([plain], numbered_names) if each not in growths)
        growths[name] = GrowthSource(name, Path(folder))
    return tuple(growths.values())


def _check_growth(growth: GrowthSource, eta: float | None, programs: Mapping[str, Task]) -> None:
    """Raise for a program of the ladder that is also a game of a measure: its adapter was trained
    on it."""
    try:
        with Archive.open(growth.source) as archive:
            require_unseen(archive, "universality.programs", programs, str(growth.source))
            choose(archive, find_run(archive).run_id, eta, skip_unplayable=True)
    except ArchiveError as error:
        raise ConfigError(f"universality.runs: {growth.source}: {error}") from None


def _check_measure(growth: GrowthSource, programs: Mapping[str, Task]) -> None:
    """:func:`_check_growth` for an exported measure, which holds the texts of its games only."""
    codes = {member.task.game.code for member in read(growth.source).members}
    for name, task in programs.items():
        if task.game.code in codes:
            raise ConfigError(
                f"universality.programs: {name} is a game of {growth.source}, expected programs "
                "that no measure has"
            )


def _check_ladder(config: RunConfig, programs: int) -> None:
    settings = config.universality
    models = len(ladder(config, config.folder, [str(place) for place in range(programs)]))
    if models < FEWEST_MODELS:
        raise ConfigError(
            f"universality: found {models} models in the ladder, expected {FEWEST_MODELS} or more "
            "by temperatures, programs × scales and players"
        )
    if settings.players:
        from evo.config.measure import ChatConfig
        from evo.measure.players import find_player  # loads torch

        for name in settings.players:
            find_player(name, ChatConfig())


def ladder(config: RunConfig, folder: Path, finetune_ids: Sequence[str]) -> tuple[str, ...]:
    """Names of all models: the base at each temperature, each fine-tune at each scale, then those
    that the user named.

    Raises :class:`ConfigError` for a name that occurs twice.
    """
    settings, base = config.universality, config.player.model
    warm = [base if t == 1 else f"{base}@{_plain(t)}" for t in settings.temperatures]
    adapters = [
        f"adapter:{folder}:{each}" + ("" if scale == 1 else f"*{_plain(scale)}")
        for each in finetune_ids
        for scale in settings.scales
    ]
    models = (*warm, *adapters, *settings.players)
    if twice := [name for name in models if models.count(name) > 1]:
        raise ConfigError(f"universality.players: {twice[0]!r} is in the ladder already")
    return models


def _plain(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


# -- the run ---------------------------------------------------------------------------------------


class UniversalitySession(ModelSession):
    """Trains the ladder's adapters, exports the measures, has them measured, and compares."""

    def __init__(
        self,
        plan: ModelPlan,
        archive: Archive,
        growths: Sequence[GrowthSource],
        programs: list[Task],
    ) -> None:
        self.growths, self.programs = growths, programs
        self.result: Universality | None = None
        super().__init__(plan, archive)
        if name := exhausted_budget(self.config.budget, self._work_done().cost):
            raise ConfigError(
                f"budget.{name}: found {getattr(self.config.budget, name):g}, expected more than "
                "the run has spent already"
            )

    def expected_finetunes(self) -> int:
        """One of each program."""
        return len(self.programs)

    def work(self) -> RunOutcome:
        """Fine-tune, export and play; what is already done is not repeated."""
        self._train()
        self._export()
        self._measure()
        self.result = self.answer()
        write_answer(self.plan.folder / ANSWER, self.result)
        return RunOutcome(RunEvent.FINISHED, 0, "every model has played every measure", None)

    def higher_budget(self) -> tuple[str, ...]:
        """The budget that is spent, doubled."""
        name = exhausted_budget(self.config.budget, self._work_done().cost)
        return (f"budget.{name}={2 * getattr(self.config.budget, name):g}",) if name else ()

    def show(self, outcome: RunOutcome) -> None:
        """Print the answer, once everything is measured, and the reasons why it may be weak."""
        if self.result:
            show_values(list(map(self._scope, self._grown_measures())), self.console)
            show(self.result, self._question(), self.console)
            for line in self.caveats():
                self.console.print(line, highlight=False, soft_wrap=True)
        super().show(outcome)
        cost = amount(self._work_done().cost)
        self.console.print(f"cost     {cost}, with measuring", highlight=False, soft_wrap=True)

    def commands(self) -> Sequence[tuple[str, str]]:
        """The command that computes the answer from the measured runs, once there is one."""
        if not self.result:
            return []
        grown, random = (
            [quote(str(self._run_folder(name))) for name in names]
            for names in (self._grown_measures(), self._random_compared())
        )
        command = " ".join(["python -m archive universality", *grown])
        return [("again", " --random ".join([command, *random]))]

    # -- the ladder ------------------------------------------------------------------------------

    def _train(self) -> None:
        if self.programs:
            self.collector.calibrate(self.programs)
            self.collector.finetune(self.programs)
        self.collector.executor.close()
        self.display.stop()

    def models(self) -> tuple[str, ...]:
        """The ladder, by name; its fine-tunes must have been made."""
        ids = [self.collector.policy_id(task) for task in self.programs]
        return ladder(self.config, self.plan.folder, ids)

    # -- measures --------------------------------------------------------------------------------

    def _export(self) -> None:
        """The measures that are not in the run's folder yet."""
        for growth in self.growths:
            if not growth.is_exported and not self._is_there(f"{GROWN}/{growth.name}"):
                with Archive.open(growth.source) as archive:
                    self._export_growth(growth.name, archive)

    def _export_growth(self, name: str, archive: Archive) -> None:
        settings, run_id = self.config.universality, find_run(archive).run_id
        options = Options(
            eta=settings.eta,
            skip_unplayable=True,
            maps=settings.maps,
            allow_inexact=True,
            with_judge=False,
            scores=False,
        )
        games = len(choose(archive, run_id, settings.eta, skip_unplayable=True).covers)
        random = f"{RANDOM}/{name}"
        if len(playable_tasks(archive, run_id)) > games and not self._is_there(random):
            random_options = replace(options, playable=games, draw=settings.draw)
            export_xent(archive, run_id, self._folder(random), random_options)
        # Last: where it is there, the random games are.
        export_xent(archive, run_id, self._folder(f"{GROWN}/{name}"), options)

    def _folder(self, measure: str) -> Path:
        return self.plan.folder / EXPORTED / measure

    def _is_there(self, measure: str) -> bool:
        return (self._folder(measure) / MANIFEST).is_file()

    def _measures(self) -> dict[str, Path]:
        """The folders of all exported measures, by name."""
        grown = {
            f"{GROWN}/{each.name}": each.source
            if each.is_exported
            else self._folder(f"{GROWN}/{each.name}")
            for each in self.growths
        }
        return grown | {name: self._folder(name) for name in self._random_measures()}

    def _grown_measures(self) -> list[str]:
        return [f"{GROWN}/{each.name}" for each in self.growths]

    def _random_measures(self) -> list[str]:
        names = [f"{RANDOM}/{each.name}" for each in self.growths]
        return [name for name in names if self._is_there(name)]

    def _run_folder(self, measure: str) -> Path:
        return self.plan.folder / MEASURED / measure

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self) -> None:
        """Measure on every exported measure that is not finished, in parallel. Raises what ends a
        run."""
        models, measures = self.models(), self._measures()
        missing = [m for m in measures if RunEvent.FINISHED not in events_of(self._run_folder(m))]
        workers = Workers(self.config.cluster.workers, "cluster.workers=1")
        with TemporaryDirectory() as place:
            session = self._session(Path(place) / "tally", measures.values(), models)
            configs = {name: self._measure_config(name, models) for name in missing}
            jobs = [(name, Measurement(name, configs[name], session)) for name in missing]
            try:
                for name, outcome in workers.compute(jobs):
                    _require_finished(outcome)
                    log.info("measured %s", name)
            finally:
                workers.close()

    def _session(
        self, tally: Path, measures: Iterable[Path], models: tuple[str, ...]
    ) -> ParallelSession:
        exports = [read(folder) for folder in measures]
        # The judge's model as player sets the levels of games, a rung of the ladder or not.
        plays = sum(len(export.members) * len({*models, export.judge_name}) for export in exports)
        before = self._work_done()
        check(self.config.budget, before.cost)
        return ParallelSession(SessionTally(tally), self.config.budget, before, plays, time.time())

    def _measure_config(self, measure: str, models: tuple[str, ...]) -> MeasureRunConfig:
        settings, folder = self.config.universality, self._run_folder(measure)
        return MeasureRunConfig(
            experiment="measure",
            name=folder.name,
            seed=self.config.seed,
            players=models,
            measure=MeasureConfig(
                folder=str(self._measures()[measure]),
                rounds=settings.rounds,
                maps=settings.maps,
                control=False,
                dtype=self.config.player.dtype,
                rating_resamples=0,
            ),
            archive=ArchiveRoot(root=str(folder.parent)),
        )

    def _work_done(self) -> WorkDone:
        """Work of all sessions; its cost includes the ladder's."""
        work = [work_done_in(self._run_folder(name)) for name in self._measures()]
        return sum(work, WorkDone(0, self.ledger.total_cost))

    # -- the answer ------------------------------------------------------------------------------

    def _question(self) -> UniversalityQuestion:
        settings = self.config.universality
        return UniversalityQuestion(
            settings.margin, resamples=settings.resamples, seed=self.config.seed
        )

    def answer(self) -> Universality:
        """The answer from the measured runs' archives, without random games that cannot be
        compared. Raises :class:`~archive.errors.RatingError`."""
        grown, random = (
            [self._scope(name) for name in names]
            for names in (self._grown_measures(), self._random_compared())
        )
        return universality(grown, random, self._question())

    def _random_compared(self) -> list[str]:
        return [name for name in self._random_measures() if self._fault(name) is None]

    def _fault(self, measure: str) -> str | None:
        """Why a measured run cannot be compared."""
        try:
            self._scope(measure)
        except RatingError as error:
            return str(error)
        return None

    def _scope(self, measure: str) -> MeasuredScope:
        with Archive.open(self._run_folder(measure)) as archive:
            return read_measured_scope(archive, measure)

    def caveats(self) -> list[str]:
        """Sentences on numbers that are too small for a firm answer."""
        models, growths = len(self.models()), len(self.growths)
        lines = [f"Only {plural(models, 'model')}: {LADDER} or more say more."]
        lines = lines if models < LADDER else []
        if growths < GROWTHS:
            lines.append(f"Only {plural(growths, 'growth')}: {GROWTHS} or more say more.")
        for name in self._grown_measures():
            if (games := self._scope(name).games) < GAMES:
                ranked = f"{name} ranks models by {plural(games, 'game')} only"
                lines.append(f"{ranked}: {GAMES} or more say more.")
        if line := judges_caveat(self._measures()):
            lines.append(line)
        there = self._random_measures()
        for each in self.growths:
            if (random := f"{RANDOM}/{each.name}") not in there:
                lines.append(f"{each.name} has no random games beside its own to compare with.")
            elif fault := self._fault(random):
                lines.append(f"{fault}: it is not compared with.")
        return lines


def judges_caveat(measures: Mapping[str, Path]) -> str | None:
    """A sentence if the exported measures in these folders have several judges."""
    judges = dict.fromkeys(read(folder).judge_name for folder in measures.values())
    if len(judges) < 2:
        return None
    return f"Measures have other judges, which need not agree: {', '.join(judges)}."


def _require_finished(outcome: RunOutcome) -> None:
    """Raises what ends the whole run if a measured run did not finish."""
    match outcome.event:
        case RunEvent.FINISHED:
            return
        case RunEvent.OUT_OF_BUDGET:
            raise BudgetReachedError(outcome.message)
    if outcome.exit_code == 130:
        raise KeyboardInterrupt
    if outcome.exit_code == 1:  # an endpoint failed, which may be back when the run is resumed
        raise PlayerError(outcome.message)
    raise ArchiveError(outcome.message)


def write_answer(path: Path, result: Universality) -> None:
    """Write the result as JSON; raises :class:`archive.WriteError` when the disk refuses."""
    text = json.dumps(as_json(result), indent=1, allow_nan=False) + "\n"
    with writing(path.parent):
        write_whole(path, text.encode())
