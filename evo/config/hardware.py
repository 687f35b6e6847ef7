"""Settings that follow from the GPUs and the processor of this machine, for a new run that does not
name them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PASS_SHARE = 1 / 8
"""Share of a worker's part of a GPU that one pass may take; weights, caches and the places of
captured passes take the rest."""
POLICIES = 4
"""Adapters in one pass: on an H100 four took 0.6 of the time of four passes
(docs/explanation/engine.md)."""

MOST_GPUS = 64
"""Of a worker; more are a mistake, which the other settings' checks say."""


@dataclass(frozen=True)
class Hardware:
    """The GPUs of this machine, alike: how many, their name, MiB of memory of each."""

    gpus: int
    name: str
    memory_mib: int


def find() -> Hardware | None:
    """The GPUs that this process may use; None without any, or with a torch for CPUs."""
    if shutil.which("nvidia-smi") is None or _torch_is_for_cpus():
        return None
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    listed = subprocess.run(query, capture_output=True, text=True, timeout=30).stdout.splitlines()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = len(listed) if visible is None else len([v for v in visible.split(",") if v.strip()])
    if not listed or not count:
        return None
    name, _, memory = listed[0].rpartition(",")
    return Hardware(min(count, len(listed)), name.strip(), int(memory))


def _torch_is_for_cpus() -> bool:
    try:
        return version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return True


def settings_for(hardware: Hardware | None, overrides: Sequence[str]) -> tuple[str, ...]:
    """Overrides by which a run uses GPUs, to stand before its own. On this machine: one worker for
    each GPU, or as many as ``cluster.gpus_per_worker`` leaves room for; not if a run is for a
    cluster or is to stay on the CPU (``cluster.gpus_per_worker=0``). Anywhere, of several GPUs a
    worker: the judge on the first, the player on as many others as it needs."""
    own = dict(word.lstrip("+").partition("=")[::2] for word in overrides)
    try:
        share = float(own.get("cluster.gpus_per_worker", 1))
    except ValueError:  # to be refused with the other settings
        return ()
    values = dict[str, str]()
    if 1 < share <= MOST_GPUS:
        order = "+".join(map(str, [*range(1, round(share)), 0]))
        values |= {"judge.device": "cuda:0", "player.device": f"cuda:{order}"}
    is_here = own.get("cluster.address", "null") == "null"
    if hardware is not None and is_here and 0 < share <= hardware.gpus:
        memory = max(16, int(hardware.memory_mib * PASS_SHARE * min(1.0, share)))
        values |= {
            "cluster.gpus_per_worker": f"{share:g}",
            "cluster.workers": f"{max(1, int(hardware.gpus / share))}",
            "judge.dtype": "bfloat16",
            "player.dtype": "bfloat16",
            "judge.memory_mib": f"{memory}",
            "player.memory_mib": f"{memory}",
            "player.policies_per_pass": f"{POLICIES}",
        }
    return tuple(f"{key}={value}" for key, value in values.items() if key not in own)


def reward_settings(
    overrides: Sequence[str], cpuinfo: Path = Path("/proc/cpuinfo")
) -> tuple[str, ...]:
    """Overrides by which no judge scores in bfloat16 what this processor does not multiply in it:
    decided once, so that all workers of a run train for the same rewards."""
    try:
        flags = cpuinfo.read_text().split()
    except OSError:  # not Linux
        flags = []
    names = [word.lstrip("+").partition("=")[0] for word in overrides]
    key = "finetune.bfloat16_rewards"
    return () if "avx512_bf16" in flags or key in names else (f"{key}=false",)
