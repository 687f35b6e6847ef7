"""Runs the passes of processes on the workers, and commits them in virtual order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo.jobs.job import Result
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.requests import Pass, Request, TrainingRequest


class LedgerPassRunner:
    """A :class:`evo.growth.virtual_order.PassRunner`: what the ledger holds is done; free workers
    begin the rest, the most urgent first; results are committed in virtual order."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.executor = collector, collector.executor
        self._running: dict[Pass, int] = {}
        self._results: dict[int | None, Result[Any]] = {}

    def passes(self, works: Sequence[Request]) -> list[Pass]:
        """The requests grouped as jobs do them."""
        return self.collector.passes(works)

    def length(self, one: Pass) -> float:
        """Expected duration of a pass, in tokens of the player."""
        return sum(map(self.collector.expected_duration, one))

    def finish(self, passes: Sequence[Pass]) -> Cost:
        """Commit the first pass; give the passes after it to free workers."""
        first = passes[0]
        if not all(map(self.collector.knows, first)):
            result = self._result(first, passes)
            if not _trains(first):
                self.collector.announce([first])
            self.collector.store(first, result)
        return sum(map(self.collector.cost, first), Cost())

    def _result(self, first: Pass, passes: Sequence[Pass]) -> Result[Any]:
        """The result of the first pass. Workers that become free meanwhile begin later passes; the
        one that the first pass itself leaves free begins no fine-tune, since the passes that this
        result makes possible are often more urgent than a fine-tune, and shorter."""
        while self._running.get(first) not in self._results:
            self._begin(passes)
            if event := self.executor.next_event():
                self._results[event[0]] = event[1]
                if event[0] == self._running.get(first):
                    self._begin([one for one in passes if not _trains(one)])
        return self._results.pop(self._running.pop(first))

    def _begin(self, passes: Sequence[Pass]) -> None:
        """Give free workers the most urgent passes that none has begun."""
        for one in passes:
            if one in self._running or not self.executor.has_room(_trains(one)):
                continue
            if not all(map(self.collector.knows, one)):
                if _trains(one):
                    self.collector.announce([one])
                self._running[one] = self.executor.begin(self.collector.job(one))


def _trains(one: Pass) -> bool:
    return isinstance(one[0], TrainingRequest)
