"""Ray actors around laboratories: placement, order and retries; nothing of the science."""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import ray
import torch
from ray.exceptions import OutOfMemoryError, RayActorError

from evo.config import ClusterConfig, ConfigError
from evo.laboratory import Evaluation, Job, Laboratory, LaboratorySettings, Result, single_threaded

RETRIES = 3
MOST_WORKERS = 8
"""Without ``cluster.workers``: a list of candidates keeps no more than a few workers busy."""
OBJECT_STORE_BYTES = 200 * 1024**2
CONNECT_SECONDS = 10.0
"""For the head of a cluster to answer at all."""
log = logging.getLogger("evo")


class Workshop(Protocol):
    """Does jobs; results come in the order of the jobs, each as soon as it can."""

    def do(self, jobs: Sequence[Job]) -> Iterator[Result]: ...


class WorkersLostError(Exception):
    """A job's worker died more often than is worth retrying."""


class _Worker:
    """One laboratory in an actor of its own."""

    def __init__(self, settings: LaboratorySettings) -> None:
        single_threaded()
        self.laboratory = Laboratory(settings)

    def do(self, job: Job) -> Result:
        return self.laboratory.do(job)


class RayWorkshop:
    """A pool of worker actors on a local Ray or a cluster.

    A worker takes the next job when it is free. A job whose worker died is done again by a new
    one; results depend on the job alone, so nothing else changes.
    """

    def __init__(self, cluster: ClusterConfig, settings: LaboratorySettings) -> None:
        _connect(cluster)
        self.settings = settings
        self.gpus = cluster.gpus_per_worker
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.count = cluster.workers or max(1, min(MOST_WORKERS, cores))
        self.workers = [self._new_worker() for _ in range(self.count)]

    def do(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Yield results in the order of ``jobs``.

        Raises :class:`WorkersLostError` when a job has lost its worker ``RETRIES`` times.
        """
        waiting = deque(enumerate(jobs))
        running: dict[Any, tuple[int, int]] = {}
        free = deque(range(self.count))
        done: dict[int, Result] = {}
        losses: dict[int, int] = {}
        following = 0
        while following < len(jobs):
            while free and waiting:
                worker, (index, job) = free.popleft(), waiting.popleft()
                running[self.workers[worker].do.remote(job)] = (index, worker)
            (reference,), _ = ray.wait(list(running), num_returns=1)
            index, worker = running.pop(reference)
            free.append(worker)
            try:
                done[index] = ray.get(reference)
            except (RayActorError, OutOfMemoryError) as error:
                losses[index] = losses.get(index, 0) + 1
                self._replace(worker, jobs[index], losses[index], error)
                waiting.appendleft((index, jobs[index]))
            while following in done:
                yield done.pop(following)
                following += 1

    def close(self) -> None:
        ray.shutdown()

    def _new_worker(self) -> Any:
        remote = ray.remote(num_cpus=1, num_gpus=self.gpus)(_Worker)
        return remote.remote(self.settings)

    def _replace(self, worker: int, job: Job, losses: int, error: Exception) -> None:
        if losses > RETRIES:
            raise WorkersLostError(
                f"{losses} workers died on {_name(job)}, the last {_cause(error)}"
            ) from error
        log.warning("a worker died; its job is done again (%d of %d)", losses, RETRIES)
        self.workers[worker] = self._new_worker()


def _name(job: Job) -> str:
    """What a job is, for a message."""
    kind = "an evaluation" if isinstance(job, Evaluation) else "the fine-tune"
    return f"{kind} of game {job.task.game_id[:8]}"


def _cause(error: Exception) -> str:
    return "out of memory" if isinstance(error, OutOfMemoryError) else "for a cause unknown to Ray"


def check(cluster: ClusterConfig) -> None:
    """Raises :class:`ConfigError` for a cluster that cannot be joined or a GPU that is not there.

    Joins a cluster that is given by address; a local Ray is started by the workshop.
    """
    if cluster.address is None:
        if cluster.gpus_per_worker > 0 and not torch.cuda.is_available():
            raise ConfigError(
                f"cluster.gpus_per_worker: found {cluster.gpus_per_worker}, but torch sees no GPU "
                "here, expected 0"
            )
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
        _connect(cluster)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"cluster.address: {cluster.address}: {reason}, {expected}") from None


def _connect(cluster: ClusterConfig) -> None:
    if ray.is_initialized():
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if cluster.address:
        ray.init(address=cluster.address, **quiet)
    else:
        ray.init(
            num_cpus=cluster.workers,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            **quiet,
        )
