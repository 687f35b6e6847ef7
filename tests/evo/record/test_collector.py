"""The collector outside the order that a search keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.search import FakeExecutor, Nature

from archive import Archive
from evo.config.compose import load
from evo.jobs.evaluation import Task
from evo.jobs.job import Training
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import Silence


def test_a_game_is_calibrated_in_its_role_before_it_is_learned(
    make_task: Callable[..., Task], tmp_path: Path
) -> None:
    task, executor = make_task(), FakeExecutor(lambda _: Nature())
    with Archive.create(tmp_path / "archive") as archive:
        ledger = Ledger(archive, "r")
        config = load(["+experiment=scope_growth", "transfer.calibration_plays=4"])
        collector = Collector(config, ledger, executor, Silence())
        with pytest.raises(ValueError, match=rf"game {task.game_id} \(black\): found no calibra"):
            collector.finetune([task])
        collector.calibrate([task])
        with pytest.raises(ValueError, match=r"\(bob\): found no calibration"):
            collector.finetune([replace(task, role="bob")])
        collector.finetune([task])
    [training] = [job for job in executor.jobs if isinstance(job, Training)]
    assert training.task.floor > task.floor, "the floor of the calibration plays"
