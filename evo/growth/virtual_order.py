"""A deterministic schedule: the order in which processes see results does not depend on the order
in which workers finish.

Requests are done in groups; a group is finished, and its results become visible, as a whole. Groups
are finished in the order of a simulation: ``workers`` virtual workers, each of which takes the most
urgent group when it becomes free and keeps it for the expected duration. With as many real workers,
results become visible soon after they exist, and the requests that follow keep the workers busy.

Groups that share their passes, fine-tunes in lockstep, are begun together: they wait for one
another while other groups keep the virtual workers busy, until they fill the passes of one worker.

The course of all processes is a function of the results and of the number of virtual workers, never
of the speed or number of real ones. A resumed run, which finds the first results in its archive,
takes the same course.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

from evo.record.budget import Cost
from evo.record.steps import RequestT, ResultT, Steps

Urgency = tuple[int, ...]
"""The smallest is the most urgent."""


class Runner(Protocol[RequestT]):
    """Does requests. ``joined_most``: requests of joining groups that one worker does at once."""

    joined_most: int

    def joins(self, group: tuple[RequestT, ...]) -> bool:
        """Whether a group can be done together with others of which this is true as well."""

    def groups(self, requests: Sequence[RequestT]) -> list[tuple[RequestT, ...]]:
        """``requests`` in groups, each of which is done, and committed, as a whole."""

    def length(self, group: tuple[RequestT, ...]) -> float:
        """Expected duration of a group, in a unit of the runner's own."""

    def finish(self, groups: Sequence[tuple[RequestT, ...]]) -> Cost:
        """Do the first group and commit it; free workers may begin the later groups, in this order.
        Returns the cost of the first group."""


@dataclass
class VirtualOrder(Generic[RequestT]):
    """Runs processes on one runner in the order of ``workers`` virtual workers; ``total_cost`` is
    the cost of all finished groups."""

    runner: Runner[RequestT]
    workers: int = 1
    total_cost: Cost = field(default_factory=Cost)
    _done: set[RequestT] = field(default_factory=set)
    _waiting: list[tuple[Steps[RequestT, None], Urgency, set[RequestT]]] = field(
        default_factory=list
    )
    """Processes, and the requests that each waits for."""
    _groups: dict[tuple[RequestT, ...], Urgency] = field(default_factory=dict)
    """Groups that no virtual worker has begun, in the order in which they were first needed."""
    _running: dict[tuple[RequestT, ...], float] = field(default_factory=dict)
    """Groups that a virtual worker has begun, in that order, with the time of their end."""
    _time: float = 0.0

    def start(self, process: Steps[RequestT, None], urgency: Urgency) -> None:
        """Run a process up to requests that are not done yet, or to its end."""
        for requests in process:
            if missing := set(requests) - self._done:
                self._request(list(dict.fromkeys(requests)), urgency)
                self._waiting.append((process, urgency, missing))
                return

    def run(self, manage: Callable[[], Iterator[ResultT]]) -> Iterator[ResultT]:
        """Finish groups while there are any; ``manage`` is called before each; it may start
        processes, and what it yields is yielded to the caller."""
        yield from manage()
        while self._groups or self._running:
            self._finish_next()
            yield from manage()

    def _finish_next(self) -> None:
        while self._groups and len(self._running) < self.workers:
            one = self._begin_next()
            self._running[one] = self._time + self.runner.length(one)
        order = sorted(self._running, key=lambda each: self._running[each])
        _, others = self._waiting_groups()
        # Which groups join is decided when a virtual worker is free: no real one begins any before.
        self.total_cost += self.runner.finish(order + others)
        first = order[0]
        self._time = self._running.pop(first)
        self._done.update(first)
        for _, _, requests in self._waiting:
            requests.difference_update(first)
        ready = [each[:2] for each in self._waiting if not each[2]]
        self._waiting = [each for each in self._waiting if each[2]]
        for process, urgency in ready:
            self.start(process, urgency)

    def _waiting_groups(self) -> tuple[list[tuple[RequestT, ...]], list[tuple[RequestT, ...]]]:
        """The groups that no virtual worker has begun: those that join, and the others; of each the
        most urgent first."""
        ranking = sorted(self._groups, key=lambda each: self._groups[each])  # stable
        joining = [each for each in ranking if self.runner.joins(each)]
        return joining, [each for each in ranking if each not in joining]

    def _begin_next(self) -> tuple[RequestT, ...]:
        """Take the next group for a virtual worker. Those that join are spread over the workers
        that have none, now or when their plays end, which are short."""
        joining, others = self._waiting_groups()
        count = sum(map(len, joining))
        free = self.workers - sum(map(self.runner.joins, self._running))
        is_full = count >= self.runner.joined_most
        if not joining or (
            others and not (is_full and self._groups[joining[0]] <= self._groups[others[0]])
        ):
            del self._groups[others[0]]
            return others[0]
        most, taken = min(self.runner.joined_most, -(-count // free)), list[RequestT]()
        for each in joining:
            if not taken or len(taken) + len(each) <= most:
                taken += each
                del self._groups[each]
        return tuple(taken)

    def _request(self, requests: Sequence[RequestT], urgency: Urgency) -> None:
        """Put new requests into groups; existing groups that hold some of ``requests`` become at
        least as urgent as the process that waits for them."""
        pending = {request: one for one in (*self._groups, *self._running) for request in one}
        for each in {pending[request]: None for request in requests if request in pending}:
            if each in self._groups:
                self._groups[each] = min(self._groups[each], urgency)
        new = [each for each in requests if each not in self._done and each not in pending]
        if new:
            self._groups |= dict.fromkeys(self.runner.groups(new), urgency)
