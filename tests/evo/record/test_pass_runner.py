"""Which passes free workers begin, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from archive import Purpose
from archive.schema import BASE_POLICY
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.pass_runner import LedgerPassRunner
from evo.record.requests import Pass, PlayRequest, TrainingRequest


@dataclass
class Workers:
    """Some workers; a job is the name of a pass. Jobs end in the order in which they began, but
    those named in ``slow`` after all others."""

    count: int
    slow: tuple[str, ...] = ()
    begun: list[str] = field(default_factory=list)
    running: list[int] = field(default_factory=list)

    def has_room(self, trains: bool) -> bool:
        return len(self.running) < self.count

    def begin(self, job: str) -> int:
        self.begun.append(job)
        self.running.append(len(self.begun) - 1)
        return self.running[-1]

    def next_event(self) -> tuple[int, str]:
        number = min(self.running, key=lambda each: self.begun[each] in self.slow)
        self.running.remove(number)
        return number, self.begun[number]


@dataclass
class Shelf:
    """The part of a collector that a pass runner uses; it knows what is stored."""

    executor: Workers
    stored: list[str] = field(default_factory=list)

    def knows(self, request: Any) -> bool:
        return name((request,)) in self.stored

    def job(self, one: Pass) -> str:
        return name(one)

    def store(self, one: Pass, result: str) -> None:
        assert result == name(one), "the result of this pass"
        self.stored.append(result)

    def announce(self, passes: Sequence[Pass]) -> None:
        pass

    def cost(self, request: Any) -> Cost:
        return Cost(tokens=1)


def name(one: Pass) -> str:
    match one[0]:
        case TrainingRequest(policy_id):
            return f"train {policy_id}"
        case PlayRequest() as request:
            return f"play {len(request.seeds)}"
    raise AssertionError


def pass_runner(workers: int, slow: tuple[str, ...] = ()) -> tuple[LedgerPassRunner, Workers]:
    executor = Workers(workers, slow)
    return LedgerPassRunner(cast(Collector, Shelf(executor))), executor


def play(task: Task, number: int) -> Pass:
    return (
        PlayRequest(BASE_POLICY, task, Purpose.SELECTION, tuple(evaluation_seeds("", 0, number))),
    )


def train(task: Task, policy: str) -> Pass:
    return (TrainingRequest(policy, task, 0),)


def test_no_fine_tune_begins_between_a_result_and_the_plays_that_it_makes_possible(
    make_task: Callable[..., Task],
) -> None:
    """A worker that became free with the result would be busy with a long fine-tune."""
    task = make_task()
    runner, workers = pass_runner(1)
    runner.finish([play(task, 1), train(task, "later")])
    runner.finish([play(task, 2), train(task, "later")])
    assert workers.begun == ["play 1", "play 2"]


def test_plays_begin_as_soon_as_a_worker_is_free(make_task: Callable[..., Task]) -> None:
    task = make_task()
    runner, workers = pass_runner(1)
    runner.finish([play(task, 1), train(task, "later"), play(task, 2)])
    assert workers.begun == ["play 1", "play 2"]


def test_a_fine_tune_begins_while_the_first_pass_has_no_result(
    make_task: Callable[..., Task],
) -> None:
    task = make_task()
    runner, workers = pass_runner(2)
    runner.finish([train(task, "first"), train(task, "second"), play(task, 1)])
    assert workers.begun == ["train first", "train second", "play 1"]


def test_an_urgent_fine_tune_is_not_overtaken_by_later_plays(
    make_task: Callable[..., Task],
) -> None:
    """Workers that another pass leaves free begin the first one, whatever plays are left."""
    task = make_task()
    runner, workers = pass_runner(2)
    plays = [play(task, number) for number in range(1, 5)]
    runner.finish(plays)
    runner.finish([train(task, "urgent"), *plays[1:]])
    assert workers.begun == ["play 1", "play 2", "play 3", "train urgent", "play 4"]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_results_are_stored_in_the_order_of_the_passes(
    make_task: Callable[..., Task], workers: int
) -> None:
    """A result that comes early waits for its turn, and is not computed twice."""
    task = make_task()
    runner, executor = pass_runner(workers, slow=("play 1", "train later"))
    passes = [play(task, 1), train(task, "later"), play(task, 2), play(task, 3)]
    for index in range(len(passes)):
        runner.finish(passes[index:])
    assert cast(Any, runner.collector).stored == list(map(name, passes))
    assert sorted(executor.begun) == sorted(map(name, passes))


def test_what_the_ledger_holds_is_not_done_again(make_task: Callable[..., Task]) -> None:
    task = make_task()
    runner, workers = pass_runner(1)
    assert runner.finish([play(task, 1)]) == runner.finish([play(task, 1)]) == Cost(tokens=1)
    assert workers.begun == ["play 1"]
