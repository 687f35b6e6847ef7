"""``python -m evo.run +experiment=ratings_paper``: the ratings paper's simulated experiments.

Each job is a commit; what is committed is not computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, Self

import numpy as np
from rich.console import Console

from archive import Archive, RunEvent
from archive.errors import RatingError
from archive.ratings.normal_form import Array
from archive.ratings.rating import ranks
from archive.ratings.simulations import (
    PathSettings,
    RatingSystem,
    System,
    adversarial_tasks,
    improvement_path,
    judged_preferences,
    model_ratings,
    with_copies,
)
from archive.store.disk import writing
from evo.config.ratings_paper import NAME, PathConfig, RatingsPaperRunConfig, RedundancyConfig
from evo.experiments.ratings_paper import page
from evo.experiments.ratings_paper.results import Results
from evo.jobs.processes import Workers
from evo.record.progress import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, Services
from xgl.random_streams import seed as named_seed
from xgl.writing import write_whole

Row = dict[str, Any]
PATHS, REDUNDANCY = "improvement_paths", "redundancy_ratings"
"""Tables of the archive."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class PathJob:
    """One path of improvement. All kinds of one trial begin with the same vectors."""

    setting: str
    config: PathConfig
    system: System
    prompt_setting: str
    trial: int
    run_seed: int
    table = PATHS

    @property
    def key(self) -> Key:
        """Values that identify its rows."""
        return self.setting, str(self.system), self.prompt_setting, self.trial

    @property
    def title(self) -> str:
        """Title of the job in messages."""
        return f"path {self.trial}, {self.system}, {self.prompt_setting} prompts ({self.setting})"

    def rows(self) -> list[Row]:
        """One row for each iteration. Raises :class:`RatingError`."""
        start, config = process_time(), self.config
        additional = self.prompt_setting == "additional"
        settings = PathSettings(self.system, additional, **asdict(config))
        path = improvement_path(settings, named_seed("improvement", self.run_seed, self.trial))
        seconds = process_time() - start
        names = ("setting", "system", "prompt_setting", "trial")
        return [
            dict(zip(names, self.key, strict=True))
            | {
                "iteration": iteration,
                "prompts": _new_vectors(path.prompts, config.prompts, iteration),
                "models": _new_vectors(path.models, config.models, iteration),
                "skills": config.skills,
                "prompt_entropy": float(path.prompt_entropies[iteration]),
                "model_entropy": float(path.model_entropies[iteration]),
                "seconds": seconds / (config.iterations + 1),
            }
            for iteration in range(config.iterations + 1)
        ]


def _new_vectors(vectors: Array, initial: int, iteration: int) -> list[float] | None:
    """The initial vectors, or the vector that entered in an iteration; None if none did."""
    if iteration == 0:
        return vectors[:initial].ravel().tolist()
    place = initial + iteration - 1
    return vectors[place].tolist() if place < len(vectors) else None


@dataclass(frozen=True)
class RedundancyJob:
    """All models rated by one system on a table with copies. The copies of a trial are the first
    of one list, whatever their number."""

    config: RedundancyConfig
    jitter: float
    copies: int
    system: RatingSystem
    trial: int
    run_seed: int
    table = REDUNDANCY

    @property
    def key(self) -> Key:
        """Values that identify its rows."""
        return self.trial, self.jitter, self.copies, str(self.system)

    @property
    def title(self) -> str:
        """Title of the job in messages."""
        kind = f"near copies (± {self.jitter:g})" if self.jitter else "exact copies"
        return f"table {self.trial} with {self.copies} {kind}, {self.system}"

    def rows(self) -> list[Row]:
        """One row for each model; without ratings where no equilibrium is reached."""
        start = process_time()
        table, against = self._table()
        try:
            ratings = model_ratings(self.system, table)
        except RatingError:
            ratings = None
        seconds = (process_time() - start) / self.config.models
        model_ranks = None if ratings is None else ranks(ratings)
        names = ("trial", "jitter", "copies", "system")
        return [
            dict(zip(names, self.key, strict=True))
            | {
                "model": model,
                "against": against,
                "rating": None if ratings is None else float(ratings[model]),
                "rank": None if model_ranks is None else int(model_ranks[model]),
                "seconds": seconds,
            }
            for model in range(self.config.models)
        ]

    def _table(self) -> tuple[Array, int]:
        """Preferences, and the model that the copies are against: the leader under Elo."""
        config = self.config
        random = np.random.default_rng(named_seed("redundancy", self.run_seed, self.trial))
        sizes = config.tasks, config.models
        table = judged_preferences(*sizes, random, judgements=config.judgements, lead=config.lead)
        against = int(np.argmax(model_ratings(RatingSystem.ELO, table)))
        most = max(*config.copies, *config.near_copies)
        places = adversarial_tasks(table, against, most, random, config.sharpness)[: self.copies]
        return with_copies(table, places, random, self.jitter), against


Job = PathJob | RedundancyJob


def jobs(config: RatingsPaperRunConfig) -> list[Job]:
    """All jobs of a run, in the order in which they are committed."""
    paths: list[Job] = [
        PathJob(title, path, system, prompt_setting, trial, config.seed)
        for title, (path, trials) in config.ratings_paper.paths().items()
        for trial in range(trials)
        for system in System
        for prompt_setting in ("initial", "additional")
    ]
    return [*_redundancy_jobs(config), *paths]


def _redundancy_jobs(config: RatingsPaperRunConfig) -> Iterator[RedundancyJob]:
    redundancy = config.ratings_paper.redundancy
    tables = [(0.0, count) for count in redundancy.copies]
    tables += [(redundancy.jitter, count) for count in redundancy.near_copies]
    for trial in range(redundancy.trials):
        for jitter, count in dict.fromkeys(tables):
            for system in RatingSystem:
                yield RedundancyJob(redundancy, jitter, count, system, trial, config.seed)


def compute(job: Job) -> list[Row]:
    """A job's rows, but for the run's id."""
    return job.rows()


KEYS = {
    PATHS: ("setting", "system", "prompt_setting", "trial"),
    REDUNDANCY: ("trial", "jitter", "copies", "system"),
}
"""Columns that identify the rows of one job."""


def plan_ratings_paper(
    config: RatingsPaperRunConfig, services: Services, resumed: bool
) -> RatingsPaperPlan:
    """The plan of a run, which needs nothing but its settings."""
    return RatingsPaperPlan(config, services.console)


@dataclass(frozen=True)
class RatingsPaperPlan:
    """A validated run."""

    config: RatingsPaperRunConfig
    console: Console

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.config.folder

    def announce(self) -> bool:
        """Say how much there is to compute."""
        paths = self.config.ratings_paper.paths().values()
        redundancy = self.config.ratings_paper.redundancy
        self.console.print(
            f"{4 * sum(trials for _, trials in paths)} paths of improvement, redundancy among "
            f"{redundancy.tasks} tasks and {redundancy.models} models in {redundancy.trials} draws",
            highlight=False,
            soft_wrap=True,
        )
        return True

    def session(self, archive: Archive) -> RatingsPaperSession:
        """A session with what the archive holds."""
        return RatingsPaperSession(self, archive)


class RatingsPaperSession:
    """Computes what is not in the archive yet."""

    def __init__(self, plan: RatingsPaperPlan, archive: Archive) -> None:
        self.plan, self.config, self.archive = plan, plan.config, archive
        self.lines = TimedLines(plan.console)
        run_ids = [row["run_id"] for row in archive.rows("runs", ["run_id"])]
        science = self.config.science_hash()
        self.run_id = str(run_ids[0]) if run_ids else f"{self.config.name}-{science}"
        config_json = json.dumps(asdict(self.config), sort_keys=True)
        self.identity = RunIdentity(self.run_id, self.config.seed, config_json, science)
        self.rows: dict[str, list[Row]] = {table: archive.rows(table) for table in KEYS}
        count = self.config.ratings_paper.workers or os.cpu_count()
        self.workers = Workers(count, f"{NAME}.workers")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`archive.ArchiveError` when the disk refuses."""
        every = jobs(self.config)
        archived_keys = {table: self._archived_keys(table) for table in KEYS}
        waiting = [job for job in every if job.key not in archived_keys[job.table]]
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # of a process: there is one a core
        results = self.workers.compute([(job, partial(compute, job)) for job in waiting])
        for number, (job, rows) in enumerate(results, start=1):
            complete = [{"run_id": self.run_id, **row} for row in rows]
            self.archive.commit({job.table: complete})
            self.rows[job.table] += complete
            self.lines.say(f"{number} of {len(waiting)}: {job.title}")
        return RunOutcome(RunEvent.FINISHED, 0, f"{len(every)} results are computed", None)

    def higher_budget(self) -> tuple[str, ...]:
        """There is no budget."""
        return ()

    def show(self, outcome: RunOutcome) -> None:
        """Print the paper's claims with our results so far; write figures and a page of both."""
        results = Results(self.config, self.rows[PATHS], self.rows[REDUNDANCY])
        for table in page.tables(results):
            self.plan.console.print(table)
        with writing(self.plan.folder):
            for name, content in page.files(results).items():
                write_whole(self.plan.folder / name, content.encode())
        path = self.plan.folder / page.PAGE
        self.plan.console.print(f"page     {path}", highlight=False, soft_wrap=True)

    def commands(self) -> Sequence[tuple[str, str]]:
        """No commands: page and figures are the result."""
        return ()

    def _archived_keys(self, table: str) -> set[tuple[object, ...]]:
        return {tuple(row[name] for name in KEYS[table]) for row in self.rows[table]}
