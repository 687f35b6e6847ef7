"""What a person sees: lines, and what the log holds."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from growths import ACCEPTED
from rich.console import Console

from archive import Reason
from archive.statistics.rule import Decision
from evo.jobs.evaluation import Task
from evo.record.display import Display
from evo.record.run_folder import log_to_folder

MakeTask = Callable[..., Task]
NAME = "what the story calls for"
"""Of the game that ``make_task`` makes."""


def follow(display: Display, task: Task) -> None:
    display.candidate_list(2, task, 1)
    display.stage("fine-tuning", [task, task], 2)
    display.stage("acceptance", [], 0)
    display.job("fine-tuning", task, 1500, "0.8 → 9.7 bits")
    display.stage("calibration", [task, task], 2)
    display.job("calibration", task, 0)
    display.stage("selection", [task], 1)  # alone, so without lines of its own
    display.job("selection", task, 34)
    display.decision(task, Decision(Reason.TOO_LONG, True, "3 [steps]"))
    display.decision(task, Decision(Reason.NEW_AND_USEFUL, True))


def test_without_a_terminal_there_are_plain_lines(make_task: MakeTask) -> None:
    task, out = make_task(), StringIO()
    display = Display(Console(file=out, width=60))
    follow(display, task)
    assert display.finetunes == 1
    lines = out.getvalue().splitlines()
    short = task.game_id[:8]
    matches = [re.fullmatch(r"\[ *\d+\.\d s, ([\d,]+) tokens\] (.*)", line) for line in lines]
    assert [(m[1], m[2]) for m in matches if m] == [
        ("0", f"list 2 of new games like {NAME} ({short})"),
        ("0", f"fine-tuning: {short}"),
        ("1,500", f"fine-tuning {short} ended, 0.8 → 9.7 bits; fine-tune 1"),
        ("1,500", f"calibration: {short}"),
        ("1,500", f"calibration {short} ended, 1 of 2"),
        ("1,534", f"refused: {NAME} ({short}): too long to learn: 3 [steps]"),
        ("1,534", f"accepted: {NAME} ({short}): helps and is new"),
    ]
    assert all(matches)
    assert len(ACCEPTED.findall(out.getvalue())) == 1, "what a benchmark reads of it"
    assert "\x1b" not in out.getvalue()


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
