"""``python -m support.driver …``: the entry in a process of its own, on the toy oracle.

It is ``python -m evo.run`` but for Ray's workers: a workshop that knows the true gains of every
game answers in their place, after a pause that leaves time to be killed in.
"""

from __future__ import annotations

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


if __name__ == "__main__":
    evo.run.RayWorkshop = _workshop  # type: ignore[assignment, misc]
    sys.exit(evo.run.main(sys.argv[1:]))
