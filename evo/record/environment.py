"""What a run's numbers depend on besides its settings, recorded next to its archive.

Floating-point sums depend on the order in which a library's kernels add, and kernels are chosen by
the processor: the same run on another one may end with other tables.
"""

from __future__ import annotations

import json
import logging
import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from archive.store.disk import writing
from xgl.reading import read_bytes, read_json
from xgl.writing import write_whole

ENVIRONMENTS = "environments.json"
"""In a run folder: each environment that the run was at work in, in order."""
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
KERNELS = {"avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, "avx2": {"avx2", "fma"}}
"""Instructions that ATen's kernels of each name need, the widest first."""
log = logging.getLogger("evo")


def environment() -> dict[str, str]:
    """The driver's processor, its kernels in ATen, and the versions of libraries; no model library
    is loaded for it."""
    facts = {"processor": platform.machine(), "kernels": "default"}
    with suppress(OSError):  # elsewhere than on Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        cpu = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
        facts["processor"] = cpu.get("model name", facts["processor"])
        flags = set(cpu.get("flags", "").split())
        facts["kernels"] = next(
            (name for name, each in KERNELS.items() if each <= flags), "default"
        )
    facts["kernels"] = os.environ.get("ATEN_CPU_CAPABILITY", facts["kernels"])
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def record_environment(folder: Path) -> None:
    """Note in a run folder where the run is at work now; a warning names what differs from where
    it was before. Raises :class:`archive.ArchiveError`."""
    now, before = environment(), _recorded(folder)
    if before and before[-1] != now:
        names = sorted(before[-1].keys() | now.keys())
        pairs = [(name, before[-1].get(name, "none"), now.get(name, "none")) for name in names]
        changes = [f"{name} {old} → {new}" for name, old, new in pairs if old != new]
        log.warning(
            "the run goes on elsewhere than before (%s): its tables may end otherwise than those "
            "of an uninterrupted run",
            ", ".join(changes),
        )
    if not before or before[-1] != now:
        with writing(folder):
            write_whole(folder / ENVIRONMENTS, json.dumps([*before, now], indent=1).encode())


def _recorded(folder: Path) -> list[dict[str, str]]:
    """The environments that a run folder names; none for one that is older, or cannot be read."""
    with suppress(OSError, ValueError):
        value = read_json(read_bytes(folder / ENVIRONMENTS))
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            return value
    return []
