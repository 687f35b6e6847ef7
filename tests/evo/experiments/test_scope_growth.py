"""Which groups of requests free workers begin, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evo.experiments.scope_growth import Group, LedgerRunner
from evo.record.budget import Cost
from evo.record.collector import Collector


@dataclass
class Workers:
    """Some workers; a job is the name of a request. Jobs end in the order in which they began."""

    count: int
    begun: list[str] = field(default_factory=list)
    running: list[int] = field(default_factory=list)

    def has_room(self) -> bool:
        return len(self.running) < self.count

    def begin(self, job: str) -> int:
        self.begun.append(job)
        self.running.append(len(self.begun) - 1)
        return self.running[-1]

    def next_event(self) -> tuple[int, str]:
        number = self.running.pop(0)
        return number, self.begun[number]


@dataclass(frozen=True)
class Named:
    """The part of a request that a runner uses."""

    name: str
    trains: bool = False

    def known(self, shelf: Shelf) -> bool:
        return self.name in shelf.stored

    def cost(self, shelf: Shelf) -> Cost:
        return Cost(tokens=1)

    def job(self, shelf: Shelf, group: Group) -> str:
        return self.name


@dataclass
class Shelf:
    """The part of a collector, and of its ledger, that a runner uses; it knows what is stored."""

    executor: Workers
    policies_per_pass: int = 1
    stored: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> Shelf:
        return self

    def store(self, group: Sequence[Any], result: str) -> None:
        assert result == group[0].name, "the result of this group"
        assert not {each.name for each in group} & {*self.stored}, "rows a second time"
        self.stored += [each.name for each in group]

    def announce(self, groups: Sequence[Group]) -> None:
        pass


def ledger_runner(workers: int) -> tuple[LedgerRunner, Workers]:
    executor = Workers(workers)
    return LedgerRunner(cast(Collector, Shelf(executor))), executor


def play(number: int) -> Group:
    return cast(Group, (Named(f"play {number}"),))


def train(name: str) -> Group:
    return cast(Group, (Named(f"train {name}", trains=True),))


def test_no_fine_tune_begins_between_a_result_and_the_plays_that_it_makes_possible() -> None:
    """A worker that became free with the result would be busy with a long fine-tune."""
    runner, workers = ledger_runner(1)
    runner.finish([play(1), train("later")])
    runner.finish([play(2), train("later")])
    assert workers.begun == ["play 1", "play 2"]


def test_an_urgent_fine_tune_is_not_overtaken_by_later_plays() -> None:
    """Workers that another group leaves free begin the first one, whatever plays are left."""
    runner, workers = ledger_runner(2)
    plays = [play(number) for number in range(1, 5)]
    runner.finish(plays)
    runner.finish([train("urgent"), *plays[1:]])
    assert workers.begun == ["play 1", "play 2", "play 3", "train urgent", "play 4"]


def test_a_group_that_the_ledger_holds_in_part_is_done_for_the_rest() -> None:
    """With several policies in a pass a game's own plays may stand in a group with new ones."""
    runner, workers = ledger_runner(1)
    assert runner.finish([play(1)]) == runner.finish([play(1)]) == Cost(tokens=1)
    runner.finish([(*play(1), *play(2), *play(3)), play(4)])
    assert workers.begun == ["play 1", "play 2", "play 4"]
    assert cast(Any, runner.collector).stored == ["play 1", "play 2", "play 3"]
