"""Words as the paper's dialect compares them: however they are spelled (docs/reference/dialects.md,
"Words").

Letters are compared in their compatibility form (NFKD), without case and diacritics. Invisible
characters and punctuation within a word may join its letters or separate words, so a text has the
words of all these readings.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import product

from xgl.language.characters import is_visible

_APOSTROPHES = "'\u2019\u02bc"
_WORD = re.compile(r"\d+|[^\s\d]+")
_SHORTEST = 3
"""Letters of a part at an apostrophe that is a word of its own: *hen's* holds *hen*, *it's* and
*they're* hold no *s* and *re*."""


class _Reading(dict[int, str]):
    """A table of :meth:`str.translate` from each character to what stands for it."""

    def __init__(self, invisible: str, punctuation: str) -> None:
        super().__init__({ord(mark): "'" for mark in _APOSTROPHES})
        self.invisible, self.punctuation = invisible, punctuation

    def __missing__(self, code: int) -> str:
        self[code] = text = self._read(chr(code))
        return text

    def _read(self, character: str) -> str:
        kind, combining = unicodedata.category(character), unicodedata.combining(character)
        if character.isspace():
            return " "
        if combining == 1 or combining >= 200 or kind == "Me":  # diacritics, not vowel signs
            return ""
        if not is_visible(character):
            return self.invisible
        return self.punctuation if kind[0] in "PS" else character


_PLAIN = _Reading("", " ")
_READINGS = [_Reading(*marks) for marks in product(("", " "), repeat=2)]


def pieces(text: str) -> list[str]:
    """The words of a text in order: runs of letters, and of digits.

    >>> pieces("The “hen1”, don't!")
    ['the', 'hen', '1', 'dont']
    """
    return _WORD.findall(_folded(text).translate(_PLAIN).replace("'", ""))


def spellings(text: str) -> set[str]:
    """The words of a text in every reading of its punctuation and invisible characters.

    >>> sorted(spellings("he-n")), sorted(spellings("it's a ｈé\\u200bn"))
    (['he', 'hen', 'n'], ['a', 'he', 'hen', 'its', 'n'])
    """
    tokens = set(_folded(text).split())
    found = {token for token in tokens if token.isascii() and token.isalpha()}
    respelled_text = " ".join(tokens - found)
    for reading in _READINGS:
        for word in _WORD.findall(respelled_text.translate(reading)):
            found.add(word.replace("'", ""))
            found.update(part for part in word.split("'") if len(part) >= _SHORTEST)
    return found - {""}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text).casefold()
