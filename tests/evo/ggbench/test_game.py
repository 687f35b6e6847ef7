"""The games that ship, and those of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.ggbench.filters import run_filters
from evo.ggbench.game import find_all, packaged
from xgl.errors import ConfigError


def test_a_game_that_ships_passes_every_filter() -> None:
    for game in packaged().values():
        assert [verdict for verdict in run_filters(game) if not verdict.passed] == []


def test_the_games_that_the_paper_released_are_read_from_its_three_folders(tmp_path: Path) -> None:
    for number in (10, 9):
        texts = {
            f"descriptions/{number}.txt": f"# Game {number}",
            f"envs/env_{number}.py": f"x = {number}",
            f"actions/{number}.txt": "m",
        }
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    (tmp_path / "envs" / "__init__.py").touch()
    games = find_all(str(tmp_path))
    assert [(game.name, game.title) for game in games] == [
        ("released9", "Game 9"),
        ("released10", "Game 10"),
    ]
    assert find_all(str(tmp_path / "10")) == games[1:]
    assert [game.name for game in find_all("winch")] == ["winch"]
    (tmp_path / "actions" / "9.txt").unlink()
    with pytest.raises(ConfigError, match=r"actions/9\.txt cannot be read"):
        find_all(str(tmp_path))
    with pytest.raises(ConfigError, match="expected a folder with a game"):
        find_all("nowhere")


CHECKED = {
    "sevens": "8e77ea0fce7b4bcdda699d8bd2c46fa94c973661689ad1d9037659fb4a1c763f",
    "winch": "81ee6ed36d9268adfba196fae3eee57b986ffc3eef0e42e5df499aa955315107",
    "auction": "4a2a1eed31c292c98fb88cf17a387a7fc2f80a683347cbcf4db5e9f43a971b7f",
    "duel": "bd92e9f305668c32811ec167445544ab8cbb826c2594f77f5dfd27ea5365c444",
}
"""Ids, hashes of all texts, of the games whose programs did on sixty games each what their rule
books, programmed again without them, did (all but sevens; this file at b6f47110)."""


def test_a_program_is_the_one_that_was_checked_against_its_rule_book() -> None:
    assert {name: game.game_id for name, game in packaged().items()} == CHECKED
