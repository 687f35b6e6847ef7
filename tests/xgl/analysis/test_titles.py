"""Names made from programs: what a player is paid for, whatever the registers are called."""

from __future__ import annotations

import pytest

import xgl
from xgl.analysis.plain_english import MOST_CHARACTERS, title
from xgl.language.canonical import Game
from xgl.library import entries

NAMES = {
    "rival": "the story, not an unseen one",
    "contrast": "the first of two stories, not the second",
    "echo": "what the first of two stories calls for, not what the second calls for",
    "pair": "the first and second of three stories, not the third",
    "fig_3_01_single_text": "the story, in other words",
    "fig_3_01_multi_texts": "all three stories, in other words",
}


def of(source: str, dialect: str = "xent") -> Game:
    return xgl.game(xgl.parse(source, dialect))


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_games_of_the_library(name: str, expected: str) -> None:
    entry = xgl.library.find(name)
    assert title(of(entry.text, entry.dialect)) == expected


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("xed(s | x) + xed(t | x)", "both stories"),
        ("xed(t | x) - xed(y | x)", "the second of two stories, not an unseen one"),
        ("dex(t | x)", "not the second of two stories"),
        ("xent(x)", "surprising words in the move"),
        ("xed(s | x) - xent(x | s)", "the first of two stories, plain words in the move after"),
        ("xed(s | t + x)", "the first of two stories after the second and the move"),
    ],
)
def test_what_is_paid_for(reward: str, expected: str) -> None:
    lines = "assign(s=story(), t=story())\nelicit(x, 8)\nassign(y=story())\n"
    assert title(of(f"{lines}reward({reward})")).startswith(expected)


def test_a_condition_is_in_the_name() -> None:
    source = "assign(s=story())\nelicit(x, 8)\nensure(xent(x) < 9)\nreward(xed(s | x))"
    assert title(of(source)) == "the story, if xent(t) < 9"


def test_each_seat_is_paid_for_its_own() -> None:
    """In a zero-sum pair one seat wants what the other does not."""
    source = (
        "assign(s=story())\nelicit(white, x, 8)\nelicit(black, y, 8)\nreward(black, xed(s | y))"
    )
    game = of(source, "paper")
    assert title(game, "black") == "the story"
    assert title(game, "white") == "not the story after black's move"
    hidden = xgl.library.find("fig_3_13_message")
    assert title(of(hidden.text, hidden.dialect), "bob") == "an unseen story"


def test_every_game_of_the_library_has_a_short_name() -> None:
    for entry in entries():
        game = of(entry.text, entry.dialect)
        for role in xgl.analyse(game.program).players:
            name = title(game, role)
            assert 0 < len(name) <= MOST_CHARACTERS + 2, entry.name
            assert "  " not in name


def test_a_text_that_is_never_set_has_no_part_in_a_name() -> None:
    code = "assign(s=story())\nreveal(alice, s)\nelicit(alice, t, 8)\n"
    name = title(of(code + "reward(alice, xed(x | t) + xed(s | t))", "paper"), "alice")
    assert "story" in name
