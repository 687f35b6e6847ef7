"""Requests of a run: plays, fine-tunes and repeated play that its archive may lack, and how they
are grouped into jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from archive import Purpose
from archive.schema import PlaysKey, TaskId
from evo.jobs.evaluation import Task
from evo.record.progress import FINE_TUNING
from xgl.runtime.requests import Seeds

SeedSet = tuple[Seeds, ...]


@dataclass(frozen=True)
class PlayRequest:
    """One policy on one game on given seeds."""

    policy_id: str
    task: Task = field(hash=False)
    purpose: Purpose
    seeds: SeedSet

    @property
    def key(self) -> PlaysKey:
        """Key under which the ledger holds the plays."""
        return PlaysKey(self.policy_id, self.task.id, self.purpose)

    @property
    def scripted(self) -> bool:
        """Whether a script plays, rather than a model."""
        return self.key.scripted

    @property
    def stage(self) -> str:
        """Stage of these plays, as the display names it."""
        return "scripts" if self.scripted else self.purpose


@dataclass(frozen=True)
class TrainingRequest:
    """One fine-tune on a game; ``policy_id`` names it, ``repetition`` its training seed."""

    policy_id: str
    task: Task = field(hash=False)
    repetition: int
    stage: ClassVar[str] = FINE_TUNING


@dataclass(frozen=True)
class RoundsRequest:
    """Repeated play of a game by the base player."""

    task_id: TaskId
    task: Task = field(hash=False)
    stage: ClassVar[str] = "few-shot"


Request = PlayRequest | TrainingRequest | RoundsRequest
"""A fact that the ledger may lack."""
Pass = tuple[Request, ...]
"""The requests that one job answers."""


def passes_of(missing: Sequence[PlayRequest], most: int) -> list[list[PlayRequest]]:
    """The plays grouped into passes: the same game and seeds, at most ``most`` policies, or any
    number of scripts.

    Passes stand in the order of their first plays. A pass is committed as a whole, so a resumed run
    makes the same passes in the same order.
    """
    passes: list[list[PlayRequest]] = []
    filling: dict[tuple[Any, ...], list[PlayRequest]] = {}
    for plays in missing:
        key = plays.key[1:], plays.seeds, plays.scripted
        if key not in filling or (len(filling[key]) == most and not plays.scripted):
            filling[key] = []
            passes.append(filling[key])
        filling[key].append(plays)
    return passes
