"""The terminal output of a run: lines while it works."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from rich.console import Console

from archive.statistics.rule import Decision
from archive.text import number, plural
from evo.jobs.evaluation import Task
from xgl.analysis.plain_english import title

QUIET = 30.0
"""Seconds without a log line after which the next job that ends is one."""

log = logging.getLogger("evo")

FINE_TUNING = "fine-tuning"


class TimedLines:
    """Lines on a console, each with the seconds since the first moment."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.start = self.latest = time.monotonic()

    def say(self, message: str, state: str = "") -> None:
        """Print a line; ``state`` stands beside the seconds."""
        self.latest = time.monotonic()
        head = f"[{self.latest - self.start:6.1f} s{state}]"
        self.console.print(f"{head} {message}", soft_wrap=True)


def training_note(curve: Sequence[float]) -> str:
    """Mean score of training plays over the first and the last quarter of the steps, such as
    ``0.8 → 9.7 bits a play in training``."""
    if not curve:
        return "no step was made"
    quarter = max(1, len(curve) // 4)
    first, last = (sum(part) / quarter for part in (curve[:quarter], curve[-quarter:]))
    return f"{number(first, 1)} → {number(last, 1)} bits a play in training"


class Display(TimedLines):
    """Reports of a run's progress on a console, on which no result depends; without one, it tells
    nobody. ``finetunes``: those of earlier sessions."""

    def __init__(self, console: Console | None = None, finetunes: int = 0) -> None:
        super().__init__(console or Console(quiet=True))
        self.finetunes = finetunes
        self.stages = dict[str, list[int]]()
        """Jobs of each stage: begun, and ended."""
        self.tokens = self._unlogged_jobs = 0

    def candidate_list(self, parent: Task, number: int) -> None:
        """Show that a list of candidates begins."""
        self._log(f"list {number + 1} of new games like {_name(parent)}")

    def stage(self, name: str, tasks: Sequence[Task]) -> None:
        """Show that a stage begins, with a job for each of these games."""
        if tasks:
            self.stages[name] = [len(tasks), 0]
            if self._deserves_lines(name):
                labels = [*dict.fromkeys(task.id.label for task in tasks)]
                self._log(f"{name}: {' '.join(labels) if labels[1:] else _name(tasks[0])}")

    def job(self, stage: str, task: Task, tokens: int, note: str = "") -> None:
        """Count a job that is committed and show the progress of its stage; for a fine-tune also
        its result (``note``) and the progress of the run. ``tokens`` are the player's."""
        self.tokens += tokens
        self.stages[stage][1] += 1
        self._unlogged_jobs += 1
        head, (jobs, ended) = f"{stage} {task.id.label} ended", self.stages[stage]
        if stage == FINE_TUNING:
            self.finetunes += 1
            self._log(f"{stage} {_name(task)} ended, {note}; fine-tune {self.finetunes}")
        elif self._deserves_lines(stage):
            self._log(f"{head}, {ended} of {jobs}")
        elif time.monotonic() - self.latest >= QUIET:
            self._log(f"{head}, {plural(self._unlogged_jobs, 'job')} since the last line")

    def decision(self, task: Task, decision: Decision) -> None:
        """Show a verdict and its reason."""
        self._log(f"{decision.verdict}: {_name(task)}: {decision}")

    def _deserves_lines(self, stage: str) -> bool:
        """Whether every job of a stage gets a line. A single evaluation gets none, unless there was
        no line for a long time."""
        return self.stages[stage][0] > 1 or stage == FINE_TUNING

    def _log(self, message: str) -> None:
        self._unlogged_jobs = 0
        log.info(message)
        self.say(message, f", {plural(self.tokens, 'token')}")


def _name(task: Task) -> str:
    """What a game pays for, with its id."""
    return f"{title(task.game, task.role)} ({task.id.label})"
