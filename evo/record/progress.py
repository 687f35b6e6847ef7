"""Progress reports of a run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console

from archive.statistics.rule import Decision
from archive.text import number
from evo.jobs.evaluation import Task

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

    def job(self, stage: str, task: Task, tokens: int, note: str = "") -> None:
        """One fine-tune or evaluation is committed; ``tokens`` are the player's, ``note`` is its
        result in words."""

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
