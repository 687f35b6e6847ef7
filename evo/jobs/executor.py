"""Ray actors around model hosts: their placement, order and retries. Results do not depend on
it."""

from __future__ import annotations

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
from evo.jobs.job import Adapter, Job, WorkersLostError, content
from evo.jobs.results import Outcome, Result
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
"""Digest of an adapter and the reference to its bytes; None: the base player."""


class _Worker:
    """One model host in an actor of its own, with the adapters that it used last."""

    def __init__(self) -> None:
        self.adapters: LRUCache[str, bytes] = LRUCache(ADAPTER_BYTES, len)

    def start(self, settings: ModelHostSettings) -> str:
        """Load the models; returns the id of the node."""
        from evo.jobs import model_host  # torch: here, not in the driver

        model_host.single_threaded()
        self.model_host = model_host.ModelHost(settings)
        model_host.exempt_from_collection()
        return str(ray.get_runtime_context().get_node_id())[:8]

    def play(self, job: Job[Outcome], adapters: Sequence[Parcel]) -> Result[Outcome]:
        """Do a job; ``adapters`` are the job's, fetched unless this worker still has them."""
        return self.model_host.do(job.with_adapters([*map(self._content, adapters)]))

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


@dataclass(frozen=True)
class Pool:
    """Workers of one kind; ``gpus`` is the share of a GPU that each of them takes."""

    name: str
    count: int
    gpus: float


@dataclass(eq=False)
class _Place:
    """A worker's place in its pool: one worker after another when they die."""

    pool: Pool
    worker: Any
    node: str = ""
    """Empty while its worker starts."""


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
    """Pools of worker actors on a local Ray or a cluster.

    A worker takes the next job when it is free. A job whose worker died goes to the next free one,
    and a new worker starts wherever the cluster has room; results depend only on the job, so
    nothing else changes.
    """

    def __init__(self, cluster: ClusterConfig, settings: ModelHostSettings) -> None:
        connect(cluster)
        self.settings = settings
        room = ray.cluster_resources()
        self.pools = pools(cluster, int(room.get("CPU", 1)), room.get("GPU", 0.0))
        self.references = AdapterReferences()
        self.failed_starts = 0
        self.free: dict[str, deque[_Place]] = {pool.name: deque() for pool in self.pools}
        self.busy: dict[Any, tuple[_Place, int | None]] = {}
        """Place and number of a job by the reference that is waited for; number None: the worker
        starts."""
        self.unfinished_jobs: dict[int, tuple[Job[Any], list[Parcel]]] = {}
        """Jobs by number that no worker has done yet, with what was sent of their adapters."""
        self.losses: Counter[int] = Counter()
        self.lost_jobs: dict[str, deque[int]] = {pool.name: deque() for pool in self.pools}
        """Numbers of jobs whose worker died; the next free worker does them."""
        self.numbers = count()
        for pool in self.pools:
            for _ in range(pool.count):
                self._start(_Place(pool, None))

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        """Yield results in the order of ``jobs``.

        Raises :class:`WorkersLostError` when a job has lost its worker ``RETRIES`` times.
        """
        waiting, numbers = deque(enumerate(jobs)), dict[int, int]()
        results: dict[int, Result[Outcome]] = {}
        following = 0
        while following < len(jobs):
            for index, job in list(waiting):
                if self.has_room(job.trains):
                    waiting.remove((index, job))
                    numbers[self.begin(job)] = index
            event = self.next_event()
            if event and event[0] in numbers:  # else a job begun before, whose result is not needed
                results[numbers.pop(event[0])] = event[1]
            while following in results:
                yield results.pop(following)
                following += 1

    def has_room(self, trains: bool) -> bool:
        """Whether a worker of the pool is free; jobs that lost their worker go first."""
        return bool(self.free[self._pool_of(trains)])

    def begin(self, job: Job[Any]) -> int:
        """Give a job to a free worker of its pool."""
        check_alive()
        number = next(self.numbers)
        bare_job, adapters = job.without_adapters()
        parcels = [*map(self.references.parcel, adapters)]
        self.unfinished_jobs[number] = bare_job, parcels
        self._hand_over(number, self.free[self._pool_of(job.trains)].popleft())
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
        self._release(place)
        if number is None:
            place.node, self.failed_starts = outcome, 0
            return None
        del self.unfinished_jobs[number]
        return number, outcome

    def close(self) -> None:
        """Stop the workers and a local Ray."""
        ray.shutdown()

    def _pool_of(self, trains: bool) -> str:
        """Fine-tunes go to the first pool, plays to the last, which may be the same."""
        return self.pools[0 if trains else -1].name

    def _release(self, place: _Place) -> None:
        """Give a free worker a job that lost its own, or note that it is free."""
        if lost_jobs := self.lost_jobs[place.pool.name]:
            self._hand_over(lost_jobs.popleft(), place)
        else:
            self.free[place.pool.name].append(place)

    def _hand_over(self, number: int, place: _Place) -> None:
        job, parcels = self.unfinished_jobs[number]
        method = place.worker.train if job.trains else place.worker.play
        self.busy[method.remote(job, parcels)] = place, number

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
            if self.failed_starts > RETRIES + sum(pool.count for pool in self.pools):
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
        (job, _), losses = self.unfinished_jobs[number], self.losses[number]
        check_losses(job, losses, error)
        log.warning(
            "a worker on node %s died during %s, which is done again (%d of %d)",
            place.node,
            _name(job),
            losses,
            RETRIES,
        )
        if free := self.free[place.pool.name]:
            self._hand_over(number, free.popleft())
        else:
            self.lost_jobs[place.pool.name].append(number)

    def _start(self, place: _Place) -> None:
        remote = ray.remote(num_cpus=1, num_gpus=place.pool.gpus)(_Worker)
        device = "cuda" if place.pool.gpus > 0 else "cpu"
        place.worker, place.node = remote.remote(), ""
        settings = replace(self.settings, device=device)
        self.busy[place.worker.start.remote(settings)] = place, None


def pools(cluster: ClusterConfig, cores: int, gpus: float = 0.0) -> list[Pool]:
    """The pool that fine-tunes, then the pool that plays; one pool for both without trainers."""
    room = gpus / cluster.worker_gpus if cluster.worker_gpus else MOST_WORKERS
    count = cluster.workers or max(1, min(MOST_WORKERS, cores, int(room)))
    workers = Pool("workers", count, cluster.worker_gpus)
    if not cluster.trainers:
        return [workers]
    return [Pool("trainers", cluster.trainers, cluster.trainer_gpus), workers]


def check_losses(job: Job[Any], losses: int, error: Exception) -> None:
    """Raises :class:`WorkersLostError` when a job has lost more workers than are replaced."""
    if losses > RETRIES:
        raise WorkersLostError(
            f"{losses} workers died on {_name(job)}, the last {_cause(error)}"
        ) from error


def own_error(error: RayTaskError, starting: bool) -> Exception:
    """The error that a worker raised itself: a user's, or :class:`WorkersLostError` if it could not
    start; an error of the program stays with its traceback in the worker."""
    cause = error.cause
    if isinstance(cause, XGLError | ArchiveError):
        return cause
    if starting:
        return WorkersLostError(f"a worker cannot load its models: {type(cause).__name__}: {cause}")
    return error


def _name(job: Job[Any]) -> str:
    """Name of a job, for a message."""
    return f"{job.name} of game {job.task.id.label}"


def _cause(error: Exception) -> str:
    """Cause of a worker's death, for a message."""
    return "out of memory" if isinstance(error, OutOfMemoryError) else "for a cause unknown to Ray"
