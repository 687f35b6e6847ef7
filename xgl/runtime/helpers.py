"""The released package's helper functions as plain functions of strings (docs/specification.md,
"Helper functions"). Each is linear in its text for each word that it looks for; the
machine caps both."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from xgl.runtime.predicates import words

_SEPARATOR = rf"[\s{re.escape(string.punctuation)}]"


def remove_common_words(text: str, other: str) -> str:
    """``text`` without the words that ``other`` has as well.

    >>> remove_common_words("The red hen, the fox", "A THE fox")
    'red hen,'
    """
    return remove_common(text, words(text) & words(other))


def remove_common(text: str, common: set[str]) -> str:
    """``text`` without the words of a set of :func:`~xgl.runtime.predicates.words`.

    No word holds a separator, so one pass removes what one pass for each word would.
    """
    return _tidy(_without(text, "|".join(sorted(map(re.escape, common)))) if common else text)


def remove_words(text: str, listed: Sequence[str]) -> str:
    """``text`` without the listed words or phrases, one after another, in any case of letters.

    >>> remove_words("New York is new", ["new york"])
    'is new'
    """
    for item in listed:
        text = _without(text, re.escape(item))
    return _tidy(text)


def _without(text: str, pattern: str) -> str:
    """The separator before a removed word stays, the one after it may be the next one's."""
    whole = rf"(^|{_SEPARATOR})(?:{pattern})(?=$|{_SEPARATOR})"
    return re.sub(whole, r"\1", text, flags=re.IGNORECASE)


def _tidy(text: str) -> str:
    return re.sub(r"\s\s+", " ", text).strip()


def only_uses_words(allowed: str | Sequence[str], text: str) -> bool:
    """Whether every part of ``text`` between single spaces is one of ``allowed``, to the letter.

    >>> only_uses_words("a b", "b a b"), only_uses_words("a b", "b, a"), only_uses_words("a", "")
    (True, False, False)
    """
    known = set(allowed.split(" ") if isinstance(allowed, str) else allowed)
    return known.issuperset(text.split(" "))


def only_uses_chars(allowed: Iterable[str], text: str) -> bool:
    """Whether every character of ``text`` is among ``allowed``.

    >>> only_uses_chars("ab ", "a b"), only_uses_chars("ab", "c"), only_uses_chars("", "")
    (True, False, True)
    """
    return set(allowed).issuperset(text)


def split(text: str, mark: str | None) -> list[str]:
    """``text`` at every ``mark``, at white space without one; in one piece at an empty mark.

    >>> split(" a  b ", None), split("a,,b", ","), split("ab", "")
    (['a', 'b'], ['a', '', 'b'], ['ab'])
    """
    return [text] if mark == "" else text.split(mark)
