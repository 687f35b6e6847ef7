"""The collector outside the order that a search keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.search import FakeExecutor, Nature

from archive import Archive, Purpose
from archive.schema import BASE_POLICY
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.jobs.job import Training
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import Listener
from evo.record.requests import JUDGED_PLAY, UNKNOWN_TOKENS, PlayRequest
from xgl.settings import Role, role_of


def test_a_game_is_calibrated_in_its_role_before_it_is_learned(
    make_task: Callable[..., Task], tmp_path: Path
) -> None:
    task, executor = make_task(), FakeExecutor(lambda _: Nature())
    with Archive.create(tmp_path / "archive") as archive:
        ledger = Ledger(archive, "r")
        config = load(RunConfig, ["+experiment=scope_growth", "transfer.calibration_plays=4"])
        collector = Collector(config, ledger, executor, Listener())
        with pytest.raises(ValueError, match=rf"game {task.game_id} \(black\): found no calibra"):
            collector.finetune([task])
        collector.calibrate([task])
        with pytest.raises(ValueError, match=r"\(bob\): found no calibration"):
            collector.finetune([replace(task, role="bob")])
        collector.finetune([task])
    [training] = [job for job in executor.jobs if isinstance(job, Training)]
    assert training.task.floor > task.floor, "the floor of the calibration plays"


def test_a_null_control_keeps_the_true_rewards_of_the_games_that_are_named(
    make_task: Callable[..., Task], tmp_path: Path
) -> None:
    initial, executor = make_task(), FakeExecutor(lambda _: Nature())
    candidate = make_task(code=initial.game.code.replace("8", "7"))
    with Archive.create(tmp_path / "archive") as archive:
        config = load(RunConfig, ["+experiment=scope_growth", "finetune.shuffle=true"])
        on = config, Ledger(archive, "r"), executor, Listener()
        collector = Collector(*on, frozenset({initial.id}))
        collector.calibrate([initial, candidate])
        collector.finetune([initial, candidate])
        collector.restart([initial, candidate])
        collector.finetune([initial, candidate])
    jobs = [job for job in executor.jobs if isinstance(job, Training)]
    assert len(jobs) == 4
    assert all(job.true_rewards == (job.task.id == initial.id) for job in jobs)


def test_no_setting_that_a_resumed_run_may_change_is_in_the_key_of_a_fine_tune(
    tmp_path: Path,
) -> None:
    with Archive.create(tmp_path / "archive") as archive:
        config = load(RunConfig, ["+experiment=scope_growth"])
        on = Ledger(archive, "r"), FakeExecutor(lambda _: Nature()), Listener()
        facts = json.loads(Collector(config, *on).settings_json)
    for section in ("judge", "player", "finetune"):
        values = getattr(config, section)
        roles = {name: role_of(type(values), name) for name in facts[section]}
        assert roles, section
        assert set(roles.values()) == {Role.SCIENCE}, section


def test_calibration_tells_how_long_plays_are_expected_to_take(
    make_task: Callable[..., Task], tmp_path: Path
) -> None:
    task, executor = make_task(), FakeExecutor(lambda _: Nature(tokens=30))
    with Archive.create(tmp_path / "archive") as archive:
        config = load(RunConfig, ["+experiment=scope_growth", "transfer.calibration_plays=4"])
        collector = Collector(config, Ledger(archive, "r"), executor, Listener())
        seeds = collector.seeds(Purpose.SELECTION, 10)
        request = PlayRequest(BASE_POLICY, task, Purpose.SELECTION, seeds)
        assert request.duration(collector) == 10 * (JUDGED_PLAY + UNKNOWN_TOKENS)
        collector.calibrate([task])
        assert request.duration(collector) == 10 * (JUDGED_PLAY + 30)
        resumed = Collector(config, Ledger(archive, "r"), executor, Listener())
        resumed.calibrate([task])
        assert request.duration(resumed) == request.duration(collector)
