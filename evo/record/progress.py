"""What a run reports while it works: to a terminal, to a log, or to nobody."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from archive.statistics.decision_rule import Decision
from evo.jobs.evaluate import Task
from xgl.judge.statistics import Statistics


class Listener(Protocol):
    """Hears of a run's progress; nothing that a run does depends on it."""

    def candidate_list(self, generation: int, parent: Task, number: int) -> None:
        """A new list of candidates begins."""

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None:
        """So many jobs begin for these games."""

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics) -> None:
        """One fine-tune or evaluation is committed; ``tokens`` are the player's, ``scoring`` says
        what its judge scored."""

    def decision(self, task: Task, decision: Decision) -> None:
        """A verdict is committed."""


class Silence:
    """A listener that reports to nobody."""

    def candidate_list(self, generation: int, parent: Task, number: int) -> None: ...

    def stage(self, name: str, tasks: Sequence[Task], jobs: int) -> None: ...

    def job(self, stage: str, task: Task, tokens: int, scoring: Statistics) -> None: ...

    def decision(self, task: Task, decision: Decision) -> None: ...


@dataclass
class StageProgress:
    """How far one stage is; times in seconds."""

    name: str
    jobs: int
    done: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of the jobs that are done; None before the first."""
        if not self.done:
            return None
        return (time.monotonic() - self.started) / self.done * (self.jobs - self.done)


@dataclass
class RunProgress:
    """How far a run is; times in seconds, tokens of the player."""

    expected_finetunes: int | None
    """None where no budget of candidates is set."""
    known_finetunes: int = 0
    """Those that the archive held when this session began."""
    started: float = field(default_factory=time.monotonic)
    tokens: int = 0
    finetunes: int = 0

    @property
    def elapsed(self) -> float:
        """Seconds of this session."""
        return time.monotonic() - self.started

    @property
    def share(self) -> float | None:
        """Share of the expected fine-tunes that is done."""
        if not self.expected_finetunes:
            return None
        return min(1.0, (self.finetunes + self.known_finetunes) / self.expected_finetunes)

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of this session's fine-tunes."""
        if self.expected_finetunes is None or not self.finetunes:
            return None
        left = max(0, self.expected_finetunes - self.finetunes - self.known_finetunes)
        return self.elapsed / self.finetunes * left
