"""A program reads as it runs: no character of it is invisible, or looks like a space."""

from __future__ import annotations

import sys
import unicodedata

import pytest
import regex

from xgl import ProgramError, parse, to_text
from xgl.language.characters import is_visible, well_formed
from xgl.language.dialects import DIALECTS

IGNORED = regex.compile(r"\p{Default_Ignorable_Code_Point}")

INVISIBLE = (
    *("\u3164", "\uffa0", "\u1160", "\u2800", "\ufe0e", "\ufe0f", "\U000e0100", "\u180b", "\u034f"),
    *("\u17b4", "\U0001d159", "\U00016fe4", "\u00a0", "\u3000", "\u200d", "\u00ad"),
)
VISIBLE = ["é", "ñ", "ø", "水", "あ", "한", "ไ", "ع", "א", "😀", "🇫", "∑", "⠁", "é", "“", "”", "…"]


def test_all_that_is_refused_is_a_control_a_format_a_space_unassigned_ignored_or_blank() -> None:
    hidden, seen = set[str](), set[str]()
    for character in map(chr, range(sys.maxunicode + 1)):
        (seen if is_visible(character) else hidden).add(character)
    assert not [hex(ord(c)) for c in seen if IGNORED.match(c)]
    letters = {c for c in hidden if unicodedata.category(c)[0] not in "CZ"}
    assert len(letters) < 300
    assert all(IGNORED.match(c) or c in INVISIBLE for c in letters)
    assert {" ", *"".join(VISIBLE)} <= seen


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
def test_an_invisible_character_is_named_wherever_it_stands(character: str, dialect: str) -> None:
    escape = ascii(character)[1:-1]
    for line in (
        *(f'assign(s="a{character}b")', f'assign(s="a{escape}b")', f'assign(s="{character}")'),
        *(f"elicit(s)  # {character}", f"# {character}", f"elicit(s{character})"),
    ):
        with pytest.raises(ProgramError) as refusal:
            parse(line, dialect)
        assert f"the character {character!a}" in refusal.value.problems[0].found
        assert character not in str(refusal.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_can_be_seen_is_text(dialect: str) -> None:
    for text in VISIBLE:
        program = parse(f'assign(s="{text}")', dialect)
        assert parse(to_text(program), dialect) == program


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    assert well_formed("a\ud83d\ude00b\udc00") == "a??b?"
    assert well_formed("a😀b") == "a😀b"
