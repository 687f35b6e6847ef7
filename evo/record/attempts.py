"""Which fine-tunes represent a game, and under which training seeds they were made.

An *attempt* at a game is one fine-tune, or ``finetune.replicates`` of them, under training seeds of
its own. Most games have one attempt. The outcome of a fine-tune is random, so a game may get more;
those that count in decisions are *in force*.
"""

from __future__ import annotations

from collections.abc import Sequence

from archive.schema import TaskId
from xgl.random_streams import seed as named_seed


class Attempts:
    """The attempts in force of every game of a run, the best first. An attempt is a number from 0;
    equal numbers have equal training seeds, for all games."""

    def __init__(self, run_seed: int, replicates: int) -> None:
        self.run_seed, self.replicates = run_seed, replicates
        self._in_force: dict[TaskId, tuple[int, ...]] = {}
        self._last: dict[TaskId, int] = {}
        self._counts: dict[TaskId, int] = {}

    def of(self, task_id: TaskId) -> tuple[int, ...]:
        """Attempts in force, the best first."""
        return self._in_force.get(task_id, (0,))

    def count(self, task_id: TaskId) -> int:
        """Number of attempts that the game had so far."""
        return self._counts.get(task_id, 1)

    def follow(self, task_id: TaskId, parent: TaskId) -> None:
        """Let a new game be fine-tuned under the training seeds of its parent's best attempt."""
        if task_id not in self._in_force:
            self._in_force[task_id] = self.of(parent)[:1]
            self._last[task_id] = self.of(parent)[0]

    def replace(self, task_id: TaskId) -> None:
        """Replace all attempts by a fresh one."""
        self._in_force[task_id] = (self.fresh(task_id),)

    def add(self, task_id: TaskId) -> None:
        """Add a fresh attempt, as the last."""
        self.put(task_id, self.fresh(task_id))

    def put(self, task_id: TaskId, number: int) -> None:
        """Add an attempt, as the last."""
        self._in_force[task_id] = (*self.of(task_id), number)

    def prefer(self, task_id: TaskId, ranks: Sequence[int]) -> None:
        """Keep the attempts in force of these ranks, in this order; drop the others."""
        self._in_force[task_id] = tuple(self.of(task_id)[rank] for rank in ranks)

    def repetition(self, task_id: TaskId, rank: int, replicate: int) -> int:
        """Number of the training seed of one fine-tune of the attempt of this rank."""
        return self.of(task_id)[rank] * self.replicates + replicate

    def training_seed(self, repetition: int) -> int:
        """The training seed itself, one for all games that are at this repetition."""
        return named_seed("training", self.run_seed, *([repetition] if repetition else []))

    def fresh(self, task_id: TaskId) -> int:
        """The number of a fresh attempt, which is not in force yet."""
        self._last[task_id] = self._last.get(task_id, 0) + 1
        self._counts[task_id] = self.count(task_id) + 1
        return self._last[task_id]
