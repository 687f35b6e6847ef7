"""Programs in plain English."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.programs import PROGRAMS

from xgl import Game, Program, game, library, parse
from xgl.analysis.plain_english import in_words


def _game(source: str, dialect: str = "xent") -> Game:
    return game(parse(source, dialect))


def test_the_players_view_and_the_pay_are_said() -> None:
    source = "assign(s=story())\nelicit(t, 8)\nassign(x=story())\nreward(xed(s | t) - xed(x | t))"
    assert in_words(_game(source)) == (
        "A story s is drawn.",
        "The player, who sees s, writes t, at most 8 tokens.",
        "A story x is drawn.",
        "The player is paid the bits that t saves on s, minus the bits that t saves on x.",
    )


def test_rules_joins_cuts_and_loops_are_said() -> None:
    source = (
        'assign(s=story() + "!", t="")\nbeacon(flag_1)\nelicit(x, y, 4)\n'
        'ensure(xed(s | x) >= 2, is_false("no word of" + s))\nassign(t=s // x)\n'
        "reward(xent(t + y | s))\nreplay(flag_1, 2)"
    )
    assert in_words(_game(source, "paper")) == (
        "Let s be the join of a story and “!”; let t be the empty text.",
        "This place is called flag_1.",
        "The player, who sees s, t, x and y, writes x and y, at most 4 tokens each.",
        "It must hold that the bits that x saves on s are at least 2 and the judge finds "
        "“no word of s” false; or the player has to try again, in the whole game 10 times at most.",
        "Let t be what stands in s before x.",
        "The player is paid the surprise of the join of t and y after s.",
        "The game goes back to flag_1, 2 times in all.",
    )


@pytest.mark.parametrize("entry", library.entries(), ids=str)
def test_every_library_game_has_a_sentence_for_each_line(entry: library.Entry) -> None:
    game_ = _game(entry.text, entry.dialect)
    sentences = in_words(game_)
    assert len(sentences) == len(game_.program.instructions)
    assert all(each.endswith(".") and each[0] == each[0].upper() for each in sentences)


@given(PROGRAMS)
def test_every_program_can_be_said(program: Program) -> None:
    assert len(in_words(game(program))) == len(program.instructions)
