"""Joining Ray: a local one of its own, or a cluster that is given by address."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from typing import Any

import ray
from tenacity import RetryCallState, RetryError, Retrying, stop_after_attempt, wait_fixed

from evo.config.schema import ClusterConfig
from evo.jobs.job import ClusterError
from xgl.errors import ConfigError

log = logging.getLogger("evo")
OBJECT_STORE_BYTES = 200 * 1024**2
STARTS = 3
"""Most attempts to start a local Ray: a busy machine may need longer than Ray waits."""
WORKERS_PER_CORE = 2
"""Processes for each core of a machine; more are taken for a mistake."""
CONNECT_SECONDS = 10.0
"""Time limit for the head of a cluster to answer."""


def check(cluster: ClusterConfig) -> None:
    """Raises :class:`ConfigError` for a cluster that cannot be joined or a GPU that is not there.

    Joins a cluster that is given by address; a local Ray is started by :func:`connect`.
    """
    if cluster.address is None:
        check_cores(cluster, cores())
        if _most_gpus(cluster) > 0:
            _check_gpus(cluster, _gpus_here())
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
    _check_room(cluster)


def cores() -> int:
    """Number of cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_cores(cluster: ClusterConfig, cores: int) -> None:
    """Raises :class:`ConfigError` for far more processes than cores: each has models of its own."""
    most = max(WORKERS_PER_CORE * cores, 8)
    if (count := (cluster.workers or 0) + cluster.trainers) > most:
        raise ConfigError(
            f"cluster.workers: found {count} processes, each with its models, for {cores} cores, "
            f"expected at most {most}; on a cluster, name its cluster.address"
        )


def _check_room(cluster: ClusterConfig) -> None:
    """Some node must be large enough for a worker, or the run would wait for ever."""
    most = max(
        (node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]), default=0
    )
    if _most_gpus(cluster) > most:
        ray.shutdown()
        raise ConfigError(
            f"{_gpu_key(cluster)}, but no node of the cluster has more than {most:g} GPUs, "
            "expected a share that a node has"
        )


def connect(cluster: ClusterConfig) -> None:
    """Join the cluster, or start a local Ray; once for each process.

    Raises :class:`ClusterError` when a local Ray does not start on a machine that is too busy.
    """
    if ray.is_initialized():
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if cluster.address:
        ray.init(address=cluster.address, **quiet)
    else:
        start_local(
            lambda: ray.init(
                address="local",  # None would join whatever cluster was started on this machine
                num_cpus=cluster.workers and cluster.workers + cluster.trainers,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                **quiet,
            )
        )


def start_local(start: Callable[[], object], pause: float = 2.0) -> None:
    """Call ``start`` until it succeeds, ``STARTS`` times at most, ``pause`` seconds apart.

    Raises :class:`ClusterError` with the last cause.
    """
    attempts = Retrying(
        stop=stop_after_attempt(STARTS), wait=wait_fixed(pause), before_sleep=_start_failed
    )
    try:
        attempts(start)
    except RetryError as error:
        cause = str(error.last_attempt.exception()).partition("\n")[0]
        raise ClusterError(f"Ray did not start in {STARTS} attempts, the last: {cause}") from error


def _start_failed(state: RetryCallState) -> None:
    """Stop a Ray that started only in part, and log that another attempt follows."""
    log.warning("Ray did not start, attempt %d of %d", state.attempt_number, STARTS)
    ray.shutdown()


def _check_gpus(cluster: ClusterConfig, gpus: int) -> None:
    """All actors together must fit, or some of them would wait for ever."""
    if not gpus:
        raise ConfigError(f"{_gpu_key(cluster)}, but torch sees no GPU here, expected 0")
    total = (cluster.workers or 1) * cluster.worker_gpus + cluster.trainers * cluster.trainer_gpus
    if total > gpus + 1e-6:
        raise ConfigError(
            f"{_gpu_key(cluster)}: all workers and trainers, with their judges, take {total:g} "
            f"GPUs, expected at most the {gpus} of this machine"
        )


def _gpus_here() -> int:
    import torch  # loads slowly, and most machines that ask for no GPU have none

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _most_gpus(cluster: ClusterConfig) -> float:
    return max(cluster.worker_gpus, cluster.trainer_gpus if cluster.trainers else 0.0)


def _gpu_key(cluster: ClusterConfig) -> str:
    if cluster.trainers and cluster.trainer_gpus > cluster.worker_gpus:
        return f"cluster.gpus_per_trainer: found {cluster.gpus_per_trainer}"
    return f"cluster.gpus_per_worker: found {cluster.gpus_per_worker}"
