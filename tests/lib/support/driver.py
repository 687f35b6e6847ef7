"""The entry on the toy oracle: drivers that are processes of their own, to be killed.

It is ``python -m evo.run`` but for Ray's workers: a executor that knows the true gains of every
game answers in their place, after a pause that leaves time to be killed in. Each driver is forked
from a process that has imported everything, so that it starts at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.search import PARENT, FakeExecutor, by_hash, code, services

import evo.run
from archive import TABLES, Archive
from evo.jobs.job import Job, Result

PAUSE = 0.02
"""Seconds for a job."""
GROWING = (
    *("+experiment=scope_growth", "growth.initial_scope=[parent.xent]", "growth.schedule=paper"),
    *("growth.generations=3", "growth.list_size=4", "growth.max_candidates=24"),
    *("transfer.calibration_plays=8", "transfer.selection_plays=[8,16]"),
    *("transfer.acceptance_plays=[16,32]", "archive.root=runs"),
)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["support.driver"])


class SlowExecutor(FakeExecutor):
    def do(self, jobs: Sequence[Job[Any]]) -> Iterator[Result[Any]]:
        for result in super().do(jobs):
            time.sleep(PAUSE)
            yield result


def drive(folder: str, out: str, err: str, arguments: Sequence[str]) -> None:
    """The entry in this process, which is given up to it."""
    os.chdir(folder)
    os.fsync = lambda _: None  # a kill, other than a failure of power, loses no written page
    for stream, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    sys.exit(evo.run.main(arguments, services(SlowExecutor(by_hash))))


@dataclass(frozen=True)
class Ended:
    returncode: int
    out: str
    err: str


class Driver:
    """One session of a run in ``folder``, which has the game file that ``GROWING`` begins with."""

    number = 0

    def __init__(self, folder: Path, *arguments: str) -> None:
        (folder / "parent.xent").write_text(code(PARENT))
        Driver.number += 1
        self.outputs = [folder / f"{Driver.number}.{stream}" for stream in ("out", "err")]
        paths = (str(folder), *map(str, self.outputs))
        self.process = FORKS.Process(target=drive, args=(*paths, arguments))
        self.process.start()

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def wait(self) -> Ended:
        self.process.join()
        assert self.process.exitcode is not None
        texts = (
            path.read_text() if path.exists() else "" for path in self.outputs
        )  # killed at once
        return Ended(self.process.exitcode, *texts)


def run(folder: Path, *arguments: str) -> Ended:
    """A session to its end."""
    return Driver(folder, *arguments).wait()


def commits(run_folder: Path) -> int:
    """How many the archive of a run has."""
    return len(list((run_folder / "archive" / "commits").glob("*.json")))


def science(run_folder: Path) -> dict[str, Any]:
    """All tables without events and timings, and the bytes of what lies beside the archive."""
    files = {
        path.name: path.read_bytes()
        for path in run_folder.glob("*")
        if path.suffix in (".json", ".svg")
    }
    with Archive.open(run_folder / "archive") as archive:
        tables = {table: archive.rows(table) for table in TABLES if table != "runs"}
        adapters = archive.adapters()
    left_out = ("seconds", "run_id")  # the id has the folder's name
    rows = {
        table: [{k: v for k, v in row.items() if k not in left_out} for row in table_rows]
        for table, table_rows in tables.items()
    }
    return {"tables": rows, "adapters": adapters, "files": files}
