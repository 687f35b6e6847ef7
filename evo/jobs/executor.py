"""Ray: joining a cluster or starting a local one, and actors around model hosts: their placement,
order and retries. Results do not depend on it."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from logging.handlers import BufferingHandler
from typing import Any

import ray
from cachetools import LRUCache
from ray._private import ray_constants, utils as ray_utils, worker as ray_worker
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from archive import ArchiveError
from archive.text import duration, listed, plural
from evo.config.models import ModelHostSettings, workers_of
from evo.config.schema import ClusterConfig
from evo.jobs.job import MOST_WORKERS, Adapter, Job, Outcome, Result, WorkersLostError, content
from xgl.errors import ConfigError, XGLError

RETRIES = 3
ADAPTER_BYTES = 100 * 1024**2
"""Most bytes of adapters that stay in the object store for the next job, or a quarter of a larger
store."""
READY_SECONDS = 60
"""Seconds without a ready worker, after which the log reports it."""
BUSY_SECONDS = 300
"""Seconds without the end of a job, after which the log names those at work."""
NAMED = 8
"""Most of them that it names."""
LOSS_ERRORS = (RayActorError, OutOfMemoryError, ObjectLostError, WorkerCrashedError, NodeDiedError)
"""Errors of a job whose worker, or its node, died; the job is done again. What a job raises itself,
it would raise again, but for a GPU that failed: this ends the run."""
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
LOGGERS = ("evo", "xgl")
log = logging.getLogger("evo")


class _Worker:
    """One model host in an actor of its own."""

    def start(self, settings: ModelHostSettings, gpus: float) -> None:
        """Load the models, for a worker with so many GPUs or such a share of one."""
        if not gpus:  # Ray hides none, and seconds would not be those of the processor
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import torch  # here, not in the driver

        from evo.jobs import model_host

        if 0 < gpus < 1:  # what is too large for it must not take the others' memory
            torch.cuda.set_per_process_memory_fraction(0.95 * gpus)  # the rest: CUDA's own
        torch.set_num_threads(1)  # floating-point sums must not depend on the machine's cores
        self.model_host = model_host.ModelHost(settings)
        # Models and libraries live as long as the process, and a collection that visits them takes
        # a quarter of a second.
        gc.collect()
        gc.freeze()

    def play(self, job: Job[Outcome]) -> tuple[Result[Outcome], set[str]]:
        """Do a job, whose adapters come from the object store of this worker's node. Its result,
        and the warnings meanwhile, which the driver logs: nobody reads a worker's own log."""
        heard = BufferingHandler(capacity=sys.maxsize)
        heard.setLevel(logging.WARNING)
        for name in LOGGERS:
            logging.getLogger(name).addHandler(heard)
        job = job.with_adapters(lambda at: None if at is None else ray.get(at))
        try:
            return self.model_host.do(job), {each.getMessage() for each in heard.buffer}
        finally:
            for name in LOGGERS:
                logging.getLogger(name).removeHandler(heard)

    train = play  # process lists show a worker's method by its name


class AdapterReferences:
    """References to adapters in Ray's object store, the least recently used dropped first.

    The adapters of the scope play every candidate: each is read, checked and put once, not for
    every job, and travels to a node once. Workers read no disk but their own.
    """

    def __init__(self, store_bytes: float = 0) -> None:
        most = max(ADAPTER_BYTES, int(store_bytes / 4))
        self.cache: LRUCache[str, tuple[Any, int]] = LRUCache(most, lambda entry: entry[1])

    def of(self, adapter: Adapter) -> Any:
        """The reference by which a worker gets an adapter; None: the base player."""
        if adapter is None:
            return None
        digest = sha256(adapter).hexdigest() if isinstance(adapter, bytes) else adapter.digest
        if digest not in self.cache:  # one that is too large is kept alone
            data = content(adapter) or b""
            self.cache[digest] = ray.put(data), min(len(data), int(self.cache.maxsize))
        return self.cache[digest][0]


class RayExecutor:
    """An :class:`~evo.jobs.job.Executor`: worker actors on a local Ray or a cluster.

    A worker takes the next job when it is free. A job whose worker died goes to the next free one,
    and a new worker starts wherever the cluster has room; results depend only on the job, so
    nothing else changes.
    """

    def __init__(self, cluster: ClusterConfig, settings: ModelHostSettings) -> None:
        connect(cluster)
        self.gpus = cluster.gpus_per_worker
        self.settings = replace(settings, device="cuda" if self.gpus > 0 else "cpu")
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = [node.get("GPU", 0.0) for node in nodes]
        self.count = worker_count(cluster, int(ray.cluster_resources().get("CPU", 1)), gpus)
        self.references = AdapterReferences(min(n.get("object_store_memory", 0) for n in nodes))
        self.free = deque[Any]()
        """Workers: actors."""
        self.busy: dict[Any, tuple[Any, int | None]] = {}
        """Worker and job number by the reference that is waited for; None: the worker starts."""
        self.unfinished_jobs: dict[int, Job[Any]] = {}
        """Jobs by number that no worker has done yet."""
        self.waiting = deque[int]()
        """Numbers of jobs for the next free workers; first those whose worker died."""
        self.losses: Counter[int | None] = Counter()
        """Workers that died, by the number of their job; None: in a row as they started."""
        self.numbers = count()
        self.told = set[str]()
        """Warnings of workers that are logged already."""
        for _ in range(self.count):
            self._start()

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        # Of jobs given before, no result is needed any more, nor asked for again.
        self.waiting.clear()
        self.unfinished_jobs.clear()
        numbers, results = [self.begin(job) for job in jobs], dict[int, Result[Any]]()
        for number in numbers:
            while number not in results:
                if event := self.next_event():
                    results[event[0]] = event[1]
            yield results.pop(number)

    def has_room(self) -> bool:
        return bool(self.free)

    def begin(self, job: Job[Any]) -> int:
        number = next(self.numbers)
        self.unfinished_jobs[number] = job
        self.waiting.append(number)
        self._hand_over()
        return number

    def next_event(self) -> tuple[int, Result[Any]] | None:
        """Wait for one worker: it is ready, has done its job, or died. Raises what a job raises."""
        reference = self._next()
        worker, number = self.busy.pop(reference)
        event = None
        try:
            done = ray.get(reference)
        except LOSS_ERRORS as error:
            self._lose(worker, number, error)
        except RayTaskError as error:
            if not is_device_fault(error.cause):
                raise own_error(error, starting=number is None) from None
            self._lose(worker, number, error)
        else:
            self.free.append(worker)
            if number is None:
                self.losses[None] = 0
            else:
                result, warnings = done
                for text in sorted(warnings - self.told):
                    log.warning("a worker: %s", text)
                self.told |= warnings
                if self.unfinished_jobs.pop(number, None):
                    event = number, result
        self._hand_over()
        return event

    def close(self) -> None:
        ray.shutdown()

    def _hand_over(self) -> None:
        """Give jobs that wait to free workers; only now are their adapters read."""
        while self.waiting and self.free:
            check_alive()
            number, worker = self.waiting.popleft(), self.free.popleft()
            job = self.unfinished_jobs[number].with_adapters(self.references.of)
            method = worker.train if job.trains else worker.play
            self.busy[method.remote(job)] = worker, number

    def _next(self) -> Any:
        for second in count(1):
            ready, _ = ray.wait(list(self.busy), num_returns=1, timeout=1)
            check_alive()
            if ready:
                return ready[0]
            numbers = [number for _, number in self.busy.values() if number is not None]
            jobs = [job for number in numbers if (job := self.unfinished_jobs.get(number))]
            if jobs and second % BUSY_SECONDS == 0:
                names = [f"{job.name} of game {job.task.id.label}" for job in jobs]
                if len(names) > NAMED:
                    names[NAMED - 1 :] = [f"{len(names) - NAMED + 1} others"]
                log.warning("for %s at work on %s", duration(second), listed(names))
            elif not numbers and second % READY_SECONDS == 0:
                log.warning("no worker is ready yet: models load, or the cluster has no room")

    def _lose(self, worker: Any, number: int | None, error: Exception) -> None:
        """Log that a worker died, return its job to the queue and start another worker."""
        self.losses[number] += 1
        losses, most = self.losses[number], RETRIES + self.count
        no_memory = isinstance(error, OutOfMemoryError)
        cause = "out of memory" if no_memory else "for a cause unknown to Ray"
        where, then = "as it started", "another one starts"
        if number is not None and (job := self.unfinished_jobs.get(number)):
            most, then = RETRIES, "which is done again"
            where = f"during {job.name} of game {job.task.id.label}"
            self.waiting.appendleft(number)
        if losses > most:
            times = f"a worker died {where} {losses} times"
            raise WorkersLostError(f"{times}, the last {cause}") from error
        log.warning("a worker died %s, %s (%d of %d), %s", where, then, losses, most, cause)
        ray.kill(worker)  # one that merely cannot be reached would keep its place
        self._start()

    def _start(self) -> None:
        worker = ray.remote(num_cpus=1, num_gpus=self.gpus)(_Worker).remote()
        self.busy[worker.start.remote(self.settings, self.gpus)] = worker, None


def worker_count(cluster: ClusterConfig, cores: int, gpus: Sequence[float]) -> int:
    """Number of workers: as set, or one for each core, as many as nodes with so many GPUs have
    room for."""
    room = workers_of(gpus, cluster.gpus_per_worker) if cluster.gpus_per_worker else MOST_WORKERS
    return cluster.workers or max(1, min(MOST_WORKERS, cores, room))


def is_device_fault(cause: object) -> bool:
    """Whether a GPU failed, which another process may find sound, and not its memory's size."""
    return type(cause).__name__ == "AcceleratorError" and "out of memory" not in str(cause)


def own_error(error: RayTaskError, starting: bool) -> Exception:
    """The error that a worker raised itself: a user's, or :class:`WorkersLostError` if it could not
    start; an error of the program stays with its traceback in the worker."""
    cause = error.cause
    if isinstance(cause, XGLError | ArchiveError):
        return cause
    from xgl.lm.memory import out_of_memory  # torch: only where a worker failed

    if out_of_memory(cause):
        reason, _, _ = str(cause).partition(". ")
        return WorkersLostError(
            f"a worker ran out of memory ({reason}): resume with more of a GPU for each "
            "(cluster.gpus_per_worker), or begin again with less player.memory_mib and "
            "judge.memory_mib"
        )
    if starting:
        return WorkersLostError(f"a worker cannot load its models: {type(cause).__name__}: {cause}")
    return error


# -- joining Ray -----------------------------------------------------------------------------------


def check(cluster: ClusterConfig) -> None:
    """Raises :class:`ConfigError` for a cluster that cannot be joined or a GPU that is not there.
    Joins a cluster that is given by address, and leaves it; a run joins by :func:`connect`."""
    if cluster.address is None:
        cores = os.cpu_count() or 1
        most = max(WORKERS_PER_CORE * cores, 8)
        if (count := cluster.workers or 0) > most:
            raise ConfigError(
                f"cluster.workers: found {count} processes, each with its models, for {cores} "
                f"cores, expected at most {most}; on a cluster, name its cluster.address"
            )
        if cluster.gpus_per_worker > 0:
            _check_room(cluster, [_gpus_here()], "this machine")
        return
    expected = "expected null, auto, or host:port of a running Ray"
    host, _, port = cluster.address.rpartition(":")
    if not cluster.address or "//" in cluster.address:
        raise ConfigError(f"cluster.address: found {cluster.address!r}, {expected}")
    if host and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:
            raise ConfigError(
                f"cluster.address: {cluster.address} does not answer ({error}), {expected}"
            ) from None
    try:
        connect(cluster)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"cluster.address: {cluster.address}: {reason}, {expected}") from None
    try:
        gpus = [node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]]
        _check_room(cluster, gpus, "the cluster")
    finally:
        ray.shutdown()  # else the next run of this process, a local one too, would be in it


def _gpus_here() -> int:
    import torch  # loads slowly, and most machines that ask for no GPU have none

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _check_room(cluster: ClusterConfig, gpus: Sequence[float], whose: str) -> None:
    """All workers must find place on machines with so many GPUs, or the run would wait for ever."""
    share, count = cluster.gpus_per_worker, cluster.workers or 1
    key = f"cluster.gpus_per_worker: found {share}"
    if share and not sum(gpus):
        raise ConfigError(f"{key}, but {whose} has no GPU, expected 0, which keeps to CPUs")
    if share and count > (room := workers_of(gpus, share)):
        raise ConfigError(
            f"{key} and {plural(count, 'worker')}, expected at most {room}: so many, with their "
            f"judges, find place on the {sum(gpus):g} GPUs of {whose}, {max(gpus):g} at most of one"
        )


def connect(cluster: ClusterConfig) -> None:
    """Join the cluster, or start a local Ray; once for each process. Raises
    :class:`WorkersLostError` when a local Ray does not start on a machine that is too busy."""
    if ray.is_initialized():
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    # Ray prints pages of its log when one of its processes ends: the log is in a file, and the run
    # says what happened.
    ray_worker.print_to_stdstream = lambda *_, **__: None
    # Its handlers of SIGTERM would end the run before that could say a word: Python's at once, that
    # of its C++ core, of which Python does not know, by an alarm after three seconds.
    ray_utils.set_sigterm_handler = lambda _: None
    before = ray_constants.ENABLE_RAY_CLUSTER
    try:
        if cluster.address:
            ray.init(address=cluster.address, **quiet)
            return
        # Where clusters are possible, Ray replaces LOOPBACK by the machine's own address, and
        # listens on all interfaces. Afterwards this process may join one.
        ray_constants.ENABLE_RAY_CLUSTER = False
        start_local(
            lambda: ray.init(
                address="local",  # None would join whatever cluster was started on this machine
                num_cpus=cluster.workers,
                # Ray's own count is 0 where a driver answers torch and not Ray: it would wait
                num_gpus=_gpus_here() if cluster.gpus_per_worker else None,
                include_dashboard=False,
                # beside a GPU adapters and paused fine-tunes are larger: Ray's own share of memory
                object_store_memory=None if cluster.gpus_per_worker else OBJECT_STORE_BYTES,
                _node_ip_address=LOOPBACK,
                **quiet,
            )
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)


def check_alive() -> None:
    """Raises :class:`WorkersLostError` if a process is gone without which Ray ends the driver too,
    at its next call or after a minute, before the run could say a word."""
    if (node := ray_worker._global_node) is None:
        return
    if ended := [name for name, _ in node.dead_processes() if name in VITAL]:
        raise WorkersLostError(
            f"Ray's process {ended[0]} has ended (killed, or out of memory), which all workers need"
        )
    if not node.all_processes:  # they are those of a cluster
        _check_head(node.gcs_address)
        _check_own_node(node.raylet_socket_name)


def _check_head(address: str) -> None:
    """Raises :class:`WorkersLostError` if nothing listens at the address for ``HEAD_SECONDS``."""
    host, _, port = address.rpartition(":")
    end = time.monotonic() + HEAD_SECONDS
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise WorkersLostError(
                    f"the head of the cluster, {address}, no longer answers ({error})"
                ) from None
        time.sleep(1)


def _check_own_node(raylet: str) -> None:
    """Raises :class:`WorkersLostError` if nothing listens at the socket of this machine's node,
    through which the driver reaches all others: without it, Ray would wait for ever."""
    if not hasattr(socket, "AF_UNIX") or not raylet.startswith("/"):
        return
    with socket.socket(socket.AF_UNIX) as own:
        try:
            own.connect(raylet)
        except OSError as error:
            raise WorkersLostError(
                f"Ray's process raylet of this machine has ended ({error.strerror}), through which "
                "the run reaches the cluster; join it again, then resume"
            ) from None


def start_local(start: Callable[[], object], pause: float = 2.0) -> None:
    """Call ``start`` until it succeeds, ``STARTS`` times at most, ``pause`` seconds apart. Raises
    :class:`WorkersLostError` with the last cause."""
    for attempt in range(1, STARTS + 1):
        try:
            start()
            return
        except Exception as error:  # Ray's are of no common type
            cause = str(error).partition("\n")[0]
            if attempt == STARTS:
                raise WorkersLostError(
                    f"Ray did not start in {STARTS} attempts, the last: {cause}"
                ) from error
        log.warning("Ray did not start, attempt %d of %d", attempt, STARTS)
        ray.shutdown()  # one that started only in part
        time.sleep(pause)
