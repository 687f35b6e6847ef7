"""Callbacks and trackers hear of a run, and change nothing of it."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.frameworks import Framework
from support.search import Listed, Nature, Search, code, of_limits

from evo.config.compose import load
from evo.config.schema import RunConfig, TrackingConfig
from evo.record.events import (
    DecisionEvent,
    EvaluationEvent,
    Event,
    FinetuneEvent,
    ScopeEvent,
    events_of,
)
from evo.record.run_folder import log_to_folder
from evo.record.trackers import TRACKERS, Tracking, check_trackers, open_trackers
from xgl.errors import ConfigError

FINETUNE = {
    "finetune_id": "abcdef0123456789",
    "game_id": "game",
    "role": "black",
    "curve": [1.0, 2.0],
    "entropy": [5.0, 4.0],
    "grad_norm": [0.1, 0.2],
    "tokens": 100,
    "seconds": 1.5,
}
PLAY = {"policy_id": "base", "game_id": "game", "role": "black", "purpose": "selection"}
DECISION = {
    "game_id": "game",
    "role": "black",
    "verdict": "accepted",
    "reason": "helps and is new",
    "captured": 0.5,
    "gamma": None,
}
COMMIT = {
    "finetunes": [FINETUNE],
    "scores": [{**PLAY, "score": 1.0}, {**PLAY, "score": 4.0}],
    "decisions": [DECISION],
    "scopes": [{"scope": 1, "game_id": "a"}, {"scope": 1, "game_id": "b"}],
}
EVENTS: list[Event] = [
    FinetuneEvent(
        "abcdef0123456789", "game", "black", (1.0, 2.0), (5.0, 4.0), (0.1, 0.2), 100, 1.5
    ),
    EvaluationEvent("base", "game", "black", "selection", 2, 2.5),
    DecisionEvent("game", "black", "accepted", "helps and is new", 0.5, None),
    ScopeEvent(1, ("a", "b")),
]


class Points:
    """A tracker that keeps what it hears; it fails at the point ``fails_at``."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.points: list[tuple[str, float, int]] = []
        self.fails_at, self.closed = fails_at, False

    def log(self, name: str, value: float, step: int) -> None:
        if len(self.points) == self.fails_at:
            raise OSError("no room")
        self.points.append((name, value, step))

    def close(self) -> None:
        self.closed = True


def test_a_commit_is_events() -> None:
    assert list(events_of(COMMIT)) == EVENTS
    assert list(events_of({"maps": [{}]})) == []


def test_events_are_points_of_curves_that_go_on() -> None:
    tracker = Points()
    tracking = Tracking({"mine": tracker}, evaluations=7, decisions=3)
    for event in EVENTS:
        tracking(event)
    assert tracker.points == [
        ("finetune/abcdef01/curve", 1.0, 0),
        ("finetune/abcdef01/curve", 2.0, 1),
        ("finetune/abcdef01/entropy", 5.0, 0),
        ("finetune/abcdef01/entropy", 4.0, 1),
        ("finetune/abcdef01/grad_norm", 0.1, 0),
        ("finetune/abcdef01/grad_norm", 0.2, 1),
        ("evaluation/selection/mean_score", 2.5, 8),
        ("decision/accepted", 1.0, 4),
        ("decision/captured", 0.5, 4),
        ("scope/games", 2.0, 1),
    ]
    tracking.close()
    assert tracker.closed


def test_a_tracker_that_fails_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bad_tracker, whole = Points(fails_at=3), Points()
    tracking = Tracking({"broken": bad_tracker, "whole": whole}, 0, 0)
    for event in EVENTS:
        tracking(event)
    assert (len(bad_tracker.points), len(whole.points)) == (3, 10)
    assert caplog.messages == ["tracking.to: broken failed and is left out: no room"]


def test_a_tracker_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evo.record.trackers.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"wandb is not installed.*pip install wandb"):
        check_trackers(TrackingConfig(to=("wandb",)))
    check_trackers(TrackingConfig())


def test_tracking_is_no_science() -> None:
    run = "+experiment=scope_growth"
    plain, tracked_run = (
        load(RunConfig, [run]),
        load(RunConfig, [run, "tracking.to=[tensorboard,wandb]"]),
    )
    assert plain.science_hash() == tracked_run.science_hash()


def test_the_log_holds_what_is_said(tmp_path: Path) -> None:
    log = logging.getLogger("evo")
    before = list(log.handlers), log.level
    with log_to_folder(tmp_path):
        log.info("calibration: %s", "abc")
    log.info("nobody hears this")
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["INFO calibration: abc"]
    assert (list(log.handlers), log.level) == before


def test_a_log_that_cannot_be_written_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with log_to_folder(tmp_path / "full"):
        (tmp_path / "full").write_text("no folder")
        logging.getLogger("evo").info("lost")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fails_at", [None, 5])
def test_results_are_the_same_to_the_bit_with_a_tracker(
    fails_at: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a tracker that works, and of one that breaks on the way."""
    tracker = Points(fails_at)
    monkeypatch.setitem(TRACKERS, "wandb", ("pytest", lambda run: tracker))  # type: ignore[arg-type]
    search = Search(tmp_path)
    for name, overrides in (("plain", ()), ("tracked", ("tracking.to=[wandb]",))):
        sampler = Listed([code(20), code(21)])
        scope = ("growth.list_size=2", *overrides)
        assert search.run(of_limits(l21=Nature(own=0.0)), *scope, sampler=sampler, name=name) == 0
    assert len(tracker.points) > 5 if fails_at is None else len(tracker.points) == fails_at
    assert search.tables("plain") == search.tables("tracked")
    assert search.adapters("plain") == search.adapters("tracked")


INSTALLED = [name for name, (package, _) in TRACKERS.items() if find_spec(package)]
"""Others' packages, of which the tests need none: each is used where it is at hand."""


@pytest.mark.parametrize("name", [*INSTALLED, "none"])
def test_real_trackers_go_on_with_the_same_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WANDB_SILENT", "true")
    to = () if name == "none" else (name,)
    for session in range(2):
        counts = session, session
        settings: dict[str, Any] = {"seed": 3, "growth": {"alpha1": 0.3}}
        with open_trackers(TrackingConfig(to=to), "run-1", tmp_path, settings, counts) as tracking:  # type: ignore[arg-type]
            for event in EVENTS:
                tracking(event)
    assert caplog.messages == []
    if name == "tensorboard":
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        accumulator = EventAccumulator(str(tmp_path / "tracking" / name))
        accumulator.Reload()
        assert {"scope/games", "decision/captured"} <= set(accumulator.Tags()["scalars"])
    elif name == "none":
        assert not list(tmp_path.iterdir())
    else:
        assert any((tmp_path / "tracking" / name).rglob("*"))


TRACK = """
import sys
from pathlib import Path
from evo.config.schema import TrackingConfig
from evo.record.events import ScopeEvent
from evo.record.trackers import open_trackers
name, folders = sys.argv[1], sys.argv[2:]
for folder in folders:
    with open_trackers(TrackingConfig(to=(name,)), "run-1", Path(folder), {}, (0, 0)) as tracking:
        tracking(ScopeEvent(1, ("a",)))
        print(folder, *tracking.trackers)
"""


@pytest.mark.long
@pytest.mark.parametrize("name", TRACKERS)
def test_a_tracker_writes_inside_the_run_folder(name: str, tmp_path: Path) -> None:
    """Current releases, with a home that stays empty; two sessions, then another run."""
    packages = [package for package, _ in TRACKERS.values()]
    framework = Framework(tmp_path / "frameworks", "trackers", *packages)
    (home := tmp_path / "home").mkdir()
    (cwd := tmp_path / "cwd").mkdir()
    first, second = tmp_path / "first", tmp_path / "second"
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "HF_HOME": str(home)}
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in places.items():
            patch.setenv(variable, value)
        output = framework.run("python", "-c", TRACK, name, first, first, second, cwd=cwd)
    lines = [line for line in output.splitlines() if line.startswith(str(tmp_path))]
    goes_on = "" if name == "trackio" else f" {name}"  # it has one folder a process
    assert lines == [f"{first} {name}", f"{first} {name}", f"{second}{goes_on}"]
    assert any(path.is_file() for path in (first / "tracking" / name).rglob("*"))
    written = [path for path in (*home.rglob("*"), *cwd.rglob("*")) if path.is_file()]
    debug_logs = home / "wandb" / "logs", home / ".cache" / "wandb" / "logs"  # its service
    assert [path for path in written if path.parent not in debug_logs] == []
