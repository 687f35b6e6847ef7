"""The commands as a user types them: what they print, and their exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.refusal import error_of

from xgl import game, parse
from xgl.cli import main
from xgl.library import MAX_INPUT, entries

Capsys = pytest.CaptureFixture[str]

GOOD = "assign(s=story())\nelicit(x, 5)\nreward(xed(s | x))\n"
IDLE = "assign(s=story())\nelicit(x, 5)\nreward(xed(s | t))\n"


def test_check_reports_all_problems_of_all_files(tmp_path: Path, capsys: Capsys) -> None:
    bad, good, idle = (tmp_path / name for name in ("bad.xgl", "good.xgl", "idle.xgl"))
    bad.write_text("elicit(x, 0)\nreward(xad(x))\n")
    good.write_text(GOOD)
    idle.write_text(IDLE)
    assert main(["check", str(good), "unlikely_text"]) == 0
    assert "note: ill-posed: the best moves are tokens so" in capsys.readouterr().out
    assert main(["check", str(bad), str(good), str(idle)]) == 1
    output = capsys.readouterr().out
    assert "line 1, column 11" in output
    assert "did you mean 'xed'?" in output
    assert "problem: black: no reward of the main player depends on a move" in output
    assert "note: t is read before it is set" in output


def test_canonical_is_a_program_again(capsys: Capsys) -> None:
    for entry in entries()[::8]:
        assert main(["canonical", entry.name]) == 0
        output = capsys.readouterr().out
        game_ = game(parse(output, entry.dialect))
        assert f"# game_id: {game_.game_id}" in output
        assert output.startswith(game_.code)


def test_every_command_refuses_a_wrong_header(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "game.xent"
    path.write_text("#: npc = weak\nassign(s=story())\nelicit(x, 4)\nreward(xed(s | x))\n")
    for command in ("check", "canonical", "diagram", "play"):
        assert "expected name = value" in error_of(capsys, main, command, str(path))


def test_games_lists_the_library(capsys: Capsys) -> None:
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(entries())
    assert all(entry.name in line for entry, line in zip(entries(), lines, strict=True))


CHAT = ["play", "contrast", "--chat", "the-model"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nosuch.xgl"], "nosuch.xgl: no such file"),
        (["check", "contrst"], "did you mean 'contrast'?"),
        (["check", "message:bob"], "message:bob: found a role, expected GAME alone; `play` has"),
        (["check", "."], "'.' is neither a file nor a game of the library"),
        (["diagram", "contrast", "-o", "no/such/folder.svg"], "No such file"),
        (["play", "contrast", "--role", "alice"], "the game asks black"),
        (["play", "contrast", "--moves", "nosuch.json"], "nosuch.json: No such file"),
        (["play", "-"], "standard input"),
        (["check", "z" * 300], "File name too long"),
        ([*CHAT, "--key-variable", "NO_SUCH_KEY"], "environment variable NO_SUCH_KEY is not set"),
        ([*CHAT, "--key-variable", "sk-secret"], "--key-variable: expected the name of"),
        ([*CHAT, "--moves", "moves.json"], "found several of --moves, --chat and --local"),
        (["play", "contrast", "--base-url", "http://127.0.0.1"], "--base-url belongs to a model"),
        (["chek"], "invalid choice: 'chek'"),
        (["play", "contrast", "--seed=-1"], "--seed: found -1, expected a whole number from 0 up"),
    ],
)
def test_a_users_error_is_one_sentence(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GOOD.encode())))
    error = error_of(capsys, main, *arguments)
    assert message in error
    assert len(error) < 500
    assert "None" not in error
    assert "secret" not in error


@pytest.mark.parametrize("arguments", [["check"], ["play", "dex_texts", "--moves"]])
def test_commands_read_no_endless_file(arguments: list[str], capsys: Capsys) -> None:
    error = error_of(capsys, main, *arguments, "/dev/zero")
    assert f"more than {MAX_INPUT:,} bytes" in error


def test_what_needs_a_judge_of_statements_says_so(tmp_path: Path, capsys: Capsys) -> None:
    assert main(["judge", str(tmp_path / "none")]) == 2
    assert "Traceback" not in capsys.readouterr().err
    lines = "assign(s=story())\nelicit(x, 4)\nensure({})\nreward(xed(s | x))\n"
    game = tmp_path / "game.xgl"
    game.write_text(lines.format('"this is about a cat:" + x'))
    assert main(["check", str(game)]) == 0
    assert "note: line 3: a model decides this statement" in capsys.readouterr().out
    (tmp_path / "moves.json").write_text('[["a cat"]]')
    assert main(["play", str(game), "--moves", str(tmp_path / "moves.json")]) == 0
    assert "embedded decides statements by chance" in capsys.readouterr().out
    game.write_text(lines.format('"no common words between" + s + "&" + x'))
    assert main(["check", str(game)]) == 0
    assert "note:" not in capsys.readouterr().out
    game.write_text(lines.format('"no common words between s & x"'))
    assert main(["check", str(game), "nosuch.xgl"]) == 2, "what is found is told before"
    assert "note: line 3: a condition reads no register" in capsys.readouterr().out
