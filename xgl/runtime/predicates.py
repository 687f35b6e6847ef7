"""Statements that a plain function can decide (docs/specification.md, "Truth").

They are recognised on the statement's *expression*, literal and register parts apart, never
on the joined text: a move that contains the words of a rule cannot rewrite the rule.
A word is lower-case, ASCII punctuation dropped, split on white space.
"""

from __future__ import annotations

import operator
import re
import string
from collections.abc import Callable, Iterator

from xgl.language import syntax as syn
from xgl.runtime.requests import Predicate

_DROP = str.maketrans("", "", string.punctuation)
_NO_COMMON = re.compile(r"\s*no (common|shared) words?( between)?:?\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(&|and)\s*", re.IGNORECASE)
_COUNT = re.compile(r"\s*num_(words|tokens)\s*(<=|>=|<|>|==)\s*(\d{1,6})\s*")
_ONLY_USES = re.compile(r"\s*only uses (the )?words (of|from|in):?\s*", re.IGNORECASE)

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def words(text: str) -> set[str]:
    """The distinct words of a text.

    >>> sorted(words("The cat, the CAT!"))
    ['cat', 'the']
    """
    return set(_word_list(text))


def _word_list(text: str) -> list[str]:
    return text.lower().translate(_DROP).split()


def predicate(truth: syn.Truth, value: Callable[[syn.StringExpr], str]) -> Predicate | None:
    """The plain function behind a statement, or None when only a model can judge it.

    ``value`` evaluates a part of the statement; literal parts are matched before that.
    """
    if truth.params:
        return _params_predicate(truth, value)
    return _no_common_words(list(_parts(truth.statement)), value)


def _parts(statement: syn.StringExpr) -> Iterator[syn.StringExpr]:
    if isinstance(statement, syn.Cat):
        yield from _parts(statement.left)
        yield from _parts(statement.right)
    else:
        yield statement


def _no_common_words(
    parts: list[syn.StringExpr], value: Callable[[syn.StringExpr], str]
) -> Predicate | None:
    """``"no common words between" + A… + "&" + B…``"""
    head, rest = parts[0], parts[1:]
    marks = [i for i, part in enumerate(rest) if _literal(part, _SEPARATOR)]
    if not _literal(head, _NO_COMMON) or len(marks) != 1:
        return None
    left, right = rest[: marks[0]], rest[marks[0] + 1 :]
    if not left or not right:
        return None
    return Predicate("no_common_words", (" ".join(map(value, left)), " ".join(map(value, right))))


def _params_predicate(truth: syn.Truth, value: Callable[[syn.StringExpr], str]) -> Predicate | None:
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
    match predicate:
        case Predicate("no_common_words", (left, right)):
            return not words(left) & words(right)
        case Predicate("only_uses_words", (allowed, text)):
            return words(text) <= words(allowed)
        case Predicate("num_words", (text,), comparator, bound):
            return _COMPARE[comparator](len(_word_list(text)), bound)
        case Predicate("num_tokens", (text,), comparator, bound):
            return _COMPARE[comparator](count_tokens(text), bound)
    raise ValueError(f"no predicate of kind {predicate.kind!r}")
