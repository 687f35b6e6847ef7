"""Ray actors around model hosts: their placement, order and retries. Results do not depend on
it."""

from __future__ import annotations

import gc
import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import Any

import ray
from cachetools import LRUCache
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    WorkerCrashedError,
)

from archive import ArchiveError
from evo.config.models import ModelHostSettings
from evo.config.schema import ClusterConfig
from evo.jobs.cluster import check_alive, connect
from evo.jobs.job import Adapter, Job, Outcome, Result, WorkersLostError, content
from xgl.errors import XGLError

RETRIES = 3
MOST_WORKERS = 8
"""Without ``cluster.workers``: a list of candidates keeps no more than a few workers busy."""
ADAPTER_BYTES = 100 * 1024**2
"""Most bytes of adapters that stay in the object store for the next job."""
READY_SECONDS = 60
"""Seconds without a ready worker, after which the log reports it."""
LOSS_ERRORS = (RayActorError, OutOfMemoryError, ObjectLostError, WorkerCrashedError, NodeDiedError)
"""Errors of a job whose worker, or its node, died; the job is done again. What a job raises itself,
it would raise again: this ends the run."""
log = logging.getLogger("evo")


Parcel = tuple[str, Any] | None
"""Digest of an adapter and the reference to its bytes, which stand for it in a job on its way;
None: the base player."""


class _Worker:
    """One model host in an actor of its own, with the adapters that it used last."""

    def __init__(self) -> None:
        self.adapters: LRUCache[str, bytes] = LRUCache(ADAPTER_BYTES, len)

    def start(self, settings: ModelHostSettings) -> str:
        """Load the models; returns the id of the node."""
        from evo.jobs import model_host  # torch: here, not in the driver

        model_host.single_threaded()
        self.model_host = model_host.ModelHost(settings)
        # Models and libraries live as long as the process, and a collection that visits them takes
        # a quarter of a second.
        gc.collect()
        gc.freeze()
        return str(ray.get_runtime_context().get_node_id())[:8]

    def play(self, job: Job[Outcome]) -> Result[Outcome]:
        """Do a job, whose adapters are fetched unless this worker still has them."""
        return self.model_host.do(job.with_adapters(self._content))

    train = play  # process lists show a worker's method by its name

    def _content(self, parcel: Parcel) -> bytes | None:
        if parcel is None:
            return None
        digest, reference = parcel
        if (known := self.adapters.get(digest)) is None:
            known = ray.get(reference)
            if len(known) <= self.adapters.maxsize:
                self.adapters[digest] = known
        return known


@dataclass(eq=False)
class _Place:
    """A worker's place: one worker after another when they die; ``node`` is empty while its worker
    starts."""

    worker: Any = None
    node: str = ""


class AdapterReferences:
    """References to adapters in Ray's object store, the least recently used dropped first.

    The adapters of the scope play every candidate: each is read, checked and put once, not for
    every job, and travels to a node once. Workers read no disk but their own.
    """

    def __init__(self, max_bytes: int = ADAPTER_BYTES) -> None:
        self.cache: LRUCache[str, tuple[Any, int]] = LRUCache(max_bytes, lambda entry: entry[1])

    def parcel(self, adapter: Adapter) -> Parcel:
        """What a worker needs to have an adapter."""
        if adapter is None:
            return None
        digest = sha256(adapter).hexdigest() if isinstance(adapter, bytes) else adapter.digest
        if digest not in self.cache:  # one that is too large is kept alone
            data = content(adapter) or b""
            self.cache[digest] = ray.put(data), min(len(data), int(self.cache.maxsize))
        return digest, self.cache[digest][0]


class RayExecutor:
    """Worker actors on a local Ray or a cluster.

    A worker takes the next job when it is free. A job whose worker died goes to the next free one,
    and a new worker starts wherever the cluster has room; results depend only on the job, so
    nothing else changes.
    """

    def __init__(self, cluster: ClusterConfig, settings: ModelHostSettings) -> None:
        connect(cluster)
        self.gpus = cluster.gpus_per_worker
        self.settings = replace(settings, device="cuda" if self.gpus > 0 else "cpu")
        room = ray.cluster_resources()
        self.count = worker_count(cluster, int(room.get("CPU", 1)), room.get("GPU", 0.0))
        self.references = AdapterReferences()
        self.failed_starts = 0
        self.free = deque[_Place]()
        self.busy: dict[Any, tuple[_Place, int | None]] = {}
        """Place and number of a job by the reference that is waited for; number None: the worker
        starts."""
        self.unfinished_jobs: dict[int, Job[Any]] = {}
        """Jobs by number that no worker has done yet, with parcels in place of their adapters."""
        self.losses: Counter[int] = Counter()
        self.lost_jobs = deque[int]()
        """Numbers of jobs whose worker died; the next free worker does them."""
        self.numbers = count()
        for _ in range(self.count):
            self._start(_Place())

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        """Yield results in the order of ``jobs``.

        Raises :class:`WorkersLostError` when a job has lost its worker ``RETRIES`` times.
        """
        waiting, numbers = deque(enumerate(jobs)), dict[int, int]()
        results: dict[int, Result[Outcome]] = {}
        following = 0
        while following < len(jobs):
            for index, job in list(waiting):
                if self.has_room():
                    waiting.remove((index, job))
                    numbers[self.begin(job)] = index
            event = self.next_event()
            if event and event[0] in numbers:  # else a job begun before, whose result is not needed
                results[numbers.pop(event[0])] = event[1]
            while following in results:
                yield results.pop(following)
                following += 1

    def has_room(self) -> bool:
        """Whether a worker is free; jobs that lost their worker go first."""
        return bool(self.free)

    def begin(self, job: Job[Any]) -> int:
        """Give a job to a free worker."""
        check_alive()
        number = next(self.numbers)
        self.unfinished_jobs[number] = job.with_adapters(self.references.parcel)
        self._hand_over(number, self.free.popleft())
        return number

    def next_event(self) -> tuple[int, Result[Any]] | None:
        """Wait for one worker: it is ready, has done its job, or died. Raises what a job raises,
        and :class:`ClusterError` if Ray itself has ended."""
        reference = self._next()
        place, number = self.busy.pop(reference)
        try:
            outcome = ray.get(reference)
        except LOSS_ERRORS as error:
            self._lose(place, number, error)
            return None
        except RayTaskError as error:
            raise own_error(error, starting=number is None) from None
        if self.lost_jobs:
            self._hand_over(self.lost_jobs.popleft(), place)
        else:
            self.free.append(place)
        if number is None:
            place.node, self.failed_starts = outcome, 0
            return None
        del self.unfinished_jobs[number]
        return number, outcome

    def close(self) -> None:
        """Stop the workers and a local Ray."""
        ray.shutdown()

    def _hand_over(self, number: int, place: _Place) -> None:
        job = self.unfinished_jobs[number]
        method = place.worker.train if job.trains else place.worker.play
        self.busy[method.remote(job)] = place, number

    def _next(self) -> Any:
        for second in count(1):
            ready, _ = ray.wait(list(self.busy), num_returns=1, timeout=1)
            check_alive()
            if ready:
                return ready[0]
            starting = all(index is None for _, index in self.busy.values())
            if starting and second % READY_SECONDS == 0:
                log.warning("no worker is ready yet: models load, or the cluster has no room")

    def _lose(self, place: _Place, number: int | None, error: Exception) -> None:
        """Log that a worker died, return its job to the queue and start another worker."""
        if number is None:
            self.failed_starts += 1
            if self.failed_starts > RETRIES + self.count:
                raise WorkersLostError(
                    f"{self.failed_starts} workers died as they started, the last {_cause(error)}"
                ) from error
            log.warning("a worker died as it started; another one starts: %s", _cause(error))
        else:
            self._lose_job(place, number, error)
        ray.kill(place.worker)  # one that merely cannot be reached would keep its place
        self._start(place)

    def _lose_job(self, place: _Place, number: int, error: Exception) -> None:
        self.losses[number] += 1
        job, losses = self.unfinished_jobs[number], self.losses[number]
        name = f"{job.name} of game {job.task.id.label}"
        if losses > RETRIES:
            raise WorkersLostError(
                f"{losses} workers died on {name}, the last {_cause(error)}"
            ) from error
        again = f"{name}, which is done again ({losses} of {RETRIES})"
        log.warning("a worker on node %s died during %s", place.node, again)
        if self.free:
            self._hand_over(number, self.free.popleft())
        else:
            self.lost_jobs.append(number)

    def _start(self, place: _Place) -> None:
        remote = ray.remote(num_cpus=1, num_gpus=self.gpus)(_Worker)
        place.worker, place.node = remote.remote(), ""
        self.busy[place.worker.start.remote(self.settings)] = place, None


def worker_count(cluster: ClusterConfig, cores: int, gpus: float) -> int:
    """Number of workers: as set, or one for each core, as many as so many GPUs have room for."""
    room = gpus / cluster.gpus_per_worker if cluster.gpus_per_worker else MOST_WORKERS
    return cluster.workers or max(1, min(MOST_WORKERS, cores, int(room)))


def own_error(error: RayTaskError, starting: bool) -> Exception:
    """The error that a worker raised itself: a user's, or :class:`WorkersLostError` if it could not
    start; an error of the program stays with its traceback in the worker."""
    cause = error.cause
    if isinstance(cause, XGLError | ArchiveError):
        return cause
    if starting:
        return WorkersLostError(f"a worker cannot load its models: {type(cause).__name__}: {cause}")
    return error


def _cause(error: Exception) -> str:
    """Cause of a worker's death, for a message."""
    return "out of memory" if isinstance(error, OutOfMemoryError) else "for a cause unknown to Ray"
