"""Joining Ray: a local one of its own, or a cluster that is given by address."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray._private import ray_constants, worker

from evo.config.schema import ClusterConfig
from evo.jobs.job import ClusterError
from xgl.errors import ConfigError

log = logging.getLogger("evo")
LOOPBACK = "127.0.0.1"
OBJECT_STORE_BYTES = 200 * 1024**2
STARTS = 3
"""Most attempts to start a local Ray: a busy machine may need longer than Ray waits."""
WORKERS_PER_CORE = 2
"""Processes for each core of a machine; more are taken for a mistake."""
VITAL = "gcs_server", "raylet"
"""Processes of a local Ray without which nothing goes on."""
HEAD_SECONDS = 20.0
"""Time for the head of a cluster to come back; Ray ends the driver after a minute."""
CONNECT_SECONDS = 10.0
"""Time limit for the head of a cluster to answer."""


def check(cluster: ClusterConfig) -> None:
    """Raises :class:`ConfigError` for a cluster that cannot be joined or a GPU that is not there.

    Joins a cluster that is given by address; a local Ray is started by :func:`connect`.
    """
    if cluster.address is None:
        most = max(WORKERS_PER_CORE * cores(), 8)
        if (count := cluster.workers or 0) > most:
            raise ConfigError(
                f"cluster.workers: found {count} processes, each with its models, for {cores()} "
                f"cores, expected at most {most}; on a cluster, name its cluster.address"
            )
        if cluster.gpus_per_worker > 0:
            _check_room(cluster, [_gpus_here()], "this machine")
        return
    expected = "expected null, auto, or host:port of a running Ray"
    host, _, port = cluster.address.rpartition(":")
    if host and port.isdigit() and "//" not in host:
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"cluster.address: {cluster.address} does not answer ({error}), {expected}"
            ) from None
    try:
        connect(cluster)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"cluster.address: {cluster.address}: {reason}, {expected}") from None
    try:
        gpus = [node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]]
        _check_room(cluster, gpus, "the cluster")
    except ConfigError:
        ray.shutdown()
        raise


def cores() -> int:
    """Number of cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_room(cluster: ClusterConfig, gpus: Sequence[float], whose: str) -> None:
    """Some machine, of those with so many GPUs, must be large enough for a worker, and all together
    for all workers, or the run would wait for ever."""
    share, most = cluster.gpus_per_worker, max(gpus, default=0)
    key = f"cluster.gpus_per_worker: found {cluster.gpus_per_worker}"
    if not most and whose == "this machine":
        raise ConfigError(f"{key}, but torch sees no GPU here, expected 0")
    if share > most and whose == "the cluster":
        raise ConfigError(
            f"{key}, but no node of the cluster has more than {most:g} GPUs, expected a share that "
            "a node has"
        )
    if (total := (cluster.workers or 1) * share) > sum(gpus) + 1e-6:
        raise ConfigError(
            f"{key}: all workers, with their judges, take {total:g} GPUs, expected at most the "
            f"{sum(gpus):g} of {whose}"
        )


def connect(cluster: ClusterConfig) -> None:
    """Join the cluster, or start a local Ray; once for each process.

    Raises :class:`ClusterError` when a local Ray does not start on a machine that is too busy.
    """
    if ray.is_initialized():
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    worker.print_to_stdstream = _say_nothing
    if cluster.address:
        ray.init(address=cluster.address, **quiet)
        return
    with _loopback():
        start_local(
            lambda: ray.init(
                address="local",  # None would join whatever cluster was started on this machine
                num_cpus=cluster.workers,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _node_ip_address=LOOPBACK,
                **quiet,
            )
        )


def _say_nothing(*_: object, **__: object) -> None:
    """In the place of Ray's printing pages of its log when one of its processes ends: the log is in
    a file, and the run says what happened."""


def check_alive() -> None:
    """Raises :class:`ClusterError` if a process is gone without which Ray ends the driver too, at
    its next call or after a minute, before the run could say a word."""
    if (node := worker._global_node) is None:
        return
    if ended := [name for name, _ in node.dead_processes() if name in VITAL]:
        raise ClusterError(
            f"Ray's process {ended[0]} has ended (killed, or out of memory), which all workers need"
        )
    if not node.all_processes:  # they are those of a cluster
        _check_head(node.gcs_address)
        _check_own_node(node.raylet_socket_name)


def _check_head(address: str) -> None:
    """Raises :class:`ClusterError` if nothing listens at the address for ``HEAD_SECONDS``."""
    host, _, port = address.rpartition(":")
    end = time.monotonic() + HEAD_SECONDS
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise ClusterError(
                    f"the head of the cluster, {address}, no longer answers ({error})"
                ) from None
        time.sleep(1)


def _check_own_node(raylet: str) -> None:
    """Raises :class:`ClusterError` if nothing listens at the socket of this machine's node, through
    which the driver reaches all others: without it, Ray would wait for ever."""
    if not hasattr(socket, "AF_UNIX") or not raylet.startswith("/"):
        return
    with socket.socket(socket.AF_UNIX) as own:
        try:
            own.connect(raylet)
        except OSError as error:
            raise ClusterError(
                f"Ray's process raylet of this machine has ended ({error.strerror}), through which "
                "the run reaches the cluster; join it again, then resume"
            ) from None


@contextmanager
def _loopback() -> Iterator[None]:
    """A Ray that starts in the context listens on ``LOOPBACK`` alone. Where clusters are possible,
    Ray replaces this address by the machine's own, and listens on all interfaces."""
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False  # as on Windows and macOS
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def start_local(start: Callable[[], object], pause: float = 2.0) -> None:
    """Call ``start`` until it succeeds, ``STARTS`` times at most, ``pause`` seconds apart.

    Raises :class:`ClusterError` with the last cause.
    """
    for attempt in range(1, STARTS + 1):
        try:
            start()
            return
        except Exception as error:  # Ray's are of no common type
            cause = str(error).partition("\n")[0]
            if attempt == STARTS:
                raise ClusterError(
                    f"Ray did not start in {STARTS} attempts, the last: {cause}"
                ) from error
        log.warning("Ray did not start, attempt %d of %d", attempt, STARTS)
        ray.shutdown()  # one that started only in part
        time.sleep(pause)


def _gpus_here() -> int:
    import torch  # loads slowly, and most machines that ask for no GPU have none

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
