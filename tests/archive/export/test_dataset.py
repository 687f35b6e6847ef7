"""Prompts and scoring rules: what training frameworks read, and the rewards it leads to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from support.doubles import WordJudge
from support.measured import Given, build, rows_of, story

from archive import Archive, Run
from archive.errors import ExportError
from archive.export.folder import Options, export
from archive.schema import SEARCH_POLICIES
from xgl.environments.trl import Rewards
from xgl.library import find

ONE = Given(find("missing_link").text, "paper")
TWO = Given("assign(s=story())\nelicit(x, y, 4)\nreward(xed(s | x) + xed(s | y))")
BOB = Given(find("fig_3_13_message").text, "paper", "bob")


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_prompts_tell_the_game_and_lead_to_its_rewards(tmp_path: Path) -> None:
    out = tmp_path / "out"
    archive = Archive.open(build(tmp_path / "archive", [ONE, TWO, BOB]))
    said = export(Run(archive), out, Options("dataset", maps=2))
    assert said[0].startswith("4 train and 4 test prompts written to")
    assert [line.split(": ")[2] for line in said[1:]] == ["alice would have to move as well"]
    train, test = rows(out / "train.jsonl"), rows(out / "test.jsonl")
    seeds = [{json.loads(str(row["info"]))["map_seed"] for row in some} for some in (train, test)]
    assert seeds == [{0, 2}, {1, 3}]
    games = [[row["game_id"] for row in some] for some in (train, test)]
    assert games == [[ONE.game.game_id, TWO.game.game_id] * 2] * 2  # a row of each game in turn
    _, user = train[0]["prompt"]  # type: ignore[misc]
    assert story(0, 1) in user["content"]
    assert user["content"].endswith("Write x, at most 10 tokens, as <move>...</move>.")
    request = "Write t, at most 4 tokens, then x, at most 4 tokens: 2 moves in this order"
    assert request in str(train[1]["prompt_text"])
    assert [train[0]["limits"], train[1]["limits"]] == [[10], [4, 4]]
    assert len({row["id"] for row in (*train, *test)}) == 8
    replies = ["<move>owl</move>", "<move>owl</move><move>ape</move>"]
    [one, two] = Rewards(WordJudge())(replies, [str(train[0]["info"]), str(train[1]["info"])])
    assert one != two
    card = (out / "README.md").read_text()
    parts = yaml.safe_load(card.split("---")[1])["dataset_info"]
    described = {part["config_name"]: [each["name"] for each in part["features"]] for part in parts}
    [environment, *_] = rows(out / "environments" / "train.jsonl")
    assert described == {"default": [*train[0]], "environments": [*environment]}
    assert re.findall(r"^\| `(\w+)` \|", card, re.M) == described["default"]
    assert f"{BOB.game.game_id} (bob)" in card


def test_moves_of_a_search_are_none_to_imitate_nor_the_best_that_is_known(tmp_path: Path) -> None:
    """In no format: an archive that holds no other plays knows no best ones."""
    searched = rows_of([ONE])
    for row in searched["scores"]:
        row["policy_id"] = SEARCH_POLICIES[row["policy_id"] == "base"]
    with Archive.create(tmp_path / "archive") as archive:
        archive.commit(searched)
        run = Run(archive)
        export(run, tmp_path / "dataset", Options("dataset", maps=2))
        export(run, tmp_path / "xent", Options("xent", maps=2))
        for kind in ("sft", "dpo"):
            with pytest.raises(ExportError, match="no finished play"):
                export(run, tmp_path / kind, Options(kind))
    for line in rows(tmp_path / "dataset" / "train.jsonl"):
        assert line["best_score"] is line["best_score_on_map"] is None
    [member] = json.loads((tmp_path / "xent" / "measure.json").read_text())["members"]
    assert [each["best_known"] for each in member["maps"]] == [None, None]
