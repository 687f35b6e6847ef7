"""The collector outside the order that a search keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.search import FakeExecutor, Listed, Nature, Search, code, of_limits

from archive import Archive
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.jobs.job import Repetition, Training, Trainings
from evo.record.collector import Collector
from evo.record.display import Display
from evo.record.ledger import Ledger
from xgl.settings import Role, role_of

MakeTask = Callable[..., Task]


def collector_on(archive: Archive, *settings: str, **more: Any) -> tuple[Collector, FakeExecutor]:
    config = load(RunConfig, ["+experiment=scope_growth", *settings])
    executor = FakeExecutor(lambda _: Nature())
    return Collector(config, Ledger(archive, "r"), executor, Display(), **more), executor


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive.create(tmp_path / "archive") as archive:
        yield archive


def learn(collector: Collector, *tasks: Task) -> None:
    collector.do(each for task in tasks for each in collector.training_requests(task))


def test_a_null_control_keeps_the_true_rewards_of_the_games_that_are_named(
    make_task: MakeTask, archive: Archive
) -> None:
    initial = make_task()
    games = [initial, make_task(code=initial.game.code.replace("8", "7"))]
    unshuffled = frozenset({initial.id})
    collector, executor = collector_on(archive, "finetune.shuffle=true", unshuffled=unshuffled)
    collector.calibrate(games)
    learn(collector, *games)
    collector.restart(games)
    learn(collector, *games)
    jobs = [job for job in executor.jobs if isinstance(job, Training)]
    assert len(jobs) == 4
    assert all(job.true_rewards == (job.task.id == initial.id) for job in jobs)


def test_fine_tunes_of_one_job_are_stored_and_told_one_by_one(
    make_task: MakeTask, archive: Archive
) -> None:
    one, lines = make_task(), StringIO()
    other = make_task(code=one.game.code.replace("8", "7"))
    collector, executor = collector_on(archive, "player.policies_per_pass=4")
    collector.listener = Display(Console(file=lines, width=200))
    collector.calibrate([one, other])
    learn(collector, one, other)
    rows = archive.rows("finetunes")
    assert sorted(archive.adapters()) == sorted({row["adapter_hash"] for row in rows})
    ids = [collector.policy_id(task) for task in (one, other)]
    [job] = [job for job in executor.jobs if isinstance(job, Trainings)]
    assert [each.task.id for each in job.trainings] == [one.id, other.id]
    assert [(row["finetune_id"], row["game_id"], row["tokens"]) for row in rows] == [
        (ids[0], one.game_id, 1000),
        (ids[1], other.game_id, 1000),
    ]
    note = "ended, 1.0 → 2.0 bits a play in training; fine-tune"
    assert [f"{note} {n}" in lines.getvalue() for n in (1, 2)] == [True, True]
    assert collector.listener.tokens == 2000 + sum(r["tokens"] for r in archive.rows("scores"))


def test_no_setting_that_a_resumed_run_may_change_is_in_the_key_of_a_fine_tune(
    archive: Archive,
) -> None:
    collector, _ = collector_on(archive)
    facts = json.loads(collector.settings_json)
    for section in ("judge", "player", "finetune"):
        kind = type(getattr(collector.config, section))
        assert {role_of(kind, name) for name in facts[section]} == {Role.SCIENCE}, section


# -- The playability filters in a search: who is refused, on what evidence, and at which cost ------

FEW_SHOT = ("playability=few_shot", "growth.max_candidates=3")
WORLD = of_limits(l5=Nature(artifact=True), l6=Nature(few_shot=False), l7=Nature())
LISTED = (code(5), code(6), code(7))
REASONS = ("ill-posed", "not few-shot playable", "helps and is new")


def test_cheap_filters_come_before_expensive_ones(search: Search) -> None:
    assert search.run(WORLD, *FEW_SHOT, sampler=Listed(LISTED)) == 0
    verdicts = {row["reason"]: row for row in search.rows("decisions")}
    assert set(verdicts) == set(REASONS)
    ill, flat, good = map(verdicts.__getitem__, REASONS)
    assert ill["best_kept"] < 0.5
    assert ill["few_shot_low"] is None, "refused before it is played repeatedly"
    assert (flat["best_kept"], flat["few_shot_low"]) == (1.0, 0.0)
    assert good["few_shot_low"] > 0.9
    assert good["few_shot_above_control"] == 0.0
    assert all(row["finetune_id"] is None for row in (ill, flat))
    assert ill["decided"]
    assert flat["decided"]
    kinds = [type(job) for job in search.executor.jobs]
    assert kinds.count(Repetition) == 3, "the parent and the two that are well-posed"
    assert kinds.count(Training) == 2
    game_ids = {row["game_id"] for row in search.rows("rounds")}
    assert ill["game_id"] not in game_ids
    assert flat["game_id"] in game_ids
    assert flat["plays"] > ill["plays"]
