"""``python -m evo.run +experiment=ratings_paper``: the ratings paper's simulated experiments.

Each job is a commit; what is committed is not computed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import product, zip_longest
from time import process_time
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, Strict

from archive import Archive, RunEvent
from archive.errors import RatingError
from archive.ratings.normal_form import Array
from archive.ratings.paper import (
    RatingSystem,
    System,
    adversarial_tasks,
    improvement_path,
    judged_preferences,
    model_ratings,
    with_copies,
)
from archive.ratings.rating import ranks
from archive.store.disk import writing
from evo.config.schema import NamedRun
from evo.experiments import ratings_figures
from evo.jobs.processes import Workers
from evo.record.display import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, RunSession, Services, SettledPlan
from xgl.files import write_whole
from xgl.random_streams import seed as named_seed
from xgl.settings import Count, Natural, NonNegative, Role, settings

# -- settings --------------------------------------------------------------------------------------

NAME = "ratings_paper"
Several = Annotated[int, Strict(), Field(ge=2)]
Copies = Annotated[tuple[Natural, ...], Field(min_length=1)]


@settings
class PathConfig:
    """The simulated path of improvement, the ratings paper's first figure. Of these settings the
    paper states only ``candidates``."""

    skills: Several = 4
    """K, the number of skills."""
    prompts: Count = 8
    """P0: prompts at the start."""
    models: Several = 8
    """M0: models at the start."""
    candidates: Count = 64
    """P′: candidate prompts in each iteration, of which the best rated enters."""
    improvements: Count = 16
    """M′: improvement vectors in each step, of which the best rated is added."""
    iterations: Count = 15
    """Models that enter, one after the other."""


@settings
class RedundancyConfig:
    """Redundant tasks against the model that leads under Elo (that paper's figures 3 and 11), on
    synthetic preferences, since the paper's are not public."""

    lead: NonNegative = 0.02
    """By how much model 0 is better on every task. With the default it is first at equilibrium
    too, and yet beaten on many tasks, as the paper's target is."""
    trials: Annotated[Natural, Role.RESUMABLE] = 1
    """Draws of skills and judgements."""
    tasks: Count = 500
    """Number of tasks; the default is the paper's number of prompts."""
    models: Several = 17
    """Number of models; the default is the paper's."""
    judgements: Count = 8
    """Noisy verdicts, of which a preference is the mean."""
    sharpness: NonNegative = 10.0
    """λ: copies are drawn from softmax(−λ ū) of the model's mean preference ū."""
    copies: Copies = (0, 250, 500)
    """Exact copies added to the tasks."""
    near_copies: Copies = (250, 500, 1000)
    """Copies whose payoffs differ by up to ``jitter``."""
    jitter: NonNegative = 0.01
    """Largest change of a near copy's payoff."""


@settings
class RatingsPaperConfig:
    """The ratings paper's experiments."""

    trials: Annotated[Count, Role.RESUMABLE] = 8
    """Paths of improvement of each kind; the paper's: 32."""
    workers: Annotated[Count | None, Role.RESUMABLE] = None
    """Processes; null: one for each core."""
    path: PathConfig = PathConfig()
    redundancy: RedundancyConfig = RedundancyConfig()


@settings
class RatingsPaperRunConfig(NamedRun):
    """Everything that the ratings paper's experiments depend on."""

    experiment: Literal["ratings_paper"]
    """Name of the experiment."""
    ratings_paper: RatingsPaperConfig = RatingsPaperConfig()


# -- jobs ------------------------------------------------------------------------------------------

Row = dict[str, Any]
PATHS, REDUNDANCY = "improvement_paths", "redundancy_ratings"
"""Tables of the archive."""


class Job(NamedTuple):
    """Work of one process, whose rows are one commit; ``key``: what identifies them."""

    table: str
    key: dict[str, Any]
    title: str
    work: Callable[[], list[Row]]


def jobs(config: RatingsPaperRunConfig) -> Iterator[Job]:
    """All jobs of a run, in the order in which they are committed."""
    ours, seed = config.ratings_paper, config.seed
    tables = [(0.0, count) for count in ours.redundancy.copies]
    tables += [(ours.redundancy.jitter, count) for count in ours.redundancy.near_copies]
    for trial, (jitter, copies), of in product(
        range(ours.redundancy.trials), dict.fromkeys(tables), RatingSystem
    ):
        key: Row = {"trial": trial, "jitter": jitter, "copies": copies, "system": str(of)}
        kind = f"near copies (± {jitter:g})" if jitter else "exact copies"
        title = f"table {trial} with {copies} {kind}, {of}"
        work = partial(rate_redundant, ours.redundancy, seed, trial, jitter, copies, of)
        yield Job(REDUNDANCY, key, title, work)
    for trial, system, prompts in product(range(ours.trials), System, ("initial", "additional")):
        key = {"setting": "main setting", "system": str(system)}  # one run has one setting
        key |= {"prompt_setting": prompts, "trial": trial}
        path = partial(improvement_path, system, prompts == "additional", **asdict(ours.path))
        title = f"path {trial}, {system}, {prompts} prompts"
        yield Job(PATHS, key, title, partial(walk_path, path, ours.path, seed, trial))


def walk_path(
    path: Callable[..., tuple[Array, Array, Array]], settings: PathConfig, run_seed: int, trial: int
) -> list[Row]:
    """One row for each iteration, but for the key. All kinds of one trial begin with the same
    vectors. Raises :class:`RatingError`."""
    start = process_time()
    prompts, models, entropies = path(seed=named_seed("improvement", run_seed, trial))
    seconds = (process_time() - start) / (settings.iterations + 1)
    # the initial vectors stand in the first row; later ones in that of the iteration they entered
    entered = (
        [vectors[:initial].ravel().tolist(), *vectors[initial:].tolist()]
        for vectors, initial in ((prompts, settings.prompts), (models, settings.models))
    )
    names = ("prompts", "models", "prompt_entropy", "model_entropy")
    facts = {"skills": settings.skills, "seconds": seconds}
    return [
        {"iteration": iteration, **dict(zip(names, values, strict=True)), **facts}
        for iteration, values in enumerate(zip_longest(*entered, *entropies.T.tolist()))
    ]


def rate_redundant(
    config: RedundancyConfig,
    run_seed: int,
    trial: int,
    jitter: float,
    copies: int,
    system: RatingSystem,
) -> list[Row]:
    """All models rated by one system on a table with copies against Elo's leader: one row for each,
    but for the key, without ratings where no equilibrium is reached. The copies of a trial are the
    first of one list, whatever their number."""
    start = process_time()
    random = np.random.default_rng(named_seed("redundancy", run_seed, trial))
    sizes = config.tasks, config.models
    table = judged_preferences(*sizes, random, judgements=config.judgements, lead=config.lead)
    against = int(np.argmax(model_ratings(RatingSystem.ELO, table)))
    most = max(*config.copies, *config.near_copies)
    places = adversarial_tasks(table, against, most, random, config.sharpness)[:copies]
    rows: list[Row] = [{"model": model, "against": against} for model in range(config.models)]
    try:
        ratings = model_ratings(system, with_copies(table, places, random, jitter))
        found = list(zip(ratings.tolist(), ranks(ratings).tolist(), strict=True))
    except RatingError:
        found = [(None, None)] * len(rows)
    seconds = (process_time() - start) / len(rows)
    for row, (rating, rank) in zip(rows, found, strict=True):
        row |= {"rating": rating, "rank": rank, "seconds": seconds}
    return rows


def plan_ratings_paper(
    config: RatingsPaperRunConfig, services: Services, resumed: bool
) -> SettledPlan:
    """The plan of a run, which needs nothing but its settings."""
    redundancy = config.ratings_paper.redundancy
    text = (
        f"{4 * config.ratings_paper.trials} paths of improvement, redundancy among "
        f"{redundancy.tasks} tasks and {redundancy.models} models in {redundancy.trials} draws"
    )
    return SettledPlan(config, services.console, RatingsPaperSession, text)


class RatingsPaperSession(RunSession):
    """Computes what is not in the archive yet."""

    def __init__(self, plan: SettledPlan, archive: Archive) -> None:
        self.plan, self.config, self.archive = plan, plan.config, archive
        self.lines = TimedLines(plan.console)
        self.identity = RunIdentity.of(self.config, self.config.name, archive)
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in (PATHS, REDUNDANCY)}
        count = self.config.ratings_paper.workers or os.cpu_count()
        self.workers = Workers(count, f"{NAME}.workers")

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`archive.ArchiveError` when the disk refuses."""
        every = list(jobs(self.config))
        waiting = [
            job
            for job in every
            if not any(job.key.items() <= row.items() for row in self.rows[job.table])
        ]
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # of a process: there is one a core
        results = self.workers.compute([(job, job.work) for job in waiting])
        for number, (job, rows) in enumerate(results, start=1):
            key = {"run_id": self.identity.run_id, **job.key}
            complete = [key | row for row in rows]
            self.archive.commit({job.table: complete})
            self.rows[job.table] += complete
            self.lines.say(f"{number} of {len(waiting)}: {job.title}")
        return RunOutcome(RunEvent.FINISHED, 0, f"{len(every)} results are computed", None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the paper's claims with our results so far; draw its figures."""
        rows = self.rows[PATHS], self.rows[REDUNDANCY]
        self.plan.console.print(ratings_figures.claims_table(*rows))
        with writing(self.plan.folder):
            for name, content in ratings_figures.figures(*rows).items():
                write_whole(self.plan.folder / name, content.encode())
        self.plan.console.print(f"figures  {self.plan.folder}", highlight=False, soft_wrap=True)
