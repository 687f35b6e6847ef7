"""Progress reports of a run, and how far it has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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
        self.console = console
        self.start = self.latest = time.monotonic()

    def say_after(self, silence: float, message: str) -> None:
        """Print a line if there was none for ``silence`` seconds."""
        if time.monotonic() - self.latest >= silence:
            self.say(message)

    def say(self, message: str) -> None:
        """Print a line."""
        self.latest = time.monotonic()
        head = f"[{self.latest - self.start:6.1f} s]"
        self.console.print(f"{head} {message}", highlight=False, markup=False, soft_wrap=True)


class Listener:
    """Receives reports of a run's progress, on which no result depends; this one tells nobody."""

    def candidate_list(self, generation: int, parent: Task, number: int) -> None:
        """A new list of candidates begins."""

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None:
        """``jobs`` jobs begin for these games."""

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics, note: str = "") -> None:
        """One fine-tune or evaluation is committed; ``tokens`` are the player's, ``scoring`` counts
        its judge's work, ``note`` is its result in words."""

    def decision(self, task: Task, decision: Decision) -> None:
        """A verdict is committed."""


def training_note(curve: Sequence[float]) -> str:
    """Mean score of training plays over the first and the last quarter of the steps, such as
    ``0.8 → 9.7 bits a play in training``."""
    if not curve:
        return "no step was made"
    quarter = max(1, len(curve) // 4)
    first, last = (sum(part) / quarter for part in (curve[:quarter], curve[-quarter:]))
    return f"{number(first, 1)} → {number(last, 1)} bits a play in training"


@dataclass
class RunProgress:
    """Progress of a run; times in seconds, tokens of the player."""

    expected_finetunes: int | None
    """None if no budget of candidates is set."""
    finetunes: int = 0
    """Number of fine-tunes that are made, in earlier sessions too."""
    limit_shares: Callable[[], Mapping[str, float]] = dict
    """Shares of the run's limits that are reached by now, by name."""
    seconds: float | None = None
    """``budget.seconds``, if set: seconds of work, which last no longer than as many by the
    clock."""
    tokens: int = 0
    start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._before = self.shares()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds of this session."""
        return time.monotonic() - self.start

    @property
    def count(self) -> str:
        """Number of fine-tunes done, such as: 3 of at most 12."""
        made, most = self.finetunes, self.expected_finetunes
        return f"{made}" if most is None else f"{made} of at most {max(most, made)}"

    def shares(self) -> dict[str, float]:
        """Shares that are done of the expected fine-tunes, and of every limit."""
        expected = self.expected_finetunes
        own = {"fine-tunes": self.finetunes / expected} if expected else {}
        return {**own, **self.limit_shares()}

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of this session: until the fine-tunes are made or a
        limit is reached, whichever comes first."""
        shares = self.shares()
        ends = [
            self.elapsed_seconds / (share - before) * max(0.0, 1 - share)
            for name, share in shares.items()
            if share > (before := self._before.get(name, 0.0))
        ]
        if self.seconds is not None:
            ends.append(self.seconds * max(0.0, 1 - shares[SECONDS]))
        return min(ends, default=None)
