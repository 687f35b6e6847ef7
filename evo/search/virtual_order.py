"""Processes that wait for work, in one order whatever the order in which workers finish.

A process is a generator: it yields works that it needs, and goes on when all of them are done.
Works are finished one pass after another, and only what is finished can be seen; meanwhile workers
may begin those that wait behind. The more urgent pass goes first, but no pass for ever: each one
finished brings those that wait nearer, so that what a process learns from its works is seen soon
enough for the next ones to be there when a worker is free. So the course of all processes is a
function of their works' results, never of speed or number of workers, and a run that is started
again and finds the first works in its archive takes the same course.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from evo.record.cost import Cost

WorkT = TypeVar("WorkT", bound=Hashable)
ResultT = TypeVar("ResultT")
Steps = Generator[Sequence[WorkT], None, ResultT]
"""A process, or a part of one: yields works that it waits for, and returns a result."""
Urgency = tuple[int, ...]
"""The smallest is the most urgent; the first number is its class."""
PATIENCE = 4
"""Passes finished that make up for one class of urgency."""


class Workshop(Protocol[WorkT]):
    """Does works."""

    def passes(self, works: Sequence[WorkT]) -> list[tuple[WorkT, ...]]:
        """``works`` in passes, each of which is done, and committed, as a whole."""
        ...

    def finish(self, passes: Sequence[tuple[WorkT, ...]]) -> Cost:
        """Do the first pass and commit it; those behind may be begun, the first ones first. Returns
        what the first pass cost."""
        ...


@dataclass
class _Waiting(Generic[WorkT]):
    """A process, and what it waits for."""

    process: Steps[WorkT, None]
    urgency: Urgency
    works: set[WorkT]


@dataclass
class VirtualOrder(Generic[WorkT]):
    """Runs processes on one workshop; ``spent`` is the cost of all that was finished."""

    workshop: Workshop[WorkT]
    spent: Cost = field(default_factory=Cost)
    _done: set[WorkT] = field(default_factory=set)
    _waiting: list[_Waiting[WorkT]] = field(default_factory=list)
    _passes: dict[tuple[WorkT, ...], Urgency] = field(default_factory=dict)
    """Those to be finished, in the order in which they were first needed, each with its turn: the
    number of passes finished by then, and its urgency."""
    _finished: int = 0

    def start(self, process: Steps[WorkT, None], urgency: Urgency) -> None:
        """Run a process up to the first works that are not done yet."""
        self._advance(_Waiting(process, urgency, set()))

    def run(self, manage: Callable[[], Iterator[ResultT]]) -> Iterator[ResultT]:
        """Finish passes while there are any; ``manage`` is called before each, may start processes,
        and yields what the caller is to see."""
        yield from manage()
        while self._passes:
            self._finish_next()
            yield from manage()

    def _finish_next(self) -> None:
        order = sorted(self._passes, key=lambda each: self._passes[each])  # stable
        self.spent += self.workshop.finish(order)
        self._finished += 1
        del self._passes[order[0]]
        self._done.update(order[0])
        for each in self._waiting:
            each.works.difference_update(order[0])
        ready = [each for each in self._waiting if not each.works]
        self._waiting = [each for each in self._waiting if each.works]
        for each in ready:
            self._advance(each)

    def _advance(self, waiting: _Waiting[WorkT]) -> None:
        """Let a process go on until it needs what is not done, or to its end."""
        for works in waiting.process:
            waiting.works = {work for work in works if work not in self._done}
            if waiting.works:
                self._request(list(dict.fromkeys(works)), waiting.urgency)
                self._waiting.append(waiting)
                return

    def _request(self, works: Sequence[WorkT], urgency: Urgency) -> None:
        """Put what is new among ``works`` into passes; passes that hold others are no less urgent
        than who waits for them."""
        turn = (self._finished + PATIENCE * urgency[0], *urgency)
        pending = {work: each for each in self._passes for work in each}
        for each in {pending[work]: None for work in works if work in pending}:
            self._passes[each] = min(self._passes[each], turn)
        new = [work for work in works if work not in self._done and work not in pending]
        if new:
            self._passes |= dict.fromkeys(self.workshop.passes(new), turn)
