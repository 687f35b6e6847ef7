"""A run on a cluster of two nodes, one of which is lost on the way."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from evo.jobs.cluster import VITAL

pytestmark = pytest.mark.long

QUICK = ("finetune.tokens=5000", "finetune.maps=4")
NODE = {"num_cpus": 1, "object_store_memory": 80 * 1024**2, "include_dashboard": False}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, commands: Any) -> Iterator[Cluster]:
    """Two nodes of one core each, in a folder of their own: nobody else's Ray finds them."""
    place = tempfile.mkdtemp(prefix="xr")  # sockets want a short path
    monkeypatch.setenv("RAY_TMPDIR", place)
    monkeypatch.setenv("PYTHONPATH", commands.environment["PYTHONPATH"])
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(place, ignore_errors=True)


def test_a_node_that_is_removed_takes_nothing_with_it(commands: Any, cluster: Cluster) -> None:
    process = commands("evo.run", *commands.tiny("whole", "cluster.workers=1", *QUICK))
    assert process.returncode == 0, process.stderr
    place = (f"cluster.address={cluster.address}", "cluster.workers=2")
    driver = subprocess.Popen(
        commands.arguments("evo.run", *commands.tiny("scattered", *place, *QUICK)),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    finetunes: Path = commands.folder / "runs" / "scattered" / "archive" / "finetunes"
    while len(list(finetunes.glob("*.parquet"))) < 2:  # one of them is the empty first
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.05)
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    out, err = driver.communicate()
    assert driver.returncode == 0, err
    assert "is done again" in err or "a worker died as it started" in err
    assert "Traceback" not in out + err
    assert commands.science("scattered") == commands.science("whole")


@pytest.mark.parametrize("name", VITAL)
def test_a_killed_process_of_ones_own_node_ends_the_run_in_one_sentence(
    commands: Any, cluster: Cluster, name: str
) -> None:
    place = (f"cluster.address={cluster.address}", "cluster.workers=1")
    driver = subprocess.Popen(
        commands.arguments("evo.run", *commands.tiny("cut", *place, *QUICK)),
        cwd=commands.folder,
        env=commands.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    scores: Path = commands.folder / "runs" / "cut" / "archive" / "scores"
    while len(list(scores.glob("*.parquet"))) < 2:  # one of them is the empty first
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.05)
    cluster.head_node.all_processes[name][0].process.kill()
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert "Traceback" not in out + err
    expected = {"raylet": "raylet of this machine has ended", "gcs_server": "no longer answers"}
    assert expected[name] in err.splitlines()[-1]
    assert err.splitlines()[-1].endswith("what was committed stays")
    assert "python -m evo.run resume=runs/cut" in out
    assert commands("archive", "verify", "runs/cut").returncode == 0


def test_a_share_that_no_node_has_is_refused(commands: Any, cluster: Cluster) -> None:
    overrides = (f"cluster.address={cluster.address}", "cluster.gpus_per_worker=0.5")
    process = commands("evo.run", *commands.tiny("run", *overrides))
    assert process.returncode == 2
    assert "gpus_per_worker: found 0.5, but no node" in process.stderr
    assert not (commands.folder / "runs").exists()
