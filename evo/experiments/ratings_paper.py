"""``python -m evo.run +experiment=ratings_paper``: the ratings paper's simulated experiments:
what the paper's figures show, as a table and drawn.

Each job is a commit; what is committed is not computed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product, zip_longest
from math import log
from time import process_time
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from rich.table import Table

from archive import Archive, RunEvent
from archive.charts import Panel, document, panels, series
from archive.errors import RatingError
from archive.ratings import paper
from archive.ratings.normal_form import Array
from archive.ratings.rating import ranks
from archive.store.files import save_text
from archive.text import plural
from archive.views.tables import add, table
from evo.config.schema import NamedRun
from evo.jobs.job import Workers
from evo.record.display import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import Plan, RunOutcome, RunSession, Services
from xgl.console import Console
from xgl.diagram.svg import Element
from xgl.random_streams import seed as named_seed
from xgl.settings import Count, Role, settings

NAME = "ratings_paper"
PATH = {"skills": 4, "prompts": 8, "models": 8, "candidates": 64, "improvements": 16}
PATH |= {"iterations": 15}
"""K, P0, M0, P′, M′ and the number of iterations of a path of improvement (Fig. 1), of which the
paper states only P′."""
TASKS, MODELS, JUDGEMENTS, LEAD = 500, 17, 8, 0.02
"""Of the table with redundant tasks (Fig. 3 and 11), on synthetic preferences, since the paper's
are not public: its size, the noisy verdicts of which a preference is the mean, and by how much
model 0 is better on every task. It is first at equilibrium too, and yet beaten on many tasks, as
the paper's target is."""
SHARPNESS = 10.0
"""λ: copies are drawn from softmax(−λ ū) of the model's mean preference ū."""
COPIES, NEAR_COPIES, JITTER = (0, 250, 500), (250, 500, 1000), 0.01
"""Numbers of exact copies, and of copies whose payoffs differ by up to ``JITTER``."""


@settings
class RatingsPaperConfig:
    """The ratings paper's experiments."""

    trials: Annotated[Count, Role.RESUMABLE] = 8
    """Paths of improvement of each kind; the paper's: 32."""
    workers: Annotated[Count | None, Role.RESUMABLE] = None
    """Processes; null: one for each core."""


@settings
class RatingsPaperRunConfig(NamedRun):
    """Everything that the ratings paper's experiments depend on."""

    experiment: Literal["ratings_paper"]
    """Name of the experiment."""
    ratings_paper: RatingsPaperConfig = RatingsPaperConfig()


Row = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
PATHS, REDUNDANCY = "improvement_paths", "redundancy_ratings"
"""Tables of the archive."""


class Job(NamedTuple):
    """Work of one process, whose rows are one commit; ``key``: what identifies them."""

    table: str
    key: Row
    work: Callable[[], list[Row]]


def jobs(config: RatingsPaperRunConfig) -> Iterator[Job]:
    """All jobs of a run, in the order in which they are committed."""
    ours, seed = config.ratings_paper, config.seed
    tables = [*((0.0, count) for count in COPIES), *((JITTER, count) for count in NEAR_COPIES)]
    for (jitter, copies), of in product(tables, paper.RatingSystem):
        key: Row = {"trial": 0, "jitter": jitter, "copies": copies, "system": str(of)}
        yield Job(REDUNDANCY, key, partial(rate_redundant, seed, jitter, copies, of))
    for trial, system, prompts in product(range(ours.trials), paper.System, PROMPT_SETTINGS):
        key = {"setting": "main setting", "system": str(system)}  # one run has one setting
        key |= {"prompt_setting": prompts, "trial": trial}
        path = partial(paper.improvement_path, system, prompts == "additional", **PATH)
        yield Job(PATHS, key, partial(walk_path, path, seed, trial))


def walk_path(
    path: Callable[..., tuple[Array, Array, Array]], run_seed: int, trial: int
) -> list[Row]:
    """One row for each iteration, but for the key. All kinds of one trial begin with the same
    vectors. Raises :class:`RatingError`."""
    start = process_time()
    prompts, models, entropies = path(seed=named_seed("improvement", run_seed, trial))
    seconds = (process_time() - start) / (PATH["iterations"] + 1)
    # the initial vectors stand in the first row; later ones in that of the iteration they entered
    entered = (
        [vectors[:initial].ravel().tolist(), *vectors[initial:].tolist()]
        for vectors, initial in ((prompts, PATH["prompts"]), (models, PATH["models"]))
    )
    names = ("prompts", "models", "prompt_entropy", "model_entropy")
    facts = {"skills": PATH["skills"], "seconds": seconds}
    return [
        {"iteration": iteration, **dict(zip(names, values, strict=True)), **facts}
        for iteration, values in enumerate(zip_longest(*entered, *entropies.T.tolist()))
    ]


def rate_redundant(
    run_seed: int, jitter: float, copies: int, system: paper.RatingSystem
) -> list[Row]:
    """All models rated by one system on a table with copies against Elo's leader: one row for each,
    but for the key, without ratings where no equilibrium is reached. The copies are the first of
    one list, whatever their number."""
    start = process_time()
    random = np.random.default_rng(named_seed("redundancy", run_seed, 0))
    table = paper.judged_preferences(TASKS, MODELS, random, judgements=JUDGEMENTS, lead=LEAD)
    against = int(np.argmax(paper.model_ratings(paper.RatingSystem.ELO, table)))
    most = max(*COPIES, *NEAR_COPIES)
    places = paper.adversarial_tasks(table, against, most, random, SHARPNESS)[:copies]
    try:
        ratings = paper.model_ratings(system, paper.with_copies(table, places, random, jitter))
        found = list(zip(ratings.tolist(), ranks(ratings).tolist(), strict=True))
    except RatingError:
        found = [(None, None)] * MODELS
    facts = {"against": against, "seconds": (process_time() - start) / MODELS}
    numbered = enumerate(found)
    return [{"model": n, "rating": value, "rank": rank, **facts} for n, (value, rank) in numbered]


def plan_ratings_paper(config: RatingsPaperRunConfig, services: Services, resumed: bool) -> Plan:
    """The plan of a run, which needs nothing but its settings."""
    paths = f"{4 * config.ratings_paper.trials} paths of improvement"
    text = f"{paths}, redundancy among {TASKS} tasks and {MODELS} models"
    return text, partial(RatingsPaperSession, config, services.console)


class RatingsPaperSession(RunSession):
    """Computes what is not in the archive yet."""

    def __init__(self, config: RatingsPaperRunConfig, console: Console, archive: Archive) -> None:
        self.config, self.console, self.archive = config, console, archive
        self.lines = TimedLines(console)
        self.identity = RunIdentity.of(self.config, self.config.name, archive)
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in (PATHS, REDUNDANCY)}
        self.workers = Workers(config.ratings_paper.workers or os.cpu_count(), f"{NAME}.workers")

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`archive.ArchiveError` when the disk refuses."""
        every, rows = list(jobs(self.config)), self.rows
        waiting = [j for j in every if not any(j.key.items() <= r.items() for r in rows[j.table])]
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # of a process: there is one a core
        results = self.workers.compute([(job, job.work) for job in waiting])
        for number, (job, found) in enumerate(results, start=1):
            complete = [{"run_id": self.identity.run_id} | job.key | row for row in found]
            self.archive.commit({job.table: complete})
            rows[job.table] += complete
            about = ", ".join(f"{name} {value}" for name, value in job.key.items())
            self.lines.say(f"{number} of {len(waiting)}: {about}")
        return RunOutcome(RunEvent.FINISHED, 0, f"{len(every)} results are computed", None)

    def show(self, outcome: RunOutcome) -> None:
        """Print the results so far; draw the paper's figures."""
        self.console.print(results_table(self.rows[PATHS], self.rows[REDUNDANCY]))
        drawings = (
            ("improvement.svg", entropy_figure, PATHS),
            ("sequence.svg", sequence_figure, PATHS),
            ("redundancy.svg", redundancy_figure, REDUNDANCY),
        )
        for name, draw, of in drawings:
            if rows := self.rows[of]:
                save_text(self.config.folder / name, document(draw(rows)))
        self.console.print(f"figures  {self.config.folder}", soft_wrap=True)


# -- what was found --------------------------------------------------------------------------------

PROMPT_SETTINGS = ("initial", "additional")


def results_table(paths: Rows, redundancy: Rows) -> Table:
    """What the figures show, in numbers: skill entropies from the first iteration to the last, and
    the rank of Elo's leader by the number of copies against it."""
    view = table("The ratings paper's experiments", "where", "what", "result")
    for system, prompts, of in product(paper.System, PROMPT_SETTINGS, ("model", "prompt")):
        if len(curves := entropies(paths, of, system, prompts)):  # the run has come so far
            spread = f" ± {curves[:, -1].std(ddof=1):.3f}" if len(curves) > 1 else ""
            ends = f"{curves[:, 0].mean():.3f} → {curves[:, -1].mean():.3f}{spread}"
            what = f"{of} entropy under {STYLES[system][1]}, {prompts} prompts"
            add(view, "Fig. 1", what, f"{ends} nats ({plural(len(curves), 'trial')})")
    for near, rated_by in product((False, True), paper.RatingSystem) if redundancy else ():
        ranked = leader_ranks(redundancy, near, rated_by).items()
        what = f"rank by {'near' if near else 'exact'} copies, {STYLES[rated_by][1]}"
        listed = "; ".join(f"{copies}: {rank or '–'}" for copies, rank in ranked)
        add(view, "Fig. 11" if near else "Fig. 3", what, listed)
    return view


def select(rows: Rows, **facts: Any) -> list[Mapping[str, Any]]:
    """The rows with these values, by trial and iteration."""
    mine = [row for row in rows if facts.items() <= row.items()]
    return sorted(mine, key=lambda row: (int(row["trial"]), row.get("iteration", 0)))


def entropies(paths: Rows, of: str, system: str, prompts: str) -> Array:
    """(trials, iterations + 1) nats of ``of``, prompt or model."""
    rows = select(paths, system=system, prompt_setting=prompts)
    trials = len({row["trial"] for row in rows})
    return np.reshape([row[f"{of}_entropy"] for row in rows], (trials, -1) if trials else (0, 0))


def leader_ranks(redundancy: Rows, near: bool, system: str) -> dict[int, int | None]:
    """Rank of the model that the copies are against, by the number of exact or near copies; None
    if no equilibrium was reached."""
    ranks: dict[int, int | None] = {}
    for row in sorted(redundancy, key=lambda row: int(row["copies"])):
        is_of_kind = not row["copies"] or (row["jitter"] > 0) == near
        if is_of_kind and row["system"] == system and row["model"] == row["against"]:
            ranks[row["copies"]] = row["rank"]
    return ranks


# -- figures of the rows ---------------------------------------------------------------------------

STYLES = {
    paper.System.ELO: (series(1), "Elo"),
    paper.System.EQUILIBRIUM: (series(0), "equilibrium ratings"),
    paper.RatingSystem.NE: (series(0), "NE"),
    paper.RatingSystem.CCE: (series(2), "CCE"),
    paper.RatingSystem.NE_SHANNON: (f"dashed {series(0)}", "NE, Shannon"),
    paper.RatingSystem.CCE_SHANNON: (f"dashed {series(2)}", "CCE, Shannon"),
}
"""Class and name of each rating system's curves."""


def entropy_figure(paths: Rows) -> Element:
    """Fig. 1, centre: skill entropy by iteration, mean over trials; the line across is ln K."""
    every, legend = [], {}
    for of in ("model", "prompt"):
        curves = []
        for system, prompts in product(paper.System, PROMPT_SETTINGS):
            colour, name = STYLES[system]
            dash = "dashed " if prompts == "initial" else ""
            legend[f"{name}, {prompts} prompts"] = class_ = f"series {dash}{colour}"
            if len(trials := entropies(paths, of, system, prompts)):
                curves.append((range(trials.shape[1]), trials.mean(axis=0).tolist(), class_))
        labels, most = ("iteration", "nats"), [log(paths[0]["skills"])]
        every.append(Panel(f"Skill entropy of {of}s", labels, curves, most))
    title = "Skill entropy by iteration under Elo and under equilibrium ratings"
    return panels(title, every, legend, len(every), alike=True)


def sequence_figure(paths: Rows) -> Element:
    """Fig. 1, right, and 2: the share of each skill in each vector of one trial, in the order in
    which they entered, after the initial ones."""
    skills, every = paths[0]["skills"], []
    styles = {f"skill {number + 1}": f"series {series(number)}" for number in range(skills)}
    for system, of in product(paper.System, ("models", "prompts")):
        rows = select(paths, trial=0, system=system, prompt_setting="additional")
        vectors = np.reshape([value for row in rows for value in row[of] or ()], (-1, skills))
        shares = vectors / vectors.sum(axis=1, keepdims=True)
        curves = [
            (range(len(shares)), own.tolist(), class_)
            for own, class_ in zip(shares.T, styles.values(), strict=True)
        ]
        every.append(Panel(f"{of} under {STYLES[system][1]}", ("order", "share"), curves))
    title = "Models and prompts in the order in which they entered, skill by skill"
    return panels(title, every, styles, 2, alike=True)


def redundancy_figure(redundancy: Rows) -> Element:
    """Fig. 3 and 11: how many models are rated above the one that the copies are against; lines
    that coincide lie a little apart."""
    every = []
    for title in ("exact copies", "near copies"):
        curves = []
        for number, system in enumerate(paper.RatingSystem):
            ranked = leader_ranks(redundancy, title == "near copies", system).items()
            places = {copies: rank - 1 + 0.05 * number for copies, rank in ranked if rank}
            curves.append((list(places), list(places.values()), f"series {STYLES[system][0]}"))
        labels = "copies against Elo's leader", "models rated above it"
        every.append(Panel(title, labels, curves))
    legend = {STYLES[system][1]: f"series {STYLES[system][0]}" for system in paper.RatingSystem}
    title = "Models rated above the leader under Elo, by the number of tasks against it"
    return panels(title, every, legend, len(every), alike=True)
