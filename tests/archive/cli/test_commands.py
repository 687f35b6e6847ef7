"""What the commands say of a small archive, and how they meet bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from archive.__main__ import main
from archive.cli import COMMANDS

FOUND, INITIAL = "bbbb22220000ffff", "aaaa11110000ffff"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[bold]\u200b\u2028"


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


def test_every_command_explains_itself() -> None:
    for command in COMMANDS:
        assert command.run.__doc__, command.run.__name__
    assert len({command.run.__name__ for command in COMMANDS}) == len(COMMANDS)


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


def test_bad_numbers_are_reported(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--alpha: found 0" in error_of(capsys, "components", run_folder, "--alpha", "0")
    with pytest.raises(SystemExit) as error:
        main(["matrix", str(run_folder), "--confidence", "1.5"])
    assert error.value.code == 2
    assert "expected a number from 0.5" in capsys.readouterr().err


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


def test_an_empty_archive_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Archive.create(tmp_path / "a").close()
    for command in (["inspect"], ["verify"], ["matrix"], ["decisions"], ["show", "x"]):
        text = error_of(capsys, command[0], tmp_path / "a", *command[1:])
        assert "is empty: found no run" in text


def _hostile(folder: Path, make_row: Any) -> Path:
    game = make_row("games", game_id="e1" + ESCAPES, code=ESCAPES, metadata_json=ESCAPES)
    names = {"game_id": game["game_id"], "role": ESCAPES}
    parent = {"parent_game_id": game["game_id"], "parent_role": ESCAPES}
    texts = {"detail": ESCAPES, "verdict": "refused", "finetune_id": ESCAPES}
    run = {"run_id": ESCAPES}
    finetune = {"finetune_id": ESCAPES, "adapter_hash": "../x"}
    proposal = {"outcome": "candidate", "sampler": ESCAPES}
    with Archive.create(folder) as archive:
        archive.commit(
            {
                "runs": [make_row("runs", run_id=ESCAPES, config_json=ESCAPES)],
                "games": [game],
                "scopes": [make_row("scopes", run_id=ESCAPES, **names)],
                "decisions": [make_row("decisions", run_id=ESCAPES, **names, **parent, **texts)],
                "finetunes": [make_row("finetunes", **run, **finetune, **names)],
                "scores": [make_row("scores", run_id=ESCAPES, policy_id=ESCAPES, **names)],
                "proposals": [make_row("proposals", **run, **proposal, **names)],
            }
        )
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["inspect"],
        ["show", "e1"],
        ["matrix"],
        ["components", "--alpha", "0.5"],
        ["decisions"],
        ["decisions", "--why", "e1"],
        ["verify"],
        ["show", "e2"],
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_nothing_inside_a_game_reaches_the_terminal(
    tmp_path: Path,
    make_row: Any,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    form: list[str],
) -> None:
    folder = str(_hostile(tmp_path / "a", make_row))
    main([command[0], folder, *command[1:], *form])
    output = capsys.readouterr()
    for stream in (output.out, output.err):
        assert {c for c in stream if not c.isprintable()} <= {"\n"}
    assert output.out or output.err


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
