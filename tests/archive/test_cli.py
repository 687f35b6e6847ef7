"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.refusal import error_of

from archive import SCHEMA_VERSION
from archive.__main__ import main

Capsys = pytest.CaptureFixture[str]


def output_of(capsys: Capsys, *arguments: object) -> str:
    assert main([str(each) for each in arguments]) == 0
    return capsys.readouterr().out


def test_inspect_shows_the_run(run_folder: Path, capsys: Capsys) -> None:
    output = output_of(capsys, "inspect", run_folder)
    for part in (
        *("2026-01-02 03:04:05 created", "finished", "Scope 1: 2 games", "bbbb2222 (black)"),
        ": from aaaa1111, known games taught 12% of it (γ 0.125)",
        *("reward(xed(s | t))", "covered", "[0.25, …]", "scores/*.parquet"),
        f"schema {SCHEMA_VERSION}.",
    ):
        assert part in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "{run}/absent"], "absent is not an archive: found no such folder"),
        (["show", "{run}"], "found a run, expected GAME after it"),
        (
            ["report", "{run}", "-o", "a.html", "--measured", "{run}"],
            "no normalised score in {run}",
        ),
        (["inspect", "{run}", "--run-id", "zz"], "found no id 'zz', expected an id such as r1"),
        (["export", "{run}", "{run}"], "is in use: found archive, expected an empty folder"),
        (["export", "{run}", "{run}/archive/head.json/sub"], "expected a folder to write in"),
        (["export", "{run}", "out", "--eta", "nan"], "--eta: found nan, expected a number above 0"),
        (["export", "{run}", "out", "--eta", "0.3"], "its values are unknown"),
        (["export", "{run}", "out", "--maps", "0"], "found 0, expected a whole number from 1 up"),
        (["report", "{run}", "-o", "a.png"], "the ending .png, expected .html or .htm"),
    ],
)
def test_user_errors_are_one_sentence_and_write_nothing(
    run_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(run_folder.parents[1])  # whose runs/ holds the one that is meant without RUN
    before = sorted(run_folder.parent.rglob("*"))
    error = error_of(capsys, main, *(part.format(run=run_folder) for part in arguments))
    assert message.format(run=run_folder) in error
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
for words in (("check", game), ("canonical", "censor"), ("diagram", "censor"), ("games",)):
    check(xgl_main, *words, without=models + "numpy scipy pyarrow httpx2 rich.console jinja2")
from archive.__main__ import main as archive_main
check(archive_main, "inspect", run, without=models + "scipy jinja2")
check(archive_main, "show", run, "bbbb", without=models + "scipy jinja2")
check(archive_main, "report", run, "-o", page, without=models + "scipy.stats")
import evo
evo.Run.open(run, backend="pyarrow").transfer_matrix()
print("frames", *sorted({"torch", "transformers", "ray", "hydra", "httpx2"} & set(sys.modules)))
"""
"""Commands in one process, each with the packages that none of those so far may have imported."""


def test_commands_import_no_package_that_they_do_not_need(run_folder: Path, tmp_path: Path) -> None:
    game = tmp_path / "game.xent"
    game.write_text("assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))\n")
    arguments = [sys.executable, "-c", STARTS, run_folder, game, tmp_path / "page.html"]
    process = subprocess.run(arguments, capture_output=True, text=True)
    assert process.stderr == ""
    assert process.stdout.split("\n") == [
        *("check", "canonical", "diagram", "games", "inspect", "show", "report", "frames", "")
    ]


def test_the_run_may_be_left_out(
    run_folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run_folder.parents[1])
    assert "Game bbbb22220000ffff" in output_of(capsys, "show", "bbbb")
    monkeypatch.chdir(run_folder)
    assert "Runs" in output_of(capsys, "inspect")
    monkeypatch.chdir(run_folder.parents[2])
    assert "found no run in ./runs" in error_of(capsys, main, "inspect")


def test_damage_is_one_sentence(run_folder: Path, capsys: Capsys) -> None:
    archive = run_folder / "archive"
    commands = (["inspect"], ["report"], ["show", "aaaa"], ["decisions", "--why", "bbbb"])
    scopes = archive / "scopes" / "000001.parquet"
    content = scopes.read_bytes()
    scopes.write_bytes(content[: len(content) // 2])
    for command, *rest in commands[:3]:
        assert "000001.parquet is damaged" in error_of(capsys, main, command, run_folder, *rest)
    scopes.write_bytes(content)
    marker = archive / "archive.json"
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"schema_version": 99}))
    for command, *rest in (*commands, ["verify"], ["matrix"]):
        text = error_of(capsys, main, command, run_folder, *rest)
        assert "found version 99, expected" in text
        assert "newer release" in text
    marker.write_text("[" * 100_000)
    assert "found no readable JSON" in error_of(capsys, main, "verify", run_folder)


def test_a_folder_of_any_name_is_read_whatever_the_locale(run_folder: Path) -> None:
    folder = run_folder.rename(run_folder.with_name("überfluss"))
    words = [sys.executable, "-m", "archive", "inspect", str(folder)]
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(words, env=os.environ | locale, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
