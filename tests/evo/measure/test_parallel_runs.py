"""Measured runs side by side: what they share, without a model."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from archive import RunEvent
from evo.config.measure import MeasureConfig, MeasureRunConfig
from evo.config.schema import ArchiveRoot, BudgetConfig
from evo.measure.parallel_runs import (
    Measurement,
    ParallelSession,
    SessionTally,
    WorkDone,
    events_of,
    work_done_in,
)
from evo.record.cost import Cost
from meta_sampler import BudgetReachedError

BEFORE = WorkDone(3, Cost(100, 5.0))


def session(place: Path, **budget: float) -> ParallelSession:
    return ParallelSession(
        SessionTally(place / "tally"), BudgetConfig(**budget), BEFORE, 10, time.time()
    )


def test_a_tally_adds_up_what_each_process_did(tmp_path: Path) -> None:
    one, other = SessionTally(tmp_path / "tally"), SessionTally(tmp_path / "tally")
    assert one.total() == WorkDone()
    one.add(Cost(10, 1.5))
    other.add(Cost(20, 0.5, 0.25))
    assert one.total() == other.total() == WorkDone(2, Cost(30, 2.0, 0.25))


def test_progress_counts_earlier_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common_session = session(tmp_path)
    common_session.tell("grown/a", "embedded g: narms 1.00", Cost(10, 1.0))
    common_session.tell("grown/b", "embedded g: narms 2.00", Cost(10, 1.0))
    first, second = capsys.readouterr().out.splitlines()
    assert "grown/a: embedded g: narms 1.00; 4 of 10, about 0:0" in first
    assert "grown/b: embedded g: narms 2.00; 5 of 10, about 0:0" in second


def test_the_budget_is_of_all_sessions_and_processes(tmp_path: Path) -> None:
    common_session = session(tmp_path, tokens=120)
    common_session.tell("a", "line", Cost(10, 1.0))
    with pytest.raises(BudgetReachedError, match="tokens=120 is reached"):
        common_session.tell("b", "line", Cost(10, 1.0))


def test_nothing_begins_once_the_budget_is_spent(tmp_path: Path) -> None:
    common_session = session(tmp_path, tokens=100)
    config = MeasureRunConfig(
        experiment="measure",
        name="m",
        measure=MeasureConfig(folder=str(tmp_path / "none")),
        archive=ArchiveRoot(root=str(tmp_path / "runs")),
    )
    outcome = Measurement("m", config, common_session)()
    assert outcome.event is RunEvent.OUT_OF_BUDGET
    assert not config.folder.exists()
    assert (work_done_in(config.folder), events_of(config.folder)) == (WorkDone(), [])


def test_a_mistake_is_an_outcome_and_names_the_measure(tmp_path: Path) -> None:
    config = MeasureRunConfig(
        experiment="measure",
        name="m",
        measure=MeasureConfig(folder=str(tmp_path / "none")),
        archive=ArchiveRoot(root=str(tmp_path / "runs")),
    )
    outcome = Measurement("grown/m", config, session(tmp_path))()
    assert outcome.failed
    assert outcome.exit_code == 2
    assert outcome.message.startswith("grown/m: measure.folder: ")
