"""The terminal output of a run: lines while it works, on a terminal above a bar; at its end a
summary of its results."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from archive import Run
from archive.report.games import gather_games
from archive.report.summary import show
from archive.statistics.rule import Decision
from archive.statistics.second_judge import read_survivals
from archive.text import clock, percent, plural
from evo.jobs.evaluation import Task
from evo.record.ledger import Ledger
from evo.record.progress import FINE_TUNING, Listener, RunProgress
from xgl.analysis.plain_english import title
from xgl.judge.statistics import Statistics

QUIET = 30.0
"""Seconds without a log line after which the next job that ends is one."""

log = logging.getLogger("evo")


class Display(Listener):
    """The listener that writes to a console; a context manager."""

    def __init__(self, console: Console, title: str, progress: RunProgress) -> None:
        self.console, self.progress = console, progress
        self.scoring, self.stages = Statistics(), dict[str, list[int]]()
        """Jobs of each stage: begun, and ended."""
        self._last_line, self._unlogged_jobs = progress.elapsed_seconds, 0
        columns = TextColumn("{task.description}", markup=False), BarColumn()
        self._bar = Progress(*columns, console=console, transient=True)
        self._bar_task = self._bar.add_task(title, total=1.0)

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._bar.stop()

    def candidate_list(self, generation: int, parent: Task, number: int) -> None:
        """Show that a list of candidates begins."""
        self._log(f"list {number + 1} of new games like {_name(parent)}")

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None:
        """Show that a stage begins, and for which games."""
        if jobs:
            self.stages[name] = [jobs, 0]
        if jobs and self._deserves_lines(name):
            self._log(f"{name}: {' '.join(dict.fromkeys(task.id.label for task in tasks))}")

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics, note: str = "") -> None:
        """Count a job and show the progress of its stage; for a fine-tune also its result and the
        progress of the run."""
        self.scoring += scoring
        self.progress.tokens += tokens
        self.stages[stage][1] += 1
        self._unlogged_jobs += 1
        head, (jobs, ended) = f"{stage} {task.id.label} ended", self.stages[stage]
        if stage == FINE_TUNING:
            self.progress.finetunes += 1
            self._log(f"{head}, {note}; fine-tune {self.progress.count}{self._end()}")
        elif self._deserves_lines(stage):
            self._log(f"{head}, {ended} of {jobs}")
        elif self.progress.elapsed_seconds - self._last_line >= QUIET:
            since = f"{plural(self._unlogged_jobs, 'job')} since the last line"
            self._log(f"{head}, {since}{self._end()}")
        self._bar.update(self._bar_task, completed=max(self.progress.shares().values(), default=0))

    def decision(self, task: Task, decision: Decision) -> None:
        """Show a verdict and its reason."""
        self._log(f"{decision.verdict}: {_name(task)}: {decision}")

    def _deserves_lines(self, stage: str) -> bool:
        """Whether every job of a stage gets a line. A single evaluation gets none, unless there was
        no line for a long time."""
        return self.stages[stage][0] > 1 or stage == FINE_TUNING

    def _log(self, message: str) -> None:
        self._last_line, self._unlogged_jobs = self.progress.elapsed_seconds, 0
        log.info(message)
        tokens = plural(self.progress.tokens, "token")
        line = f"[{self.progress.elapsed_seconds:6.1f} s, {tokens}] {message}"
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _end(self) -> str:
        """The end, such as: , at most about 3:20 to go, until 14:32; empty if it is not known."""
        if (seconds := self.progress.remaining) is None:
            return ""
        end = datetime.now() + timedelta(seconds=seconds)
        return f", at most about {clock(seconds)} to go, until {end:%H:%M}"


def _name(task: Task) -> str:
    """What a game pays for, with its id."""
    return f"{title(task.game, task.role)} ({task.id.label})"


def show_summary(console: Console, ledger: Ledger, scoring: Statistics, run: str) -> None:
    """Print the accepted games and why.

    ``scoring``: the judge's work in this session, which no table of the archive holds. ``run``: the
    run's name in commands.
    """
    if ledger.newest_scope:
        kept = Run(ledger.archive, ledger.run_id)
        show(gather_games(kept)[0], read_survivals(kept), console, run)
        console.print()
    if scoring.requested:
        strings = scoring.requested - scoring.duplicates
        line = (
            f"judge    {scoring.requested_tokens:,} tokens requested, {scoring.read_tokens:,} "
            f"read; of {strings:,} different strings {percent(scoring.hit_rate)} cached"
        )
        console.print(line, highlight=False, soft_wrap=True)
