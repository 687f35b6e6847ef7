"""Does the requests of processes on the workers, and commits their results in virtual order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo.jobs.results import Result
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.requests import Request

Group = tuple[Request, ...]
"""Requests that one job answers."""


class LedgerRunner:
    """A :class:`evo.growth.virtual_order.Runner`: what the ledger holds is done; free workers begin
    the rest, the most urgent first; results are committed in virtual order."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.executor = collector, collector.executor
        self._running: dict[Group, int] = {}
        self._results: dict[int | None, Result[Any]] = {}

    def groups(self, requests: Sequence[Request]) -> list[Group]:
        """The requests grouped as jobs do them."""
        return self.collector.groups(requests)

    def length(self, group: Group) -> float:
        """Expected duration of a group, in tokens of the player."""
        return sum(each.duration(self.collector) for each in group)

    def finish(self, groups: Sequence[Group]) -> Cost:
        """Commit the first group; give the groups after it to free workers."""
        first, ledger = groups[0], self.collector.ledger
        if missing := self._missing(first):
            result = self._result(first, groups)
            if not first[0].trains:
                self.collector.announce([missing])
            self.collector.store(missing, result)
        return sum((each.cost(ledger) for each in first), Cost())

    def _missing(self, group: Group) -> Group:
        """What the ledger does not hold: a game's own plays may stand in a group with new ones, and
        a second time they would be further rows."""
        return tuple(each for each in group if not each.known(self.collector.ledger))

    def _result(self, first: Group, groups: Sequence[Group]) -> Result[Any]:
        """The result of the first group. Workers that become free meanwhile begin later groups; the
        one that the first group itself leaves free begins no fine-tune, since the groups that this
        result makes possible are often more urgent than a fine-tune, and shorter."""
        while self._running.get(first) not in self._results:
            self._begin(groups)
            if event := self.executor.next_event():
                self._results[event[0]] = event[1]
                if event[0] == self._running.get(first):
                    self._begin([group for group in groups if not group[0].trains])
        return self._results.pop(self._running.pop(first))

    def _begin(self, groups: Sequence[Group]) -> None:
        """Give free workers the most urgent groups that none has begun."""
        for group in groups:
            trains = group[0].trains
            if group in self._running or not self.executor.has_room(trains):
                continue
            if missing := self._missing(group):
                if trains:
                    self.collector.announce([missing])
                job = missing[0].job(self.collector, missing)
                self._running[group] = self.executor.begin(job)
