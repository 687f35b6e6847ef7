"""Progress reports of a run: to a terminal, to a log, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console

from archive.statistics.rule import Decision
from archive.text import number
from evo.jobs.evaluation import Task
from xgl.judge.statistics import Statistics

SECONDS = "budget.seconds"
"""The limit of seconds of work, as budgets name it."""
FINE_TUNING = "fine-tuning"
"""Name of the stage of fine-tunes."""


class TimedLines:
    """Lines on a console, each with the seconds since the first moment."""

    def __init__(self, console: Console) -> None:
        self.console, self.start = console, time.monotonic()

    def say(self, message: str) -> None:
        """Print a line."""
        head = f"[{time.monotonic() - self.start:6.1f} s]"
        self.console.print(f"{head} {message}", highlight=False, markup=False, soft_wrap=True)


class Listener(Protocol):
    """Receives reports of a run's progress; results do not depend on it."""

    def candidate_list(self, generation: int, parent: Task, number: int) -> None:
        """A new list of candidates begins."""

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None:
        """``jobs`` jobs begin for these games."""

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics, note: str = "") -> None:
        """One fine-tune or evaluation is committed; ``tokens`` are the player's, ``scoring`` counts
        its judge's work, ``note`` is its result in words."""

    def decision(self, task: Task, decision: Decision) -> None:
        """A verdict is committed."""


class NullListener:
    """A listener that reports nothing."""

    def candidate_list(self, generation: int, parent: Task, number: int) -> None: ...

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None: ...

    def job(
        self, stage: str, task: Task, tokens: int, scoring: Statistics, note: str = ""
    ) -> None: ...

    def decision(self, task: Task, decision: Decision) -> None: ...


def training_note(curve: Sequence[float]) -> str:
    """Mean score of training plays over the first and the last quarter of the steps, such as
    ``0.8 → 9.7 bits a play in training``."""
    if not curve:
        return "no step was made"
    quarter = max(1, len(curve) // 4)
    first, last = (sum(part) / quarter for part in (curve[:quarter], curve[-quarter:]))
    return f"{number(first, 1)} → {number(last, 1)} bits a play in training"


@dataclass
class StageProgress:
    """Progress of one stage; times in seconds."""

    name: str
    jobs: int
    jobs_done: int = 0
    start: float = field(default_factory=time.monotonic)

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of the jobs that are done; None before the first."""
        if not self.jobs_done:
            return None
        return (time.monotonic() - self.start) / self.jobs_done * (self.jobs - self.jobs_done)


@dataclass
class RunProgress:
    """Progress of a run; times in seconds, tokens of the player."""

    expected_finetunes: int | None
    """None if no budget of candidates is set."""
    known_finetunes: int = 0
    """Number of fine-tunes in the archive when this session began."""
    start: float = field(default_factory=time.monotonic)
    tokens: int = 0
    finetunes: int = 0
    limit_shares: Callable[[], Mapping[str, float]] = dict
    """Shares of the run's limits that are reached by now, by name."""
    shares_before: Mapping[str, float] = field(default_factory=dict)
    """The same when this session began."""
    seconds: float | None = None
    """``budget.seconds``, if set: seconds of work, which last no longer than as many by the
    clock."""

    @property
    def elapsed_seconds(self) -> float:
        """Seconds of this session."""
        return time.monotonic() - self.start

    @property
    def count(self) -> str:
        """Number of fine-tunes done, such as: 3 of at most 12."""
        finetunes = self.finetunes + self.known_finetunes
        most = self.expected_finetunes
        return f"{finetunes}" if most is None else f"{finetunes} of at most {max(most, finetunes)}"

    @property
    def share(self) -> float | None:
        """Share of the expected fine-tunes that is done, or of a limit that is reached, whichever
        is larger; None without any."""
        shares = [*self.limit_shares().values()]
        if self.expected_finetunes:
            shares.append((self.finetunes + self.known_finetunes) / self.expected_finetunes)
        return min(1.0, max(shares)) if shares else None

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of this session: until the fine-tunes are made or a
        limit is reached, whichever comes first."""
        shares, ends = self.limit_shares(), []
        if self.seconds is not None:
            ends.append(self.seconds * max(0.0, 1 - shares[SECONDS]))
        if self.expected_finetunes is not None and self.finetunes:
            missing = max(0, self.expected_finetunes - self.finetunes - self.known_finetunes)
            ends.append(self.elapsed_seconds / self.finetunes * missing)
        for name, share in shares.items():
            progress = share - self.shares_before.get(name, 0.0)
            if progress > 0:
                ends.append(self.elapsed_seconds / progress * max(0.0, 1 - share))
        return min(ends, default=None)
