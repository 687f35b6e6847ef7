"""Memory that is taken, measured."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from torch.profiler import ProfilerActivity, profile


def peak_bytes(work: Callable[[], object]) -> int:
    """The most bytes of tensors alive at once that ``work`` makes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run_profile:
        work()
    events = run_profile.profiler.kineto_results.events()
    steps = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    return max(accumulate(size for _, size in steps))
