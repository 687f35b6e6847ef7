"""Scripted players: rules that say what a game pays for no skill, or for one trick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from xgl.models import corpus
from xgl.players.scripts import SCRIPTS, ScriptPlayer, visible_texts
from xgl.runtime.requests import Item, Move, MoveRequest, Seeds, Turn, View

ONE = "A red hen found some grain near the old barn."
TWO = "Captain Ahab sailed the stormy ocean all night."
CODE = "assign(s=story(), t=story())\nelicit(x, y, 8)\nreward(xed(s | x) - xed(t | x))"
ALL_SCRIPTS = pytest.mark.parametrize("script", SCRIPTS)


def words(text: str) -> int:
    """A judge whose tokens are words."""
    return len(text.split())


def turn(
    script: str, *texts: str, limit: int = 4, map_seed: int = 1, failures: int = 0, moves: str = ""
) -> Turn:
    items = [Item(name, text) for name, text in zip("stu", texts, strict=False)]
    items += [Item("x", moves, own=True)] if moves else []
    items += [Item("ensure", f"failed {k + 1}") for k in range(failures)]
    items += [Item("reward", "-3.1 (0.2 1.5)"), Item("reward alice", "2.0")]
    view = View("black", CODE, tuple(items), "x")
    return Turn(MoveRequest(view, limit, 0), Seeds(map_seed, 0), script)


def move_of(script: str, *texts: str, **facts: int) -> str:
    [move] = ScriptPlayer(words).moves([turn(script, *texts, **facts)])  # type: ignore[arg-type]
    assert isinstance(move, Move)
    return move.text


@pytest.mark.parametrize(
    ("script", "move"),
    [
        ("nothing", ""),
        ("full_stop", "."),
        ("first_words", "A red hen found"),
        ("last_words", "near the old barn."),
        ("content_words", "red hen grain barn"),
        ("second_content_words", "captain ahab sailed stormy"),
        ("last_content_words", "captain ahab sailed stormy"),
        ("one_word", "red"),
        ("mixed_words", "red captain hen ahab"),
    ],
)
def test_what_each_script_says(script: str, move: str) -> None:
    assert move_of(script, ONE, TWO) == move


def test_a_quote_stands_in_a_text_and_depends_on_the_map() -> None:
    quotes = {move_of("quote", ONE, TWO, map_seed=seed) for seed in range(30)}
    assert len(quotes) > 5
    assert all(quote in ONE or quote in TWO for quote in quotes)


def test_missing_words_are_in_no_text() -> None:
    moves = [move_of("missing_words", ONE, TWO, map_seed=seed) for seed in range(30)]
    assert len(set(moves)) > 20
    stems = {corpus.stem(word) for word in corpus.words(ONE + TWO)}
    for move in moves:
        assert words(move) == 4
        assert not stems & {corpus.stem(word) for word in move.split()}


def test_what_a_player_wrote_itself_is_no_text_to_speak_about() -> None:
    assert move_of("content_words", ONE) == move_of("content_words", ONE, moves="ships and kings")  # type: ignore[arg-type]
    view = turn("nothing", ONE, TWO, moves="a move", failures=2).request.view
    assert visible_texts(view) == (ONE, TWO)


def test_a_note_of_another_player_is_a_text_to_speak_about() -> None:
    code = "assign(s=story())\nelicit(alice, x, 8)\nreveal(bob, x)\nelicit(bob, y, 8)"
    note = View("bob", code, (Item("x", "red hen, old barn"), Item("y", "mine", own=True)), "y")
    assert visible_texts(note) == ("red hen, old barn",)
    assert (
        ScriptPlayer(words).text(Turn(MoveRequest(note, 3, 1), Seeds(1, 0), ""), "first_words")
        == "red hen, old"
    )


def test_a_text_that_the_map_puts_into_the_place_of_a_move_is_one_to_speak_about(
    table: Any,
) -> None:
    code = "elicit(t)\nassign(t=story(), y='elicit(s)')\nelicit(x)\nelicit(white, p)"
    table.play(code, black=["mine", "more"], white=["theirs"])
    seen = [visible_texts(view) for view in (*table.views("black"), *table.views("white"))]
    story = table.play("assign(s=story())").registers["s"]
    assert seen == [(), (story, "elicit(s)"), ("mine", story, "elicit(s)", "more")]


@ALL_SCRIPTS
@settings(max_examples=25)
@given(
    texts=st.lists(st.text(max_size=60), max_size=3),
    limit=st.integers(1, 9),
    failures=st.integers(0, 12),
    seed=st.integers(0, 2**61),
)
def test_a_move_keeps_its_limit_and_is_a_function_of_view_and_map(
    script: str, texts: Sequence[str], limit: int, failures: int, seed: int
) -> None:
    first_turn = turn(script, *texts, limit=limit, map_seed=seed, failures=failures)
    other_play = replace(first_turn, seeds=Seeds(seed, 7))
    one, again, other = ScriptPlayer(words).moves([first_turn, first_turn, other_play])
    assert isinstance(one, Move)
    assert one == again == other
    assert words(one.text) <= limit
    assert one.prompt_tokens == one.new_tokens == 0
