"""Which passes free workers begin, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from archive import Purpose
from archive.schema import BASE_POLICY
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.record.collector import Collector
from evo.record.cost import Cost
from evo.record.requests import Pass, PlayRequest, TrainingRequest
from evo.record.workshop import LedgerWorkshop


@dataclass
class Workers:
    """Some workers; a job is the name of a pass, and jobs end in the order in which they began."""

    count: int
    begun: list[str] = field(default_factory=list)
    running: list[int] = field(default_factory=list)

    def has_room(self, trains: bool) -> bool:
        return len(self.running) < self.count

    def begin(self, job: str) -> int:
        self.begun.append(job)
        self.running.append(len(self.begun) - 1)
        return self.running[-1]

    def next_event(self) -> tuple[int, str]:
        number = self.running.pop(0)
        return number, self.begun[number]


@dataclass
class Shelf:
    """The part of a collector that a workshop uses; it knows what is stored."""

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


def workshop(workers: int) -> tuple[LedgerWorkshop, Workers]:
    executor = Workers(workers)
    return LedgerWorkshop(cast(Collector, Shelf(executor))), executor


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
    shop, workers = workshop(1)
    shop.finish([play(task, 1), train(task, "later")])
    shop.finish([play(task, 2), train(task, "later")])
    assert workers.begun == ["play 1", "play 2"]


def test_plays_begin_as_soon_as_a_worker_is_free(make_task: Callable[..., Task]) -> None:
    task = make_task()
    shop, workers = workshop(1)
    shop.finish([play(task, 1), train(task, "later"), play(task, 2)])
    assert workers.begun == ["play 1", "play 2"]


def test_a_fine_tune_begins_while_the_first_pass_has_no_result(
    make_task: Callable[..., Task],
) -> None:
    task = make_task()
    shop, workers = workshop(2)
    shop.finish([train(task, "first"), train(task, "second"), play(task, 1)])
    assert workers.begun == ["train first", "train second", "play 1"]


def test_what_the_ledger_holds_is_not_done_again(make_task: Callable[..., Task]) -> None:
    task = make_task()
    shop, workers = workshop(1)
    assert shop.finish([play(task, 1)]) == shop.finish([play(task, 1)]) == Cost(tokens=1)
    assert workers.begun == ["play 1"]
