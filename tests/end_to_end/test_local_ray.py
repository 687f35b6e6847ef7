"""Ray on one machine: what listens where, and a run whose Ray is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from evo.jobs.cluster import VITAL

pytestmark = pytest.mark.long

LISTENERS = """
import json, psutil, ray
from evo.config.schema import ClusterConfig
from evo.jobs.cluster import connect

@ray.remote
class Worker:
    def ready(self): return True

connect(ClusterConfig(workers=1))
worker = Worker.remote()
ray.get(worker.ready.remote())
this = psutil.Process()
print(json.dumps([
    [each.name(), place.laddr.ip, place.laddr.port]
    for each in [this, *this.children(recursive=True)]
    for place in each.net_connections("inet")
    if place.status == psutil.CONN_LISTEN
]))
"""


def test_a_local_ray_listens_on_loopback_only(commands: Any) -> None:
    process = subprocess.run(
        [sys.executable, "-c", LISTENERS],
        cwd=commands.folder,
        env=commands.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    listeners = json.loads(process.stdout.splitlines()[-1])
    names = {name for name, *_ in listeners}
    assert {*VITAL, "ray::Worker"} <= names
    others = [each for each in listeners if each[1].rpartition(":")[2] not in ("127.0.0.1", "1")]
    assert others == []


@pytest.mark.parametrize("name", VITAL)
def test_a_killed_ray_ends_the_run_in_one_sentence(commands: Any, name: str) -> None:
    driver = subprocess.Popen(
        commands.arguments("evo.run", *commands.tiny("killed", "cluster.workers=1")),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    scores: Path = commands.folder / "runs" / "killed" / "archive" / "scores"
    while len(list(scores.glob("*.parquet"))) < 2:  # one of them is the empty first
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.05)
    [process] = [
        each for each in psutil.Process(driver.pid).children(recursive=True) if each.name() == name
    ]
    process.kill()
    out, err = driver.communicate()
    assert driver.returncode == 1
    *before, last = err.splitlines()
    assert all(line.startswith("no worker is ready yet") for line in before), "a busy machine"
    assert last == (
        f"error: Ray's process {name} has ended (killed, or out of memory), which all workers "
        "need; what was committed stays"
    )
    assert "python -m evo.run resume=runs/killed" in out
    assert "(raylet)" not in out
    verification = commands("archive", "verify", "runs/killed")
    assert verification.returncode == 0, verification.stdout
