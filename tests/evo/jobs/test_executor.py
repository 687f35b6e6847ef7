"""Pools of workers, parcels, and what a user sees when workers keep dying (that one death does no
harm: tests/end_to_end)."""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import signal
from collections import Counter, deque
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from ray._private import ray_constants
from ray.exceptions import RayTaskError
from support.mortal import dies, dies_once

from archive import Archive
from archive.errors import DamagedError
from evo.config.schema import ClusterConfig
from evo.jobs import executor as executors
from evo.jobs.job import Evaluation, StoredAdapter, Workers, WorkersLostError
from xgl.errors import ConfigError


@pytest.mark.parametrize(
    ("cores", "gpus", "share", "count"),
    [
        *((2, [0], 0, 2), (64, [], 0, 8), (64, [2], 0.5, 4), (64, [2], 0.1, 8)),
        *((64, [8, 8], 3, 4), (64, [0.5, 1.5], 0.25, 8), (64, [6], 0.6, 6)),
    ],
)
def test_without_settings_there_is_a_worker_for_each_core_or_as_many_as_gpus_have_room_for(
    cores: int, gpus: list[float], share: float, count: int
) -> None:
    assert executors.worker_count(ClusterConfig(gpus_per_worker=share), cores, gpus) == count


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpus_per_worker": 0.6}, "found 0.6 and 1 worker, .*most 0: .* 1 GPUs of .*, 0.5 at"),
        ({"gpus_per_worker": 0.5, "workers": 3}, "and 3 workers, expected at most 2: .*cluster"),
        ({"gpus_per_worker": 0.5, "workers": 2}, ""),
    ],
)
def test_a_cluster_has_room_for_all(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [{"Alive": alive, "Resources": {"GPU": 0.5}} for alive in (True, True, False)]
    monkeypatch.setattr("ray.nodes", lambda: nodes)
    monkeypatch.setattr("evo.jobs.executor.connect", lambda cluster: None)
    config = ClusterConfig(address="auto", **changes)
    left = list[bool]()
    monkeypatch.setattr("ray.shutdown", lambda: left.append(True))
    if not message:
        return executors.check(config)
    with pytest.raises(ConfigError, match=message):
        executors.check(config)
    assert left, "the next run of this process is not in this cluster"


@pytest.mark.parametrize("address", ["", "ray://h:1", "a..b:6379", "h:²", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_one_sentence(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^cluster\.address: .*expected null, auto, or host"):
        executors.check(ClusterConfig(address=address))


def test_joining_a_cluster_and_a_local_run_before_it_with_the_gpus_that_torch_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After both, SIGTERM is the run's own again: Ray's core takes it unknown to Python."""
    deaf = partial(ctypes.CDLL(None).signal, int(signal.SIGTERM), ctypes.c_void_p(1))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    seen, cluster = list[tuple[bool, int | None]](), "ENABLE_RAY_CLUSTER"
    monkeypatch.setattr(ray_constants, cluster, True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray._private.worker.print_to_stdstream", None)
    now = partial(getattr, ray_constants, cluster)
    monkeypatch.setattr(
        "ray.init", lambda **to: deaf() and seen.append((now(), to.get("num_gpus")))
    )
    try:
        for asked in ({}, {"gpus_per_worker": 0.5}, {"address": "10.0.0.1:6379"}):
            executors.connect(ClusterConfig(**asked))
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [(False, None), (False, 2), (True, None)]


@pytest.mark.parametrize("error", [MemoryError("full"), torch.OutOfMemoryError("full. Tried")])
def test_a_worker_without_memory_is_one_sentence(error: Exception) -> None:
    found = executors.own_error(cast(Any, SimpleNamespace(cause=error)), starting=False)
    assert isinstance(found, WorkersLostError)
    assert str(found).startswith("a worker ran out of memory (full): resume with more of a GPU")


def test_each_adapter_is_read_once(
    tmp_path: Path, make_task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty jobs with six adapters: the driver reads each once and keeps none."""
    archive, objects, reads = Archive.create(tmp_path / "archive"), list[bytes](), list[str]()
    digests = [archive.put_adapter(bytes([n]) * 100_000) for n in range(6)]
    read = archive.get_adapter
    monkeypatch.setattr(archive, "get_adapter", lambda each: reads.append(each) or read(each))
    monkeypatch.setattr("ray.put", lambda each: objects.append(each) or len(objects))
    monkeypatch.setattr("ray.get", lambda at: objects[at - 1])
    stored, task = [StoredAdapter(each, archive) for each in digests], make_task()
    jobs = [Evaluation(task, (stored[n % 6],), ()) for n in range(60)]
    assert reads == [], "a job that waits has read nothing"
    references, worker = executors.AdapterReferences(), executors._Worker()
    sent: list[Any] = [job.with_adapters(references.of) for job in jobs]
    assert reads == digests
    assert len(pickle.dumps(sent)) < 100_000, "less than one adapter"
    worker.model_host = cast(Any, SimpleNamespace(do=lambda job: job.adapters))
    for n, job in enumerate(sent):
        [adapter], _ = cast(Any, worker.play(job))
        assert sha256(adapter).hexdigest() == digests[n % 6]
    assert len(objects) == 6


def test_a_warning_of_a_worker_is_the_runs_and_is_told_once(
    make_task: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Ray's own files, where it would stand otherwise, nobody reads."""
    worker, job, halved = executors._Worker(), Evaluation(make_task(), (None,), ()), "in halves"
    warn = logging.getLogger("xgl.lm").warning
    worker.model_host = cast(Any, SimpleNamespace(do=lambda _: warn(halved)))
    with monkeypatch.context() as patch:
        patch.setattr(logging.getLogger("xgl"), "propagate", False)  # as in a process of its own
        done = worker.play(job)
    assert caplog.messages == []
    executor = object.__new__(executors.RayExecutor)
    executor.told, executor.free, executor.waiting = set(), deque(), deque()
    executor.unfinished_jobs = dict.fromkeys((1, 2), cast(Any, job))
    monkeypatch.setattr(executors.ray, "get", lambda _: done)
    for number in (1, 2):
        executor.busy = {"job": (worker, number)}
        monkeypatch.setattr(executor, "_next", lambda: "job")
        assert executor.next_event() == (number, None)
    assert caplog.messages == [f"a worker: {halved}"]


def test_long_jobs_are_named_while_they_run(
    make_task: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One given up by the driver is not, nor is a worker that starts."""
    job = Evaluation(task := make_task(), (None,), ())
    executor = object.__new__(executors.RayExecutor)
    executor.busy = {"first": (None, 1), "given up": (None, 2), "start": (None, None)}
    executor.unfinished_jobs = {1: job}
    waits = iter([[]] * 600 + [["first"]])
    monkeypatch.setattr(executors.ray, "wait", lambda *_, **__: (next(waits), []))
    assert executor._next() == "first"
    work = f"at work on an evaluation of game {task.id.label}"
    assert caplog.messages == [f"for 5 min {work}", f"for 10 min {work}"]
    executor.busy = {f"{n}": (None, n) for n in range(64)}
    executor.unfinished_jobs = dict.fromkeys(range(64), job)
    waits = iter([[]] * 300 + [["0"]])
    assert executor._next() == "0"
    assert caplog.messages[-1].count(" of game ") == 7
    assert caplog.messages[-1].endswith(" and 57 others")


def test_ray_is_started_again_and_then_given_up(caplog: pytest.LogCaptureFixture) -> None:
    starts: list[int] = []

    def start(failures: int) -> None:
        starts.append(failures)
        if len(starts) <= failures:
            raise Exception("The current node timed out during startup.\nDetails")

    executors.start_local(lambda: start(2), pause=0)
    assert len(starts) == executors.STARTS
    assert caplog.messages == [
        f"Ray did not start, attempt {n} of {executors.STARTS}" for n in (1, 2)
    ]
    starts.clear()
    with pytest.raises(WorkersLostError, match=r"in 3 attempts, the last: .* during startup\.$"):
        executors.start_local(lambda: start(3), pause=0)
    assert len(starts) == executors.STARTS


@pytest.mark.parametrize("starting", [True, False])
def test_what_a_worker_refuses_is_refused_in_its_words(starting: bool) -> None:
    for cause in (ConfigError("a.xent does not fit"), DamagedError("a.xent", "x", "y")):
        # what Ray's ``get`` raises if a worker raised the cause
        assert executors.own_error(RayTaskError("play", "Traceback …", cause), starting) is cause


def test_the_fourth_death_on_one_job_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors.RayExecutor, "_start", lambda _: None)
    monkeypatch.setattr(executors.ray, "kill", lambda _: None)
    executor = object.__new__(executors.RayExecutor)
    executor.count, executor.losses, executor.waiting = 1, Counter(), deque()
    task = SimpleNamespace(id=SimpleNamespace(label="ab12"))
    executor.unfinished_jobs = {7: cast(Any, SimpleNamespace(name="evaluation", task=task))}
    for _ in range(3):
        executor._lose(None, 7, OSError())
    assert [*executor.waiting] == [7, 7, 7]
    with pytest.raises(WorkersLostError, match="evaluation of game ab12 4 times, the last for a"):
        executor._lose(None, 7, OSError())


def test_a_lost_worker_process_costs_time_and_no_result(tmp_path: Path) -> None:
    workers = Workers(2, "some.workers")
    jobs = [(n, partial(dies_once, tmp_path / str(n % 2), n)) for n in range(4)]
    try:
        assert list(workers.compute(jobs)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
        with pytest.raises(WorkersLostError, match=r"died 3 times.*\(fewer: some.workers\)"):
            list(workers.compute([("one", partial(dies, 1)), ("two", partial(dies, 2))]))
    finally:
        workers.close()
