"""``python -m evo.ggbench`` as a person uses it."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from support import hostile
from support.purse_game import PURSE_FOLDER

from evo.ggbench.__main__ import main


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What ``play`` prints to a person who writes these lines."""

    def play(lines: Sequence[object], *arguments: str) -> str:
        monkeypatch.setattr("sys.stdin", StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["play", *arguments]) == 0
        return capsys.readouterr().out

    return play


def test_a_game_is_played_to_its_end(played) -> None:
    lines = ["x", "99", 6, 5, 4, 3, 2, 1, 0] * 8
    output = played(lines, str(PURSE_FOLDER), "--against", "random", "--seat", "2")
    assert "The Shared Purse" in output
    assert "your move: 6\n" in output
    assert "'99' is not a legal move, expected one of" in output
    assert output.count("You win.") + output.count("You lose.") == 1


def test_a_person_may_leave(played) -> None:
    for lines in (["q"], []):
        assert played(lines, "winch").endswith("You left the game.\n")


def test_ctrl_c_ends_a_game_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", ask)
    assert main(["play", str(PURSE_FOLDER)]) == 130
    assert capsys.readouterr().err.split() == ["interrupted"]


def test_a_strangers_game_cannot_move_the_cursor(tmp_path: Path, played) -> None:
    source = hostile.GOOD.replace('f"{self.left} left"', '"\\x1b[2J\\x1b]0;title\\x07 board"')
    texts = {"rules.md": "# Odd \x1b[31m", "env.py": source, "moves.md": "\x1b[2J"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    output = played("q", str(tmp_path))
    assert "board" in output
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "chess"], "expected a folder with a game, or one of sevens"),
        (["play", str(PURSE_FOLDER), "--against", "mcts@0"], "expected random, mcts or mcts@N"),
        (["check", "/"], "cannot be read"),
        (["similarity", "auction"], "expected at least 2"),
        (["play", str(PURSE_FOLDER), "--seat", "3"], "invalid choice"),
        ([], "usage"),
    ],
)
def test_a_users_mistake_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr().err
    assert message in output
    assert "Traceback" not in output


def test_check_shows_each_filter_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("rules.md", "# Mine"), ("env.py", "Discrete("), ("moves.md", "m")):
        (tmp_path / name).write_text(text)
    assert main(["check", str(tmp_path)]) == 1
    assert "refused" in capsys.readouterr().out


def test_what_a_game_says_of_itself_is_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = hostile.GOOD.replace("return self.seen(), {}", "raise ValueError('[/red] [bold]')")
    for name, text in (("rules.md", "# [/red]"), ("env.py", source), ("moves.md", "m")):
        (tmp_path / name).write_text(text)
    assert main(["check", str(tmp_path)]) == 1
    assert "[/red] [bold]" in " ".join(capsys.readouterr().out.split())


def test_similarity_shows_each_game_and_the_row_of_table_5(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["similarity", "auction", "winch", "duel"]) == 0
    output = capsys.readouterr().out
    assert all(word in output for word in ("auction", "winch", "duel", "75 %"))


def test_the_games_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    assert "Duel of Hands" in capsys.readouterr().out
