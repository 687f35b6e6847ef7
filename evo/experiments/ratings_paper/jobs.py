"""Jobs of one process: a path of improvement, or ratings of one redundant table. A job is a
function of its fields, and its rows are one commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np

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
from evo.config.ratings_paper import PathConfig, RatingsPaperRunConfig, RedundancyConfig
from xgl.random_streams import seed as named_seed

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
