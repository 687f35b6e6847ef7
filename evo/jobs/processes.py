"""Processes that compute jobs side by side, results in the order of the jobs; they end with the run
that started them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar

from evo.jobs.job import WorkersLostError

MOST_WORKERS = 8
MOST_LOSSES = 2
"""Times that a job's processes may be lost before the run ends."""
PR_SET_PDEATHSIG = 1
Key = TypeVar("Key")
Result = TypeVar("Result")


def end_with_parent() -> None:
    """Let this worker process end when the run is killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Workers:
    """``count`` processes; None: one for each core, at most eight. ``setting``: the key by which a
    user sets ``count``.

    If one dies (for example, killed by the system for its memory), the pool and its running jobs
    are lost; these jobs begin again in a new pool. A job is a function of its arguments, so only
    time is lost.
    """

    def __init__(self, count: int | None, setting: str) -> None:
        self.count = count or min(os.cpu_count() or 1, MOST_WORKERS)
        self.setting = setting
        self._pool: ProcessPoolExecutor | None = None

    def compute(
        self, jobs: Sequence[tuple[Key, Callable[[], Result]]]
    ) -> Iterator[tuple[Key, Result]]:
        """Each job's key and result. Raises what a job raises, and :class:`WorkersLostError`."""
        if min(self.count, len(jobs)) <= 1:
            for key, job in jobs:
                yield key, job()
            return
        futures, index, losses = self._submit(jobs), 0, 0
        while index < len(jobs):
            try:
                result = futures[index].result()
            except BrokenProcessPool as error:
                losses += 1
                self.close()
                if losses > MOST_LOSSES:
                    raise WorkersLostError(
                        f"worker processes died {losses} times, which may be for want of memory "
                        f"(fewer: {self.setting})"
                    ) from error
                lost = [n for n, future in enumerate(futures) if not _is_done(future)]
                for n, future in zip(lost, self._submit([jobs[n] for n in lost]), strict=True):
                    futures[n] = future
                continue
            yield jobs[index][0], result
            index, losses = index + 1, 0

    def close(self) -> None:
        """Stop the processes; running jobs are lost."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                with suppress(OSError):
                    process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _submit(self, jobs: Sequence[tuple[Key, Callable[[], Result]]]) -> list[Future[Result]]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, context, initializer=end_with_parent)
        return [self._pool.submit(job) for _, job in jobs]


def _is_done(future: Future[Any]) -> bool:
    return future.done() and not isinstance(future.exception(), BrokenProcessPool)
