"""``python -m evo.run +experiment=ratings_paper``: the ratings paper's simulated experiments.

Each job is a commit; what is committed is not computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Self

from rich.console import Console

from archive import Archive, RunEvent
from archive.store.disk import writing
from evo.config.ratings_paper import NAME, RatingsPaperRunConfig
from evo.experiments.ratings_paper import page
from evo.experiments.ratings_paper.jobs import PATHS, REDUNDANCY, Row, compute, jobs
from evo.experiments.ratings_paper.results import Results
from evo.jobs.processes import Workers
from evo.record.progress import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, Services
from xgl.writing import write_whole

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
