"""Seconds of work, which budgets and yields are counted in."""

from __future__ import annotations

import time


def seconds_of_work() -> float:
    """A clock for differences, seconds: the processor time of all threads of this process, so that
    work costs the same while other programs run; wall-clock time if an accelerator does the
    work."""
    import torch  # loads slowly; whoever works has it already

    return time.perf_counter() if torch.accelerator.is_available() else time.process_time()
