"""What commands write is bounded, whatever the game is."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import IO, cast

import pytest

from xgl.cli import main
from xgl.cli.files import MAX_LINES, MAX_OUTPUT, BoundedScreen, OutputError, within_limit


def test_an_output_has_at_most_a_megabyte_for_each_game() -> None:
    assert within_limit("é" * (MAX_OUTPUT // 2)) == "é" * (MAX_OUTPUT // 2)
    assert within_limit("a" * 2 * MAX_OUTPUT, count=2)
    with pytest.raises(OutputError, match="1,000,002 bytes; at most 1,000,000"):
        within_limit("é" * (MAX_OUTPUT // 2 + 1))


def test_a_screen_takes_some_thousand_lines_for_each_round() -> None:
    file = io.StringIO()
    screen = cast("IO[str]", BoundedScreen(file, 2))
    for _ in range(2 * MAX_LINES):
        screen.write("a line\n")
    with pytest.raises(OutputError, match=r"more to show than 6,000 lines of the screen"):
        screen.write("a line\n")
    assert len(file.getvalue().splitlines()) == 2 * MAX_LINES


def test_a_game_that_ends_for_its_size_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game, moves = tmp_path / "game.xent", tmp_path / "moves.json"
    game.write_text("beacon(flag_1)\nelicit(s, 9)\nassign(t=t + t + s)\nreplay(flag_1, 20)")
    moves.write_text(json.dumps([["a hen"]]))
    assert main(["play", str(game), "--moves", str(moves), "--json"]) == 0
    [round_] = json.loads(capsys.readouterr().out)["rounds"]
    assert round_["outcome"] == "oversize"
    pattern = r"line 3: a string of \d+ characters, at most 4096 may stand"
    assert re.fullmatch(pattern, round_["reason"])
