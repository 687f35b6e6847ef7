"""The terminal output of a run: while it works a live panel, or plain log lines if there is no
terminal; at its end a summary of its results."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from archive import Run
from archive.statistics.rule import Decision
from archive.text import clock, number, percent, plural
from archive.views.kept_games import gather, show
from archive.views.tables import add, table
from evo.jobs.evaluation import Task
from evo.record.ledger import Ledger
from evo.record.progress import FINE_TUNING, RunProgress, StageProgress
from xgl.analysis.titles import title
from xgl.judge.statistics import Statistics

LATEST = 3
"""Fine-tunes whose outcome the panel shows."""
QUIET = 30.0
"""Seconds without a log line after which the next job that ends is one."""

log = logging.getLogger("evo")


class Display:
    """The listener that writes to a console; a context manager. ``console.is_terminal`` decides
    between panel and log lines."""

    def __init__(self, console: Console, title: str, progress: RunProgress) -> None:
        self.console, self.title, self.progress = console, title, progress
        self.scoring = Statistics()
        self.where, self.games = "the games that it begins with", ""
        self.current = StageProgress("loading models", 0)
        self.stages: dict[str, StageProgress] = {}
        self.verdicts: Counter[str] = Counter()
        self.finetune_notes: deque[str] = deque(maxlen=LATEST)
        self._last_line = progress.elapsed_seconds
        self._unlogged_jobs = 0
        self._live = Live(
            console=console, get_renderable=self.panel, refresh_per_second=2, transient=True
        )

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the panel, before other code writes lines."""
        if self.console.is_terminal:
            self._live.stop()

    # -- what happens ------------------------------------------------------------------------

    def candidate_list(self, generation: int, parent: Task, number: int) -> None:
        """Show that a list of candidates begins."""
        self.where = f"list {number + 1} of new games like {_name(parent)}"
        self._log(self.where)

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None:
        """Show that a stage begins, and for which games."""
        if not jobs:
            return
        self.current = self.stages[name] = StageProgress(name, jobs)
        self.games = " ".join(dict.fromkeys(task.id.label for task in tasks))
        if self._deserves_lines(self.current):
            self._log(f"{name}: {self.games}")

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics, note: str = "") -> None:
        """Count a job and show the progress of its stage; for a fine-tune also its result and the
        progress of the run."""
        self.scoring += scoring
        self.progress.tokens += tokens
        self.current = self.stages[stage]
        self.current.jobs_done += 1
        pace = _pace(self.current, self.progress.remaining)
        if stage == FINE_TUNING:
            self.progress.finetunes += 1
            self.finetune_notes.append(f"{task.id.label}: {note}")
            pace = f"{note}; fine-tune {self.progress.count}{_end(self.progress)}"
        self._unlogged_jobs += 1
        if self._deserves_lines(self.current):
            self._log(f"{stage} {task.id.label} ended, {pace}")
        elif self.progress.elapsed_seconds - self._last_line >= QUIET:
            jobs = f"{plural(self._unlogged_jobs, 'job')} since the last line"
            self._log(f"{stage} {task.id.label} ended, {jobs}{_end(self.progress)}")

    def decision(self, task: Task, decision: Decision) -> None:
        """Count a verdict and show its reason."""
        verdict = str(decision.verdict)
        self.verdicts[verdict] += 1
        self._log(f"{verdict}: {_name(task)}: {decision}")

    def _deserves_lines(self, stage: StageProgress) -> bool:
        """Whether every job of a stage gets a line. A single evaluation gets none, unless there was
        no line for a long time."""
        return stage.jobs > 1 or stage.name == FINE_TUNING

    # -- how it looks ------------------------------------------------------------------------

    def _log(self, message: str) -> None:
        self._last_line, self._unlogged_jobs = self.progress.elapsed_seconds, 0
        log.info(message)
        if not self.console.is_terminal:
            tokens = plural(self.progress.tokens, "token")
            line = f"[{self.progress.elapsed_seconds:6.1f} s, {tokens}] {message}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def panel(self) -> Group:
        """The live panel of the terminal."""
        progress = self.progress
        grid = Table.grid(padding=(0, 2))
        grid.add_row("where", self.where)
        pace = f", {_pace(self.current, progress.remaining)}" if self.current.jobs else ""
        grid.add_row("stage", f"{self.current.name}{pace}")
        grid.add_row("games", Text(self.games, overflow="ellipsis", no_wrap=True))
        for index, line in enumerate(self.finetune_notes):
            grid.add_row("" if index else "fine-tuned", line)
        verdicts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
        grid.add_row("verdicts", verdicts or "none yet")
        grid.add_row("fine-tunes", f"{progress.count}, {plural(progress.tokens, 'token')}")
        end = _end(progress) or ", end unknown"
        grid.add_row("time", f"{clock(progress.elapsed_seconds)} elapsed{end}")
        bar = ProgressBar(total=1.0, completed=progress.share or 0.0, width=40)
        return Group(Text(self.title, style="bold"), grid, bar)


def _name(task: Task) -> str:
    """What a game pays for, with its id."""
    return f"{title(task.game, task.role)} ({task.id.label})"


def _pace(stage: StageProgress, run: float | None) -> str:
    """Progress of a stage, such as: 2 of 5, about 0:40 to go; it ends with the ``run``."""
    if (seconds := stage.remaining) is None:
        return f"{stage.jobs_done} of {stage.jobs}"
    to_go = f", about {clock(seconds if run is None else min(seconds, run))} to go"
    return f"{stage.jobs_done} of {stage.jobs}{to_go}"


def _end(progress: RunProgress) -> str:
    """The end, such as: , at most about 3:20 to go, until 14:32; empty if it is not known."""
    if progress.remaining is None:
        return ""
    end = datetime.now() + timedelta(seconds=progress.remaining)
    return f", at most about {clock(progress.remaining)} to go, until {end:%H:%M}"


def show_summary(console: Console, ledger: Ledger, scoring: Statistics, run: str) -> None:
    """Print the accepted games and why, verdicts by reason, and costs by stage.

    ``scoring``: the judge's work in this session, which no table of the archive holds. ``run``: the
    run's name in commands.
    """
    if ledger.newest_scope:
        show(gather(Run(ledger.archive, ledger.run_id)), console, run)
        console.print()
    if ledger.decisions:
        console.print(_verdict_table(ledger))
    console.print(_cost_table(ledger))
    if scoring.requested:
        console.print(_judge_line(scoring), highlight=False, soft_wrap=True)


def _verdict_table(ledger: Ledger) -> Table:
    view = table("Verdicts", "verdict", "reason", "decided", "games")
    counts = Counter(
        (row["verdict"], row["reason"], "yes" if row["decided"] else "no")
        for row in ledger.decisions.values()
    )
    for cells, count in sorted(counts.items()):
        add(view, *cells, count)
    return view


def _cost_table(ledger: Ledger) -> Table:
    view = table("Cost by stage", "stage", "tokens", "seconds of work")
    for stage, cost in sorted(ledger.costs().items()):
        add(view, stage, f"{cost.tokens:,}", number(cost.seconds, 1))
    return view


def _judge_line(scoring: Statistics) -> str:
    """Number of requested tokens, and of those that the judge had to read."""
    return (
        f"judge    {scoring.requested_tokens:,} tokens requested, {scoring.read_tokens:,} read; of "
        f"{scoring.requested - scoring.duplicates:,} different strings "
        f"{percent(scoring.hit_rate)} cached"
    )
