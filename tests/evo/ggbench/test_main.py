"""``python -m evo.ggbench`` as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hostile

from evo.ggbench.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "chess"], "expected a folder with a game, or one of sevens"),
        (["check", "/"], "cannot be read"),
        (["play", "auction"], "invalid choice"),
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
    assert main(["similarity", "auction"]) == 2
    assert "expected at least 2" in capsys.readouterr().err
