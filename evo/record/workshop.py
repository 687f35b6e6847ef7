"""The workers and the ledger as a workshop for processes in virtual order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evo.jobs.job import Result
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.requests import Pass, Request, TrainingRequest


class LedgerWorkshop:
    """A :class:`evo.search.virtual_order.Workshop`: what the ledger holds is done; free workers
    begin the rest, the most urgent first; results are committed in virtual order."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.executor = collector, collector.executor
        self._running: dict[Pass, int] = {}
        self._results: dict[int | None, Result[Any]] = {}

    def passes(self, works: Sequence[Request]) -> list[Pass]:
        """The requests grouped as jobs do them."""
        return self.collector.passes(works)

    def length(self, one: Pass) -> float:
        """Expected duration of a pass, in plays of a model."""
        return sum(map(self.collector.expected_plays, one))

    def finish(self, passes: Sequence[Pass]) -> Cost:
        """Commit the first pass; give the passes after it to free workers."""
        first = passes[0]
        if not all(map(self.collector.knows, first)):
            result = self._result(first, passes)
            if not isinstance(first[0], TrainingRequest):
                self.collector.announce([first])
            self.collector.store(first, result)
        return sum(map(self.collector.cost, first), Cost())

    def _result(self, first: Pass, passes: Sequence[Pass]) -> Result[Any]:
        self._begin(passes)
        while self._running.get(first) not in self._results:
            if event := self.executor.next_event():
                self._results[event[0]] = event[1]
            self._begin(passes)
        return self._results.pop(self._running.pop(first))

    def _begin(self, passes: Sequence[Pass]) -> None:
        """Give free workers the most urgent passes that none has begun."""
        for one in passes:
            trains = isinstance(one[0], TrainingRequest)
            if one in self._running or not self.executor.has_room(trains):
                continue
            if not all(map(self.collector.knows, one)):
                if trains:
                    self.collector.announce([one])
                self._running[one] = self.executor.begin(self.collector.job(one))
