"""Prompts and scoring rules: what training frameworks read, and the rewards it leads to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.doubles import WordJudge
from support.measured import Given, build, story

from archive import Archive
from archive.__main__ import main
from archive.errors import ExportError
from archive.export import export_dataset
from xgl.library import find
from xgl.rewards import Rewards

ONE = Given(find("missing_link").text, "paper")
TWO = Given("assign(s=story())\nelicit(x, y, 4)\nreward(xed(s | x) + xed(s | y))")
BOB = Given(find("fig_3_13_message").text, "paper", "bob")
JUDGED = Given("assign(s=first_n_tokens(story(), 2))\nelicit(x, 4)\nreward(xed(s | x))")


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_prompts_tell_the_game_and_lead_to_its_rewards(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Archive.open(build(tmp_path / "archive", [ONE, TWO, BOB])) as archive:
        made = export_dataset(archive, None, out, count=2)
    assert made.rows == {"train": 4, "test": 4}
    assert list(made.left_out.values()) == ["alice would have to move as well"]
    train, test = rows(out / "train.jsonl"), rows(out / "test.jsonl")
    seeds = [{json.loads(str(row["info"]))["map_seed"] for row in some} for some in (train, test)]
    assert seeds == [{0, 2}, {1, 3}]
    [message] = train[0]["prompt"]  # type: ignore[misc]
    assert message["role"] == "user"
    assert story(0, 1) in message["content"]
    assert "writes x, at most 10 tokens." in message["content"]
    assert "Write your 2 moves in order" in train[2]["prompt"][0]["content"]  # type: ignore[index]
    assert set(train[0]) == {"prompt", "answer", "task", "info"}
    said = ["<move>owl</move>", "<move>owl</move><move>ape</move>"]
    [one, two] = Rewards(WordJudge())(said, [str(train[0]["info"]), str(train[2]["info"])])
    assert one != two
    card = (out / "README.md").read_text()
    assert "train.jsonl" in card
    assert f"{BOB.game.game_id} (bob)" in card
    for line in re.findall(r"^from xgl\..*", card, re.M):
        exec(line, {})  # what the card tells its reader to import
    assert "from xgl.rewards import Rewards" in card


def test_games_that_one_prompt_cannot_ask_for_are_an_error(tmp_path: Path) -> None:
    folder = build(tmp_path / "archive", [BOB])
    refused = pytest.raises(ExportError, match="alice would have to move as well")
    with Archive.open(folder) as archive, refused:
        export_dataset(archive, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_line_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build(tmp_path / "archive", [ONE, JUDGED])
    out = tmp_path / "out"
    assert main(["export", str(folder), str(out), "--format", "dataset", "--maps", "1"]) == 0
    said = capsys.readouterr().out
    assert "1 train and 1 test prompts written to" in said
    assert f"left out: {JUDGED.game.game_id} (black): what it shows before the first move" in said
