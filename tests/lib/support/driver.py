"""The entry on the toy oracle, as a process of its own or within one.

It is ``python -m evo.run`` but for Ray's workers: a workshop that knows the true gains of every
game answers in their place, after a pause that leaves time to be killed in.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from support.search import FakeWorkshop, by_hash

import evo.run
from evo.laboratory import Job, Result

PAUSE = 0.02
"""Seconds for a job."""
GROWING = (
    "growth.generations=3",
    "growth.list_size=4",
    "growth.max_candidates=24",
    "transfer.calibration_plays=8",
    "transfer.selection_plays=16",
    "transfer.acceptance_plays=[16,32]",
)


class SlowWorkshop(FakeWorkshop):
    def do(self, jobs: Sequence[Job]) -> Iterator[Result]:
        for result in super().do(jobs):
            time.sleep(PAUSE)
            yield result


def _workshop(*_: Any) -> SlowWorkshop:
    return SlowWorkshop(by_hash)


def drive(arguments: Sequence[str]) -> int:
    """The entry in this process, which is given up to it."""
    evo.run.RayWorkshop = _workshop  # type: ignore[assignment, misc]
    return evo.run.main(arguments)


def session(folder: str, arguments: Sequence[str]) -> None:
    """A driver in a process that was forked for it: quiet, in ``folder``."""
    os.chdir(folder)
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    sys.exit(drive(arguments))


if __name__ == "__main__":
    sys.exit(drive(sys.argv[1:]))
