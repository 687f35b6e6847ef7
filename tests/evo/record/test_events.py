"""What callbacks hear of a run; its log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from evo.record.events import (
    DecisionEvent,
    EvaluationEvent,
    Event,
    FinetuneEvent,
    ScopeEvent,
    events_of,
)
from evo.record.run_folder import log_to_folder

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


def test_a_commit_is_events() -> None:
    assert list(events_of(COMMIT)) == EVENTS
    assert list(events_of({"maps": [{}]})) == []


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
