"""What the benchmarks share: words of a command, tables, the machine, fine-tunes and plays."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from archive.plays import Plays, floor_of
from archive.statistics.intervals import Interval
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds
from evo.jobs.executor import RayExecutor
from evo.jobs.job import Evaluation, Job, ScriptedEvaluation
from evo.jobs.model_host import ModelHost
from xgl.players.scripts import SCRIPTS

SETTING = re.compile(r"[+\w.]+=.*")


def command_line(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the docstring of a script, line by line."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parse(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, list[str]]:
    """Options, and the settings ``key=value``, wherever these stand among the words."""
    settings = [word for word in sys.argv[1:] if SETTING.fullmatch(word)]
    return parser.parse_args([word for word in sys.argv[1:] if word not in settings]), settings


# -- what is printed -------------------------------------------------------------------------------


def row(cells: Iterable[object]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def head(names: Sequence[str]) -> str:
    """The first two lines of a Markdown table."""
    return row(names) + "\n" + "| --- " * len(names) + "|"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of cells by column; numbers have three digits."""
    keys = list(dict.fromkeys(key for each in rows for key in each))
    lines = [[each.get(key, "") for key in keys] for each in rows]
    text = [[f"{c:,.3g}" if isinstance(c, float) else str(c) for c in line] for line in lines]
    return "\n".join([head(keys), *map(row, text)])


def bits(interval: Interval) -> str:
    return f"{interval.value:+.1f} [{interval.low:.1f}, {interval.high:.1f}]"


def upper_bound(count: int, trials: int, confidence: float) -> float:
    """Clopper and Pearson's one-sided upper bound on a rate."""
    return 1.0 if count == trials else float(stats.beta.ppf(confidence, count + 1, trials - count))


def describe_machine() -> str:
    """Processor or GPU, cores, versions: one line beside a table."""
    facts = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)", facts.read_text() if facts.exists() else "", re.M)
    processor, *_ = *names, platform.machine()
    where = f"{processor}, {os.cpu_count()} cores, {torch.get_num_threads()} threads"
    if torch.cuda.is_available():
        where = torch.cuda.get_device_name(0)
    return f"{where}; Python {platform.python_version()}, torch {torch.__version__}"


# -- fine-tunes and plays --------------------------------------------------------------------------


class Study:
    """Does jobs on all workers, or in this process; every policy plays the same maps, which are
    named by ``purpose`` and played by no run."""

    def __init__(self, config: RunConfig, purpose: str, in_process: bool = False) -> None:
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        self.config, self.purpose = config, purpose
        self.executor: ModelHost | RayExecutor
        if in_process:
            self.executor = ModelHost(settings)
        else:
            self.executor = RayExecutor(config.cluster, settings)

    def do(self, jobs: Sequence[Job[Any]]) -> list[Any]:
        """Outcomes, in order."""
        if isinstance(self.executor, ModelHost):
            return [self.executor.do(job).outcome for job in jobs]
        outcomes = []
        for result in self.executor.do(jobs):
            outcomes.append(result.outcome)
            print(f"\r{len(outcomes)} of {len(jobs)}", end="", file=sys.stderr, flush=True)
        return outcomes

    def close(self) -> None:
        """Stop the workers."""
        if isinstance(self.executor, RayExecutor):
            self.executor.close()

    def calibrate(self, task: Task) -> tuple[Task, float]:
        """The task with the score of its unfinished plays, and the base player's rate of these."""
        count = self.config.transfer.calibration_plays
        seeds = tuple(evaluation_seeds("calibration", self.config.seed, count))
        [[scores]] = self.do([Evaluation(replace(task, floor=0.0), (None,), (seeds,))])
        floor = floor_of([(each.outcome, each.score) for each in scores], task.game, task.role)
        unfinished_rate = sum(each.outcome != "finished" for each in scores) / count
        return replace(task, floor=floor), unfinished_rate

    def plays(self, pairs: Sequence[tuple[Task, bytes | None]], count: int) -> list[Plays]:
        """So many plays of each game by a fine-tune, or by the base player."""
        seeds = tuple(evaluation_seeds(self.purpose, self.config.seed, count))
        outcomes = self.do([Evaluation(task, (adapter,), (seeds,)) for task, adapter in pairs])
        return [sample(scores) for [scores] in outcomes]

    def script_plays(self, tasks: Sequence[Task], count: int) -> list[dict[str, Plays]]:
        """Of every script, by name, on each game."""
        seeds = tuple(evaluation_seeds(self.purpose, self.config.seed, count))
        outcomes = self.do([ScriptedEvaluation(task, tuple(SCRIPTS), seeds) for task in tasks])
        return [dict(zip(SCRIPTS, map(sample, scores), strict=True)) for scores in outcomes]


def sample(scores: Sequence[ScoredPlay]) -> Plays:
    """Plays as the statistics take them."""
    seeds = np.array([(each.seeds.map_seed, each.seeds.play_seed) for each in scores])
    own, permuted = [s.score for s in scores], [s.permuted_score for s in scores]
    return Plays(seeds, np.array(own), np.array(permuted, dtype=np.float64))
