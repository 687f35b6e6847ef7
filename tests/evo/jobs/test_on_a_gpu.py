"""Whole jobs on a pretended GPU: no tensor is left on the CPU, and the host reads little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long


def told(*runs: Sequence[str]) -> list[dict[str, Any]]:
    """What ``support.gpu_program`` prints of each run, in a process of their own: to import what a
    job needs takes longer than most of them."""
    root = Path(__file__).parents[3]
    paths = os.pathsep.join([str(root), str(root / "tests" / "lib")])
    arguments = [word for run in runs for word in (*run, "+")]
    command = [sys.executable, "-W", "ignore", "-m", "support.gpu_program", *arguments]
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_a_job_gives_on_gpus_what_it_gives_on_a_cpu_and_the_host_reads_once_a_batch() -> None:
    """On one, with judge and player on two, and with each over both, which shares caches all the
    same; an operation on tensors of two devices raises. Without places the host read 46 times in an
    evaluation of twelve plays, now nine times."""
    places = ("gpu:0", "gpu:0/gpu:1", "gpu:1+0")
    on_gpus = (("jobs", "in place", devices) for devices in places)
    cpu, *runs = told(("jobs", "as before", "cpu"), *on_gpus)
    for devices, run in zip(places, runs, strict=True):
        assert run["training"] == pytest.approx(cpu["training"], abs=0.05)
        assert run["evaluation"] == cpu["evaluation"]
        assert run["two policies"] == cpu["two policies"]
        assert not run["refused"]
        assert run["spread"] == ("+" in devices)
        assert run["keeps caches"]
        if devices == "gpu:0":
            counts = run["evaluation counts"]
            assert 0 < counts["reads"] <= 12
            assert counts["decoding steps"] > 0
            assert counts["reads in decoding steps"] == 0


def test_fine_tunes_in_lockstep_share_the_passes_of_player_and_judge() -> None:
    """Four at once, against one after another; each becomes what it is alone."""
    [run] = told(("finetunes", "in place", "gpu:0", "1", "4"))
    alone, four = run["1"], run["4"]
    assert four["player's passes"] <= 0.3 * alone["player's passes"]
    assert four["judge's passes"] <= 0.3 * alone["judge's passes"]
    assert four["kernels"] <= 0.7 * alone["kernels"]
    assert four["tokens"] == alone["tokens"]
    for one, other in zip(four["curves"], alone["curves"], strict=True):
        assert one == pytest.approx(other, abs=0.01)
    assert four["least trained"] > 10 * 1e-3, "equal because untrained would prove nothing"
    assert four["difference"] < 1e-3


def test_a_growth_decides_alike_on_a_cpu_and_where_fine_tunes_are_made_in_lockstep() -> None:
    """Of three candidates, those that have something to learn are learned in one job."""
    settings = (
        *("growth.schedule=open_ended", "growth.virtual_workers=1", "finetune.steps=2"),
        *("finetune.warm_start.maps=8", "finetune.warm_start.rollouts=4"),
    )
    on_cpu, together = told(
        ("growth", "in place", "cpu", *settings, "player.policies_per_pass=1"),
        ("growth", "in place", "gpu:0", *settings, "player.policies_per_pass=4"),
    )
    assert together["exit code"] == 0
    assert not together["refused"]
    assert sorted(together["decisions"]) == sorted(on_cpu["decisions"])
    assert "the fine-tunes" not in on_cpu["jobs"]
    assert on_cpu["jobs"]["the fine-tune"] > together["jobs"]["the fine-tune"]
    assert together["jobs"]["the fine-tunes"] == 1
