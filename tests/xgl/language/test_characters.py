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
ALL = [chr(code) for code in range(sys.maxunicode + 1)]

INVISIBLE = {
    "Hangul filler": "\u3164",
    "half-width Hangul filler": "\uffa0",
    "Hangul vowel filler": "\u1160",
    "braille blank": "\u2800",
    "text variation": "\ufe0e",
    "emoji variation": "\ufe0f",
    "ideographic variation": "\U000e0100",
    "Mongolian variation": "\u180b",
    "grapheme joiner": "\u034f",
    "inherent vowel": "\u17b4",
    "empty note": "\U0001d159",
    "Khitan filler": "\U00016fe4",
    "no-break space": "\u00a0",
    "ideographic space": "\u3000",
    "emoji joiner": "\u200d",
    "soft hyphen": "\u00ad",
}
VISIBLE = ["é", "ñ", "ø", "水", "あ", "한", "ไ", "ع", "א", "😀", "🇫", "∑", "⠁", "é", "“", "”", "…"]


def test_nothing_that_unicode_ignores_is_visible() -> None:
    assert not [hex(ord(c)) for c in ALL if IGNORED.match(c) and is_visible(c)]


def test_letters_marks_signs_and_the_plain_space_are_visible() -> None:
    """All that is refused is a control, a format, a space, unassigned, ignored or blank."""
    hidden_characters = {
        c for c in ALL if not is_visible(c) and unicodedata.category(c)[0] not in "CZ"
    }
    assert len(hidden_characters) < 300
    assert all(IGNORED.match(c) or c in INVISIBLE.values() for c in hidden_characters)
    assert is_visible(" ")
    assert all(is_visible(c) for text in VISIBLE for c in text)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", INVISIBLE)
def test_an_invisible_character_is_named_wherever_it_stands(name: str, dialect: str) -> None:
    character = INVISIBLE[name]
    description = f"the character {character!a}"
    escape = ascii(character)[1:-1]
    for line in (
        f'assign(s="a{character}b")',
        f'assign(s="a{escape}b")',
        f'assign(s="{character}")',
        f"elicit(s)  # {character}",
        f"# {character}",
        f"elicit(s{character})",
    ):
        with pytest.raises(ProgramError) as refusal:
            parse(line, dialect)
        assert description in refusal.value.problems[0].found
        assert character not in str(refusal.value)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", VISIBLE)
def test_what_can_be_seen_is_text(text: str, dialect: str) -> None:
    program = parse(f'assign(s="{text}")', dialect)
    assert parse(to_text(program), dialect) == program


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    assert well_formed("a\ud83d\ude00b\udc00") == "a??b?"
    assert well_formed("a😀b") == "a😀b"
