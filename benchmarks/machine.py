"""What benchmarks say of the machine, and how they sum up repeats."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path

import torch


def describe_machine() -> str:
    """Processor or GPU, cores, versions: one line for beneath a table."""
    if torch.cuda.is_available():
        where = torch.cuda.get_device_name(0)
    else:
        where = f"{_processor()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads"
    return f"{where}; Python {platform.python_version()}, torch {torch.__version__}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model_names = (
        line.partition(":")[2].strip() for line in lines if line.startswith("model name")
    )
    return next(model_names, platform.machine())


def median(seconds: Sequence[float]) -> float:
    return statistics.median(seconds)
