"""What a person sees: lines, and what the log holds."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from growths import ACCEPTED
from support.search import Listed, Nature, Search, code, of_limits

from evo.record.run_folder import log_to_folder

Capsys = pytest.CaptureFixture[str]
NAME = "what the story calls for"
"""Of every game of the search."""


def test_without_a_terminal_there_are_plain_lines_which_the_log_keeps(
    search: Search, capsys: Capsys
) -> None:
    """Fine-tunes of one job are told one by one."""
    settings = ("growth.list_size=3", "growth.max_candidates=3", "player.policies_per_pass=2")
    world, sampler = of_limits(l5=Nature(tokens=20_000)), Listed([code(n) for n in (7, 6, 5)])
    assert search.run(world, *settings, sampler=sampler) == 0
    output = capsys.readouterr().out
    lines = re.findall(r"^\[ *\d+\.\d s, ([\d,]+) tokens\] (.*)$", output, re.MULTILINE)
    parent, a, b, c = (row["game_id"][:8] for row in search.rows("games"))
    learned = "ended, 1.0 → 2.0 bits a play in training; fine-tune"
    assert lines[:5] == [
        ("80", f"fine-tuning: {NAME} ({parent})"),
        ("1,080", f"fine-tuning {NAME} ({parent}) {learned} 1"),
        ("1,400", f"list 1 of new games like {NAME} ({parent})"),
        ("1,400", f"calibration: {a} {b} {c}"),
        ("1,480", f"calibration {a} ended, 1 of 3"),
    ]
    texts = [text for _, text in lines]
    assert any(text.startswith(f"refused: {NAME} ({c}): too long to learn: ") for text in texts)
    first = texts.index(f"fine-tuning {NAME} ({a}) {learned} 2")
    assert texts[first + 1] == f"fine-tuning {NAME} ({b}) {learned} 3"
    assert f"accepted: {NAME} ({b}): helps and is new" in texts
    log = (search.folder / "run" / "run.log").read_text().splitlines()
    assert [line.split(" INFO ")[1] for line in log][1:-1] == texts
    assert len(ACCEPTED.findall(output)) == 1, "what a benchmark reads of it"
    assert "\x1b" not in output


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path, capsys: Capsys) -> None:
    with log_to_folder(tmp_path / "full"):
        (tmp_path / "full").write_text("no folder")
        logging.getLogger("evo").info("lost")
    assert capsys.readouterr().err == ""
