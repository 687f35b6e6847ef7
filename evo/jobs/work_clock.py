"""Seconds of work, which budgets and yields are counted in."""

from __future__ import annotations

import time


def seconds_of_work() -> float:
    """A clock for differences, seconds: the processor time of this process, over all its threads,
    so that work costs the same beside other programs; wall-clock time where an accelerator does the
    work."""
    import torch  # loads slowly; whoever works has it already

    return time.perf_counter() if torch.accelerator.is_available() else time.process_time()
