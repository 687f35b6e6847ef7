"""The released package's helper functions as plain functions of strings (docs/specification.md,
"Helper functions"). The time of each is linear in the length of its text, with one more pass for
each phrase that it removes."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from xgl.runtime.predicates import words
from xgl.runtime.respellings import spellings

_SEPARATOR = rf"\s{re.escape(string.punctuation)}"
_WORD = re.compile(rf"[^{_SEPARATOR}]+")
_TOKEN = re.compile(r"\S+")
_SPACES = re.compile(r"\s\s+")
_SEPARATORS = frozenset(string.punctuation)
_SIGMA = ("\u03a3", "\u03c3")
"""The only letter whose lower case depends on its neighbours."""
_SAME = {"\u0130": "i", "\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}
"""Letters that Python's regular expressions match in any case and that no case mapping joins."""


def remove_common_words(text: str, other: str) -> str:
    """``text`` without the words that ``other`` has as well.

    >>> remove_common_words("The red hen, the fox", "A THE fox")
    'red hen,'
    """
    return remove_common(text, words(text) & words(other))


def remove_common(text: str, common: Set[str]) -> str:
    """``text`` without the words of a set of :func:`~xgl.runtime.predicates.words`."""
    return _tidy(_remove_word_set(text, frozenset(_fold_case(" ".join(common)).split())))


def remove_words(text: str, phrases: Sequence[str]) -> str:
    """``text`` without the listed words or phrases, one after another, in any case of letters.

    >>> remove_words("New York is new", ["new york"])
    'is new'
    """
    for part in removal_parts(tuple(phrases)):
        text = _remove_part(text, part)
    return _tidy(text)


def remove_respelled(text: str, common: Set[str]) -> str:
    """``text`` without the words of a set of :func:`~xgl.runtime.respellings.spellings`.

    >>> remove_respelled("a “hen”, he-n and hen1,fox", {"hen"})
    'a , and ,fox'
    """
    for part in (_WORD, _TOKEN):  # between punctuation, then with the punctuation within
        text = part.sub(lambda one: "" if common & spellings(one[0]) else one[0], text)
    return _tidy(text)


@lru_cache(16)
def removal_parts(phrases: tuple[str, ...]) -> tuple[str | frozenset[str], ...]:
    """The items in one case, neighbouring words as one set: no word's removal makes another
    word, so a set of them is removed in one pass."""
    parts: list[str | frozenset[str]] = []
    singles: set[str] = set()
    for item in map(_fold_case, filter(None, phrases)):
        if _WORD.fullmatch(item):
            singles.add(item)
            continue
        parts += [frozenset(singles), item] if singles else [item]
        singles = set()
    return (*parts, frozenset(singles)) if singles else tuple(parts)


def _fold_case(text: str) -> str:
    """``text`` with one letter for all letters that are equal up to case; its length stays."""
    if text.isascii():
        return text.lower()
    for letter, same in _SAME.items():
        text = text.replace(letter, same)
    lower = text.lower()
    upper = lower.upper()
    if len(upper) > len(lower):  # a letter whose upper case is several letters stays
        pairs = zip(lower, map(str.upper, lower), strict=True)
        upper = "".join(one if len(many) > 1 else many for one, many in pairs)
    return upper.replace(*_SIGMA).lower()


def _remove_part(text: str, part: str | frozenset[str]) -> str:
    return _remove_phrase(text, part) if isinstance(part, str) else _remove_word_set(text, part)


def _remove_word_set(text: str, common: frozenset[str]) -> str:
    folded_text = _fold_case(text)
    return _WORD.sub(
        lambda word: "" if folded_text[slice(*word.span())] in common else word[0], text
    )


def _remove_phrase(text: str, phrase: str) -> str:
    """The separator before a removed phrase stays, the one after it may be the next one's."""
    parts: list[str] = []
    folded_text, end, at = _fold_case(text), 0, -1
    while (at := folded_text.find(phrase, at + 1)) >= 0:
        after = at + len(phrase)
        starts = at == 0 or (at > end and _separates(text[at - 1]))
        if starts and (after == len(text) or _separates(text[after])):
            parts.append(text[end:at])
            end, at = after, after - 1
    return "".join([*parts, text[end:]])


def _separates(letter: str) -> bool:
    return letter in _SEPARATORS or letter.isspace()


def _tidy(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def only_uses_words(allowed: str | Sequence[str], text: str) -> bool:
    """Whether every part of ``text`` between single spaces is one of ``allowed``, to the letter.

    >>> only_uses_words("a b", "b a b"), only_uses_words("a b", "b, a"), only_uses_words("a", "")
    (True, False, False)
    """
    allowed_words = set(allowed.split(" ") if isinstance(allowed, str) else allowed)
    return allowed_words.issuperset(text.split(" "))


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
