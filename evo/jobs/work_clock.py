"""Seconds of work, which budgets and yields are counted in."""

from __future__ import annotations

import time

import torch


def seconds_of_work() -> float:
    """A clock for differences, seconds: the processor time of this process, over all its threads,
    so that work costs the same beside other programs; wall-clock time where an accelerator does the
    work."""
    return time.perf_counter() if torch.accelerator.is_available() else time.process_time()
