"""Rules in plain English: one sentence a line, for every game of the library."""

from __future__ import annotations

import pytest

from xgl import ProgramError, parse
from xgl.english import rules
from xgl.library import entries


def test_each_line_is_a_sentence() -> None:
    code = (
        "assign(s=story(), t=s + story())\nbeacon(flag_1)\nelicit(alice, x, y, 1)\n"
        'ensure("no common words" + x + "&" + s, len(common_word_set(x, s)) == 0, xent(x) < 9)\n'
        "reveal(bob, x, s)\nreward(alice, dex(s | x) - nex(y))\nreplay(flag_1, 2)"
    )
    assert rules(parse(code, "xent")) == (
        "s is a text drawn for the map; "
        "t is s + story(), where story() is a text drawn for the map.",
        "flag_1 stands here.",
        "alice writes x and y, at most 1 token each.",
        'It must hold that the judge believes that this is true: "no common words" + x + "&" + s '
        "and x and s have no word in common and the bits that it takes to predict x is less than "
        "9; else whoever wrote last writes again, at most 10 times at this line.",
        "bob is shown x and s.",
        "alice gets the bits that x costs in predicting s, minus minus the bits that it takes to "
        "predict y.",
        "The game goes back to flag_1, 2 times in all, and then on.",
    )


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_game_of_the_library_is_told(entry: object) -> None:
    try:
        program = parse(entry.text, entry.dialect)  # type: ignore[attr-defined]
    except ProgramError:
        return
    told = rules(program)
    assert len(told) == len(program.instructions)
    assert all(sentence.endswith(".") for sentence in told)
