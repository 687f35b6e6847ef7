"""What the commands say of a small archive, and how they meet bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from archive.__main__ import main

FOUND, INITIAL = "bbbb22220000ffff", "aaaa11110000ffff"


def output_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    return capsys.readouterr().out


def error_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_show(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output_of(capsys, "show", run_folder, "bbb")
    assert f"Game {FOUND} (paper" in text
    assert "reward(xed(s | t))" in text
    assert "accepted" in text
    sheet = json.loads(output_of(capsys, "show", run_folder, INITIAL, "--json"))
    assert [child["game_id"] for child in sheet["children"]] == [FOUND]
    assert sheet["scopes"][0]["generation"] == 0
    assert {row["policy_id"]: row["mean"] for row in sheet["plays"]} == {"base": 1.5, "f1": 4.0}


def test_decisions(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Decisions (3)" in output_of(capsys, "decisions", run_folder)
    rows = json.loads(output_of(capsys, "decisions", run_folder, "--verdict", "refused", "--json"))
    assert [row["reason"] for row in rows] == ["covered by the scope"] * 2
    [why] = json.loads(output_of(capsys, "decisions", run_folder, "--why", "ccc", "--json"))
    assert why["row"]["game_id"] == "cccc33330000ffff"
    assert why["steps"] == []


def test_components(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("components", run_folder, "--alpha", "0.3")
    assert "Run r1: the initial scope reaches" in output_of(capsys, *arguments)
    components = json.loads(output_of(capsys, *arguments, "--json"))
    assert components["alpha"] == 0.3
    assert (components["unmeasured"], components["undefined"]) == (2, 0)


@pytest.mark.parametrize("wrong", ["bbbb3", "bbbx", FOUND[:-1] + "0"])
def test_a_wrong_id_suggests_the_nearest(
    run_folder: Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    for command in (["show"], ["decisions", "--why"]):
        text = error_of(capsys, command[0], run_folder, *command[1:], wrong)
        assert f"found no id '{wrong}', expected an id such as {FOUND}" in text


def test_the_run_may_be_left_out(
    run_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run_folder.parents[1])
    assert f"Game {FOUND}" in output_of(capsys, "show", "bbbb")
    monkeypatch.chdir(run_folder)
    assert "Runs" in output_of(capsys, "inspect")
    monkeypatch.chdir(run_folder.parents[2])
    assert "found no run in ./runs" in error_of(capsys, "inspect")


def test_damage_is_one_sentence(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = run_folder / "archive"
    commands = (["inspect"], ["show", "aaaa"], ["decisions", "--why", "bbbb"])
    scopes = archive / "scopes" / "000001.parquet"
    content = scopes.read_bytes()
    scopes.write_bytes(content[: len(content) // 2])
    for command, *rest in commands[:2]:
        assert "000001.parquet is damaged" in error_of(capsys, command, run_folder, *rest)
    scopes.write_bytes(content)
    marker = archive / "archive.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"schema_version": 99}))
    for command, *rest in (*commands, ["verify"], ["matrix"]):
        text = error_of(capsys, command, run_folder, *rest)
        assert "found version 99, expected" in text
        assert "newer release" in text
    marker.write_text("[" * 100_000)
    assert "found no readable JSON" in error_of(capsys, "verify", run_folder)


@pytest.mark.parametrize(
    ("transfer", "options", "kind"),
    [
        ({"definition": "captured", "gain": "specific"}, [], "specific"),
        ({"definition": "captured", "gain": "specific"}, ["--gain", "total"], "total"),
        ({}, [], "total"),
    ],
)
def test_a_matrix_is_made_of_the_gains_that_its_run_decides_by(
    tmp_path: Path,
    make_row: Any,
    capsys: pytest.CaptureFixture[str],
    transfer: dict[str, str],
    options: list[str],
    kind: str,
) -> None:
    with Archive.create(tmp_path / "archive") as archive:
        runs = [make_row("runs", run_id="r", config_json=json.dumps({"transfer": transfer}))]
        scopes = [make_row("scopes", run_id="r", game_id="a")]
        archive.commit({"runs": runs, "scopes": scopes})
    main(["matrix", str(tmp_path), "--json", *options])
    assert json.loads(capsys.readouterr().out)["gain_kind"] == kind
