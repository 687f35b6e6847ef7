"""A run on a cluster of two nodes, one of which is lost on the way."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from evo.jobs.executor import VITAL

pytestmark = pytest.mark.long

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


def test_a_node_that_is_removed_takes_nothing_with_it(
    commands: Any, cluster: Cluster, whole: dict[str, Any]
) -> None:
    place = (f"cluster.address={cluster.address}", "cluster.workers=2")
    driver = commands.start("scattered", *place)
    commands.wait_for_files(driver, "scattered", 2, "finetunes")
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    out, err = driver.communicate()
    assert driver.returncode == 0, err
    assert "is done again" in err or "a worker died as it started" in err
    assert "Traceback" not in out + err
    assert commands.science("scattered") == whole


@pytest.mark.parametrize("name", VITAL)
def test_a_killed_process_of_ones_own_node_ends_the_run_in_one_sentence(
    commands: Any, cluster: Cluster, name: str
) -> None:
    place = (f"cluster.address={cluster.address}", "cluster.workers=1")
    driver = commands.start("cut", *place)
    commands.wait_for_files(driver, "cut", 2)
    cluster.head_node.all_processes[name][0].process.kill()
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert "Traceback" not in out + err
    expected = {"raylet": "raylet of this machine has ended", "gcs_server": "no longer answers"}
    assert expected[name] in err.splitlines()[-1]
    assert err.splitlines()[-1].endswith("what was committed stays")
    assert "python -m evo.run resume=runs/cut" in out
    assert commands("archive", "verify", "runs/cut").returncode == 0


LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")


@pytest.mark.parametrize("name", VITAL)
def test_ray_listens_on_loopback_only_and_killed_ends_the_run_in_one_sentence(
    commands: Any, name: str
) -> None:
    driver = commands.start("killed", "cluster.workers=1")
    commands.wait_for_files(driver, "killed", 2)
    this = psutil.Process(driver.pid)
    listeners = [
        (each.name(), place.laddr.ip)
        for each in [this, *this.children(recursive=True)]
        for place in each.net_connections("inet")
        if place.status == psutil.CONN_LISTEN
    ]
    names = [each for each, _ in listeners]
    assert {*VITAL, "ray::_Worker"} <= {each.partition(".")[0] for each in names}
    assert [each for each in listeners if each[1] not in LOOPBACK] == []
    [process] = [each for each in this.children(recursive=True) if each.name() == name]
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
