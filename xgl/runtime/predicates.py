"""Statements that a plain function can decide (docs/specification.md, "Truth").

They are recognised on the statement's *expression*, literal and register parts apart, never
on the joined text: a move that contains the words of a rule cannot rewrite the rule.
A word is lower-case, ASCII punctuation dropped, split on white space.

In the paper's dialect words compare however they are spelled (docs/reference/dialects.md, "Words").
Letters are compared in their compatibility form (NFKD), without case and diacritics. Invisible
characters and punctuation within a word may join its letters or separate words, so a text has the
words of all these readings.
"""

from __future__ import annotations

import operator
import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from xgl.escaping import is_visible
from xgl.language import syntax as syn
from xgl.language.canonical import split_name
from xgl.language.visitors import find, joined_parts
from xgl.runtime.requests import TEXT_IS_TRUE, Predicate

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


_DROP = str.maketrans("", "", string.punctuation)
_NO_COMMON = re.compile(r"\s*no (common|shared) words?( between)?:?\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(&|and)\s*", re.IGNORECASE)
_COUNT = re.compile(r"\s*num_(words|tokens)\s*(<=|>=|<|>|==)\s*(\d{1,6})\s*")
_ONLY_USES = re.compile(r"\s*only uses (the )?words (of|from|in):?\s*", re.IGNORECASE)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def compare(left: Any, comparator: str, right: Any) -> bool:
    """A comparison of numbers, strings, lists or sets; ``in`` of a string or a list."""
    if comparator in ("in", "not in"):
        return (left in right) == (comparator == "in")
    return _COMPARE[comparator](left, right)


def words(text: str) -> set[str]:
    """The distinct words of a text.

    >>> sorted(words("The cat, the CAT!"))
    ['cat', 'the']
    """
    return set(_word_list(text))


def _word_list(text: str) -> list[str]:
    return text.lower().translate(_DROP).split()


Evaluate = Callable[[syn.StringExpr], str]
"""The text of a part of a statement; literal parts are matched before that."""


def predicate(truth: syn.Truth, value: Evaluate, respelled: bool = False) -> Predicate | None:
    """The plain function behind a statement, or None when only a model can judge it.
    ``respelled``: words are compared however they are spelled."""
    if truth.params:
        found = _params_predicate(truth, value)
    else:
        found = _no_common_words(list(joined_parts(truth.statement)), value)
    return _respelled(found) if found and respelled else found


def _respelled(rule: Predicate) -> Predicate:
    """The rule with the words of its operands: those of every reading where texts are compared, the
    visible ones where words are counted or must be among others."""
    readers: tuple[Callable[[str], Iterable[str]], ...] = {
        "no_common_words": (spellings, spellings),
        "only_uses_words": (spellings, pieces),
        "num_words": (pieces,),
    }.get(rule.kind, ())
    pairs = zip(readers, rule.operands, strict=False)
    texts = tuple(" ".join(sorted(read(text))) for read, text in pairs)
    return rule._replace(operands=texts or rule.operands)


def named_texts(truth: syn.Truth, value: Evaluate) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A statement whose parts that are no literals have names, and their texts by name."""
    parts = [part for each in (truth.statement, *truth.params) for part in joined_parts(each)]
    texts = [(value(part), isinstance(part, syn.Literal)) for part in parts]
    others = list(dict.fromkeys(text for text, is_literal in texts if not is_literal))
    names = ["the text"] if len(others) == 1 else [f"text {n + 1}" for n in range(len(others))]
    by_text = dict(zip(others, names, strict=True))
    words = [text if is_literal else by_text[text] for text, is_literal in texts]
    statement = re.sub(r" (?=[.,;:!?])", "", " ".join(" ".join(words).split()))
    if not any(is_literal and text.strip() for text, is_literal in texts):
        statement = TEXT_IS_TRUE.format(statement)
    return statement, tuple((name, text) for text, name in by_text.items())


def _no_common_words(parts: list[syn.StringExpr], value: Evaluate) -> Predicate | None:
    """``"no common words between" + A… + "&" + B…``"""
    head, rest = parts[0], parts[1:]
    marks = [i for i, part in enumerate(rest) if _literal(part, _SEPARATOR)]
    if not _literal(head, _NO_COMMON) or len(marks) != 1:
        return None
    left, right = rest[: marks[0]], rest[marks[0] + 1 :]
    if not left or not right:
        return None
    return Predicate("no_common_words", (" ".join(map(value, left)), " ".join(map(value, right))))


def _params_predicate(truth: syn.Truth, value: Evaluate) -> Predicate | None:
    """``is_true("no shared words", A, B)``, ``is_true("num_words<10", A)`` and the like."""
    operands = tuple(map(value, truth.params))
    if _literal(truth.statement, _NO_COMMON) and len(operands) == 2:
        return Predicate("no_common_words", operands)
    if _literal(truth.statement, _ONLY_USES) and len(operands) == 2:
        return Predicate("only_uses_words", operands)
    count = _literal(truth.statement, _COUNT)
    if count and len(operands) == 1:
        return Predicate(f"num_{count[1]}", operands, count[2], int(count[3]))
    return None


def _literal(part: syn.StringExpr, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.fullmatch(part.value) if isinstance(part, syn.Literal) else None


def decide(predicate: Predicate, count_tokens: Callable[[str], int]) -> bool:
    """Whether the predicate holds; ``count_tokens`` counts judge tokens."""
    first, *rest = predicate.operands
    if predicate.kind == "no_common_words":
        return not words(first) & words(*rest)
    if predicate.kind == "only_uses_words":
        return words(*rest) <= words(first)
    count = count_tokens(first) if predicate.kind == "num_tokens" else len(_word_list(first))
    return compare(count, predicate.comparator, predicate.bound)


CHANCE_JUDGES = ("embedded", "smollm2")
"""Judges that come with a package, and decide free statements by chance
(docs/specification.md, "Truth")."""


def free_statements(program: syn.Program) -> list[int]:
    """Positions of the instructions that hold a statement which a model has to decide."""
    return [
        position
        for position, line in enumerate(program.instructions)
        if any(predicate(unnamed(node)[1], str) is None for node in find(line, syn.Truth))
    ]


def unnamed(truth: syn.Truth) -> tuple[str, syn.Truth]:
    """The name of the model that a statement is put to, empty for none, and the rest of it."""
    model, statement = split_name(truth.statement)
    return model, replace(truth, statement=statement or syn.Literal(""))
