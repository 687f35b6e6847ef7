"""Slow results that wait more than they compute: the next few are made in threads meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


class Ahead(Generic[Result]):
    """Results of ``jobs`` by name; a process of the tests starts only those that it needs, and the
    ``at_once`` after each of them."""

    def __init__(self, jobs: Mapping[str, Callable[[], Result]], at_once: int) -> None:
        self.jobs, self.at_once = jobs, at_once
        self.futures: dict[str, Future[Result]] = {}

    def __enter__(self) -> Self:
        self.pool = ThreadPoolExecutor(self.at_once)
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown()

    def of(self, name: str) -> Result:
        names = list(self.jobs)
        for each in names[names.index(name) :][: self.at_once]:
            if each not in self.futures:
                self.futures[each] = self.pool.submit(self.jobs[each])
        return self.futures[name].result()
