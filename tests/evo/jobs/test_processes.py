"""Processes beside the run."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from evo.jobs.job import WorkersLostError
from evo.jobs.processes import Workers


def dies_once(marker: Path, value: int) -> int:
    """A job whose process is killed the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def dies(value: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def test_a_lost_worker_process_costs_time_and_no_result(tmp_path: Path) -> None:
    workers = Workers(2, "some.workers")
    jobs = [(n, partial(dies_once, tmp_path / str(n % 2), n)) for n in range(4)]
    try:
        assert list(workers.compute(jobs)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
        with pytest.raises(WorkersLostError, match=r"died 3 times.*\(fewer: some.workers\)"):
            list(workers.compute([("one", partial(dies, 1)), ("two", partial(dies, 2))]))
    finally:
        workers.close()


def test_a_single_process_computes_in_order_without_others() -> None:
    workers = Workers(1, "some.workers")
    assert list(workers.compute([("a", partial(max, 1, 2)), ("b", os.getpid)])) == [
        ("a", 2),
        ("b", os.getpid()),
    ]
