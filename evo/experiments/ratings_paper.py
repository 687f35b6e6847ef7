"""``python -m evo.run +experiment=ratings_paper``: the ratings paper's simulated experiments, its
claims with our results, and its figures.

Each job is a commit; what is committed is not computed again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product, zip_longest
from math import log
from time import process_time
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, Strict
from rich.table import Table

from archive import Archive, RunEvent
from archive.charts import Panel, canvas, document, panels, series, text
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
from archive.views.tables import add, table
from evo.config.schema import NamedRun
from evo.jobs.job import Workers
from evo.record.display import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, RunSession, Services, SettledPlan
from xgl.diagram.svg import Element, el
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
        self.plan.console.print(claims_table(*rows))
        with writing(self.plan.folder):
            for name, content in figures(*rows).items():
                write_whole(self.plan.folder / name, content.encode())
        self.plan.console.print(f"figures  {self.plan.folder}", highlight=False, soft_wrap=True)


# -- claims ----------------------------------------------------------------------------------------

Rows = Sequence[Mapping[str, Any]]
SYSTEMS = ("elo", "equilibrium")
PROMPT_SETTINGS = ("initial", "additional")
Claim = tuple[str, str, str]
"""A place in the paper, what it claims there, and our result."""


def claims_table(paths: Rows, redundancy: Rows) -> Table:
    """Claims of all experiments that have rows, for a terminal."""
    view = table("The ratings paper's experiments", "where", "the paper says", "we find")
    for claim in [*_path_claims(paths), *_redundancy_claims(redundancy)]:
        add(view, *claim)
    return view


def figures(paths: Rows, redundancy: Rows) -> dict[str, str]:
    """Figures that have rows, as SVG documents by the name of their file."""
    drawn: dict[str, Element] = {}
    if paths:
        drawn = {"improvement.svg": entropy_figure(paths), "sequence.svg": sequence_figure(paths)}
    if redundancy:
        drawn["redundancy.svg"] = redundancy_figure(redundancy)
    return {name: document(each) for name, each in drawn.items()}


def entropies(paths: Rows, of: str, system: str, prompts: str) -> Array:
    """(trials, iterations + 1) nats of ``of``, prompt or model."""
    facts = {"system": system, "prompt_setting": prompts}
    by_trial: dict[int, list[float]] = {}
    for row in sorted(paths, key=lambda row: (row["trial"], row["iteration"])):
        if facts.items() <= row.items():
            by_trial.setdefault(row["trial"], []).append(row[f"{of}_entropy"])
    return np.array(list(by_trial.values()))


def leader_ranks(redundancy: Rows, jitter: float, copies: int, system: str) -> list[int | None]:
    """Rank of the model that the copies are against, trial by trial; None if no equilibrium was
    reached."""
    facts = {"jitter": jitter, "copies": copies, "system": system}
    mine = [r for r in redundancy if r["model"] == r["against"] and facts.items() <= r.items()]
    return [row["rank"] for row in sorted(mine, key=lambda row: int(row["trial"]))]


def _tables_of(redundancy: Rows, near: bool) -> list[tuple[float, int]]:
    """(jitter, copies) of exact or near copies, with the table without copies."""
    found = {(row["jitter"], row["copies"]) for row in redundancy}
    return sorted((j, n) for j, n in found if n == 0 or (j > 0) == near)


def _path_claims(paths: Rows) -> Iterator[Claim]:
    for system, prompts, of, words in (
        ("elo", "initial", "model", "Elo: model entropy falls with the initial prompts"),
        ("elo", "additional", "model", "more with additional prompts"),
        ("elo", "additional", "prompt", "Elo: prompt entropy falls too"),
        ("equilibrium", "initial", "model", "equilibrium: model entropy is preserved"),
        ("equilibrium", "additional", "model", "with additional prompts too"),
        ("equilibrium", "additional", "prompt", "equilibrium: prompt entropy is preserved"),
    ):
        curves = entropies(paths, of, system, prompts)
        if not len(curves):  # the run has not come so far
            continue
        spread = f" ± {curves[:, -1].std(ddof=1):.3f}" if len(curves) > 1 else ""
        ends = f"{curves[:, 0].mean():.3f} → {curves[:, -1].mean():.3f}{spread}"
        yield "Fig. 1", words, f"{ends} nats ({len(curves)} trials)"


def _redundancy_claims(redundancy: Rows) -> Iterator[Claim]:
    if not redundancy:
        return
    for near, where, words in ((False, "Fig. 3", _EXACT), (True, "Fig. 11", _NEAR)):
        for system, statement in words.items():
            tables = _tables_of(redundancy, near)
            found = [f"{n}: {_listed(leader_ranks(redundancy, j, n, system))}" for j, n in tables]
            yield where, statement, "; ".join(found)
    first = [r for r in redundancy if r["copies"] == 0 and r["system"] == RatingSystem.CCE]
    leading = Counter({row["trial"]: 0 for row in first})
    leading.update(row["trial"] for row in first if row["rank"] == 1)
    shared = [leading[trial] for trial in sorted(leading)]
    yield "Fig. 3", "under CCE the top three models tie", f"{_listed(shared)} at rank 1"


_EXACT = {
    RatingSystem.ELO: "Elo: the target falls from rank 1",
    RatingSystem.NE: "NE: ranks do not move",
    RatingSystem.CCE: "CCE: ranks do not move",
    RatingSystem.NE_SHANNON: "NE with Shannon entropy: they do",
    RatingSystem.CCE_SHANNON: "CCE with Shannon entropy: they do",
}
_NEAR = {
    RatingSystem.ELO: "Elo: skewed the more, the more near copies",
    RatingSystem.NE: "NE: degrades gracefully",
    RatingSystem.CCE: "CCE: degrades gracefully",
}


def _listed(values: Sequence[int | None]) -> str:
    return ", ".join("–" if value is None else str(value) for value in values)


# -- figures of the rows ---------------------------------------------------------------------------

STYLES = {
    "elo": (series(1), "Elo"),
    "equilibrium": (series(0), "equilibrium ratings"),
    RatingSystem.NE: (series(0), "NE"),
    RatingSystem.CCE: (series(2), "CCE"),
    RatingSystem.NE_SHANNON: (f"dashed {series(0)}", "NE, Shannon"),
    RatingSystem.CCE_SHANNON: (f"dashed {series(2)}", "CCE, Shannon"),
}
"""Class and name of each rating system's curves."""
CELL, LEFT = 13.0, 52.0
"""Side of a cell of a sequence, and the left edge of the first."""


def entropy_figure(paths: Rows) -> Element:
    """Fig. 1, centre: skill entropy by iteration, mean over trials; the line across is ln K."""
    every, legend = [], {}
    for of in ("model", "prompt"):
        curves = []
        for system, prompts in product(SYSTEMS, PROMPT_SETTINGS):
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
    """Fig. 1, right, and 2: each vector that entered in one trial is a column, each skill a row;
    the darker, the more of the vector's sum."""
    shapes: list[Element] = []
    width, y, skills = 420.0, 44.0, paths[0]["skills"]
    rows = sorted(paths, key=lambda row: int(row["iteration"]))
    for system, of in product(SYSTEMS, ("models", "prompts")):
        facts = {"trial": 0, "system": system, "prompt_setting": "additional"}
        mine = [row for row in rows if facts.items() <= row.items()]
        values = [value for row in mine for value in row[of] or ()]
        colour, name = STYLES[system]
        shapes += [text(LEFT, y - 10, f"{of} under {name}", "heading")]
        shapes += _cells(np.reshape(values, (-1, skills)), y, colour)
        width, y = max(width, LEFT + CELL * len(values) / skills), y + CELL * skills + 46
    about = "the initial vectors, then those that entered, in their order"
    shapes += [text(LEFT, y - 18, about, "axis")]
    title = "Models and prompts in the order in which they entered, skill by skill"
    return canvas((width + 20, y), title, *shapes, class_="sequence")


def _cells(vectors: Array, y: float, colour: str) -> Iterator[Element]:
    for skill in range(vectors.shape[1]):
        yield text(LEFT - 8, y + CELL * (skill + 0.8), f"skill {skill + 1}", "tick", "end")
    for (column, skill), value in np.ndenumerate(vectors):
        share = value / (vectors[column].sum() or 1.0)
        place = {"x": LEFT + CELL * column, "y": y + CELL * skill}
        size = {"width": CELL - 1, "height": CELL - 1}
        opacity = round(min(1.0, 0.04 + 1.3 * float(share)), 3)
        yield el("rect", **place, class_=f"solid {colour}", **size, opacity=opacity)


def redundancy_figure(redundancy: Rows) -> Element:
    """Fig. 3 and 11: how many models are rated above the one that the copies are against, mean over
    trials; lines that coincide lie a little apart."""
    every = []
    for title in ("exact copies", "near copies"):
        curves = []
        for number, system in enumerate(RatingSystem):
            places = {}
            for jitter, copies in _tables_of(redundancy, near=title == "near copies"):
                found = leader_ranks(redundancy, jitter, copies, system)
                if known := [rank for rank in found if rank is not None]:
                    places[copies] = float(np.mean(known)) - 1 + 0.05 * number
            curves.append((list(places), list(places.values()), f"series {STYLES[system][0]}"))
        labels = "copies against Elo's leader", "models rated above it"
        every.append(Panel(title, labels, curves))
    legend = {STYLES[system][1]: f"series {STYLES[system][0]}" for system in RatingSystem}
    title = "Models rated above the leader under Elo, by the number of tasks against it"
    return panels(title, every, legend, len(every), alike=True)
