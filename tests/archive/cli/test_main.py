"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from archive import SCHEMA_VERSION, Archive
from archive.__main__ import main


def test_inspect_shows_the_run(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run_folder)]) == 0
    output = capsys.readouterr().out
    for part in (
        "2026-01-02 03:04:05 created",
        "finished",
        "Scope 1: 2 games",
        "bbbb2222 (black)",
        ": from aaaa1111, known games taught 12% of it (γ 0.125)",
        "reward(xed(s | t))",
        "covered",
        "[0.25, …]",
        "scores/*.parquet",
    ):
        assert part in output
    assert f"schema {SCHEMA_VERSION}." in output


def test_inspect_json_is_json(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run_folder / "archive"), "--json", "--run-id", "r"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert state["run_id"] == "r1"
    assert state["runs"][0]["events"][0] == ["created", "2026-01-02T03:04:05.678901+00:00"]
    assert [member["gamma"] for member in state["scopes"]["1"]] == [None, 0.125]
    assert state["verdicts"][1] == {
        "verdict": "refused",
        "reason": "covered by the scope",
        "count": 2,
    }
    assert state["decisions"][1]["captured_high"] == "inf"
    assert state["rows"]["scores"] == 4


def test_control_characters_and_markup_are_shown_not_obeyed(
    tmp_path: Path, make_row: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "\x1b[2J[bold]x[/nonsense]"
    with Archive.create(tmp_path / "a") as archive:
        archive.commit(
            {
                "runs": [make_row("runs")],
                "games": [make_row("games", game_id="g", code=code)],
                "scopes": [make_row("scopes", game_id="g", role="black")],
                "decisions": [make_row("decisions", detail="[/odd]\x07")],
            }
        )
    assert main(["inspect", str(tmp_path / "a")]) == 0
    output = capsys.readouterr().out
    assert "\\x1b[2J[bold]x[/nonsense]" in output
    assert "[/odd]\\x07" in output


def test_export_writes_the_games(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(run_folder), str(tmp_path / "out")]) == 0
    assert "2 games written to" in capsys.readouterr().out
    assert len(list((tmp_path / "out").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "{run}/absent"], "absent is not an archive: found no such folder"),
        (["inspect", "{run}/.."], "is not an archive: found no archive.json"),
        (["inspect", "{run}/archive/archive.json"], "is not an archive: found a file"),
        (["show", "{run}"], "found the path {run} in place of an id, expected RUN GAME"),
        (["inspect", "{run}", "--run-id", "zz"], "found no id 'zz', expected an id such as r1"),
        (["export", "{run}", "{run}"], "is in use: found archive, expected an empty folder"),
    ],
)
def test_user_errors_are_one_sentence_and_write_nothing(
    run_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(run_folder.parents[1])  # whose runs/ holds the one that is meant without RUN
    before = sorted(run_folder.parent.rglob("*"))
    assert main([part.format(run=run_folder) for part in arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert message.format(run=run_folder) in output.err
    assert output.err.count("\n") == 1
    assert sorted(run_folder.parent.rglob("*")) == before


STARTS = """
import contextlib, io, sys
from pathlib import Path

def check(main, *arguments, without):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(list(arguments)) == 0
    print(*arguments[:1], *sorted(set(without.split()) & set(sys.modules)))

run, game, page = sys.argv[1:]
models = "torch transformers peft ray hydra evo meta_sampler "
from xgl.__main__ import main as xgl_main
check(xgl_main, "check", game, without=models + "scipy pyarrow rich jinja2")
from archive.__main__ import main as archive_main
check(archive_main, "inspect", run, without=models + "scipy jinja2")
check(archive_main, "show", run, "bbbb", without=models + "scipy jinja2")
check(archive_main, "report", run, "-o", page, without=models + "scipy.stats")
"""
"""Commands in one process, each with the packages that none of those so far may have imported."""


def test_commands_import_no_package_that_they_do_not_need(run_folder: Path, tmp_path: Path) -> None:
    game = tmp_path / "game.xent"
    game.write_text("assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))\n")
    arguments = [sys.executable, "-c", STARTS, run_folder, game, tmp_path / "page.html"]
    process = subprocess.run(arguments, capture_output=True, text=True)
    assert process.stderr == ""
    assert process.stdout.split("\n") == ["check", "inspect", "show", "report", ""]
