"""Processes: generators that yield the requests they need, continue once all of these are done, and
return a result.

The two orders of a growth are written over them, so that neither knows who does requests, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from typing import TypeVar

RequestT = TypeVar("RequestT", bound=Hashable)
RequestT_co = TypeVar("RequestT_co", bound=Hashable, covariant=True)
ResultT = TypeVar("ResultT")
Steps = Generator[Sequence[RequestT], None, ResultT]


def run(process: Steps[RequestT, ResultT], do: Callable[[Sequence[RequestT]], object]) -> ResultT:
    """Run a process to its end; ``do`` does requests and returns when all of them are done."""
    while True:
        try:
            requests = next(process)
        except StopIteration as end:
            return end.value
        do(requests)


def together(processes: Sequence[Steps[RequestT, ResultT]]) -> Steps[RequestT, list[ResultT]]:
    """Run processes side by side: the requests of one step of all of them are done together.
    Returns their results, in their order."""
    results: dict[int, ResultT] = {}
    while len(results) < len(processes):
        requests: list[RequestT] = []
        for index, process in enumerate(processes):
            if index in results:
                continue
            try:
                requests += next(process)
            except StopIteration as end:
                results[index] = end.value
        if requests:
            yield requests
    return [results[index] for index in range(len(processes))]
