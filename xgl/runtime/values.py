"""The registers of one game, and the values of expressions over them.

Nothing here asks a model. A call that needs an answer (the first tokens of a string, a random
draw) is settled before the expression that it stands in: the machine yields its request.

The released package's helper functions are plain functions of strings (docs/specification.md,
"Helper functions"). The time of each is linear in the length of its text, with one more pass for
each phrase that it removes.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.dialects import Dialect
from xgl.runtime import meter
from xgl.runtime.meter import Meter
from xgl.runtime.predicates import compare, pieces, spellings, words
from xgl.runtime.requests import DrawRequest, PrefixRequest

_SEPARATOR = rf"\s{re.escape(string.punctuation)}"
_WORD = re.compile(rf"[^{_SEPARATOR}]+")
_TOKEN = re.compile(r"\S+")
_SPACES = re.compile(r"\s\s+")
_SEPARATORS = frozenset(string.punctuation)
_SAME = {"\u0130": "i", "\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}
"""Letters that Python's regular expressions match in any case and that no case mapping joins."""


def remove_common(text: str, common: Set[str]) -> str:
    """``text`` without the words of a set of :func:`~xgl.runtime.predicates.words`.

    >>> remove_common("The red hen, the fox", {"the", "fox"})
    'red hen,'
    """
    return _tidy(_remove_word_set(text, frozenset(_fold_case(" ".join(common)).split())))


def remove_words(text: str, phrases: Sequence[str]) -> str:
    """``text`` without the listed words or phrases, one after another, in any case of letters.

    >>> remove_words("New York is new", ["new york"])
    'is new'
    """
    for part in removal_parts(tuple(phrases)):
        text = _remove_phrase(text, part) if isinstance(part, str) else _remove_word_set(text, part)
    return _tidy(text)


def remove_respelled(text: str, common: Set[str]) -> str:
    """``text`` without the words of a set of :func:`~xgl.runtime.predicates.spellings`.

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
    return text.lower() if text.isascii() else text.translate(_LETTERS)


class _Letters(dict[int, str]):
    """A table of :meth:`str.translate`, filled as letters occur."""

    def __missing__(self, code: int) -> str:
        lower = _SAME.get(chr(code), chr(code)).lower()
        upper = lower.upper()
        # A letter whose upper case is several letters stays.
        self[code] = letter = lower if len(upper) > 1 else upper.lower()
        return letter


_LETTERS = _Letters()


def _remove_word_set(text: str, common: frozenset[str]) -> str:
    return _WORD.sub(lambda word: "" if _fold_case(word[0]) in common else word[0], text)


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


@dataclass(frozen=True, slots=True)
class Text:
    """A string, and the prefix that it is scored after unless a xent names another."""

    text: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A reference to a register: its value is read when it is used."""

    register: str


Item = Text | Alias
Items = tuple[Item, ...]
Value = Item | Items

NOTHING = Text("")

REQUEST_FUNCTIONS = ("first_n_tokens", "sample", "shuffle")
"""Helper functions whose value needs an answer of the judge or a random draw."""


class Values:
    """Registers and evaluation.

    ``answers`` are the texts of stories and the values of calls that ask, of the present line, by
    their identity. An evaluation that needs one that is not there raises ``KeyError``.
    """

    def __init__(self, dialect: Dialect, metadata: Metadata) -> None:
        self.dialect = dialect
        self.limit = metadata.max_characters
        self.meter = Meter(self.limit)
        self.spend = self.meter.spend
        self.registers: dict[str, Text | Items] = {
            **dict.fromkeys(syn.REGISTERS, NOTHING),
            **{name: Text(text) for name, text in metadata.constants.items()},
            **dict.fromkeys(syn.LIST_REGISTERS, ()),
        }
        self.aliases: dict[str, frozenset[str]] = {}
        """For each list the registers that it holds by reference, not by value."""
        self.answers: dict[int, Value] = {}
        self.draw_count = 0
        self.line_visit = (0, 0)

    def begin(self, line: int, visit: int) -> None:
        """Start a line that ran ``visit`` times before; drops the answers of others."""
        # Answers are kept by the identity of their call, which stands in one line only; a later run
        # of the line asks again, since its registers and its draws are others.
        self.line_visit, self.draw_count = (line, visit), 0
        self.answers.clear()

    # -- registers -------------------------------------------------------------------------

    def store(self, name: str, value: Value) -> None:
        if name in syn.LIST_REGISTERS:
            items = self.registers[name] = self._items(value)
            self.spend(meter.ITEM * len(items))
            aliases = frozenset(item.register for item in items if isinstance(item, Alias))
            self.aliases[name] = aliases
        else:
            assert not isinstance(value, tuple)
            self.registers[name] = self._now(value)

    def register_text(self, name: str) -> str:
        """A register as text; a list as JSON."""
        value = self.registers[name]
        if isinstance(value, tuple):
            self._strings(value)  # counted as work: its items may have grown since
        return self.as_text(value)

    def holders(self, names: Collection[str]) -> list[str]:
        """The lists that hold one of these registers by reference."""
        return [name for name, held in self.aliases.items() if not held.isdisjoint(names)]

    def non_empty(self) -> dict[str, str]:
        """All registers that are not empty, as :meth:`as_text`."""
        filled = {name: value for name, value in self.registers.items() if value}
        return {name: text for name, value in filled.items() if (text := self.as_text(value))}

    def as_text(self, value: Value) -> str:
        """A value as it is now; a list as JSON."""
        if isinstance(value, Alias):
            return self.register_text(value.register)
        if isinstance(value, Text):
            return value.text
        return json.dumps([self._now(item).text for item in value], ensure_ascii=False)

    def _now(self, value: Item) -> Text:
        return cast(Text, self.registers[value.register] if isinstance(value, Alias) else value)

    def _items(self, value: Value) -> Items:
        return cast(Items, self.registers[value.register] if isinstance(value, Alias) else value)

    def _strings(self, items: Items) -> list[str]:
        texts = [self._now(item).text for item in items]
        self.spend(meter.ITEM * len(texts) + meter.FIND * sum(map(len, texts)))
        return texts

    # -- strings and lists -----------------------------------------------------------------

    def text(self, expression: syn.StringExpr) -> str:
        return self.string(expression).text

    def _read(self, expression: syn.StringExpr) -> str:
        """The text of an expression; charges one search through it."""
        text = self.text(expression)
        self.spend(meter.FIND * len(text))
        return text

    def string(self, expression: syn.StringExpr) -> Text:
        """A string expression's value as it is now."""
        return self._now(self._item(expression))

    def value(self, expression: syn.StringExpr | syn.ListExpr) -> Value:
        """The value of a string or list expression, to be stored."""
        match expression:
            case syn.Literal(text):
                return Text(self.within_limit(text))
            case syn.Register(name) if self.dialect.aliases:
                return Alias(name)
            case syn.Register(name):
                return self.registers[name]
            case syn.Cat(left, right):
                space = " " if self.dialect.cat_space else ""
                return Text(self.within_limit(self.text(left) + space + self.text(right)))
            case syn.Cut(whole, mark, side):
                texts = self._read(whole), self._read(mark)
                self.meter.search(*texts)
                return Text(cut(*texts, side))
            case syn.Given(text, prefix):
                return Text(self.text(text), self.text(prefix))
            case syn.Story():
                return Text(self.within_limit(self.as_text(self.answers[id(expression)])))
            case syn.ListOf(items):
                return self._within_limits(tuple(map(self._item, items)))
            case syn.Chain(left, right):
                return self._within_limits(self.items(left) + self.items(right))
        return self._text_or_list(expression)

    def _item(self, expression: syn.StringExpr) -> Item:
        return cast(Item, self.value(expression))

    def items(self, expression: syn.ListExpr) -> Items:
        return self._items(self.value(expression))

    def within_limit(self, text: str) -> str:
        """``text``; raises :class:`OversizeError` if it is longer than the metadata's cap."""
        self.spend(meter.COPY * len(text))
        if len(text) > self.limit:
            size = f"a string of {len(text)} characters"
            raise OversizeError(f"{size}, at most {self.limit} may stand")
        return text

    def _within_limits(self, items: Items) -> Items:
        if len(items) > syn.MAX_ITEMS:
            raise OversizeError(f"a list of {len(items)}, at most {syn.MAX_ITEMS} may stand")
        size = sum(map(len, self._strings(items)))
        if size > self.limit:
            raise OversizeError(f"a list of {size} characters, at most {self.limit} may stand")
        return items

    # -- helper functions ------------------------------------------------------------------

    def _text_or_list(self, call: syn.Function) -> Value:
        """Value of a helper function that returns a string or a list."""
        first, *rest = cast("tuple[Any, ...]", call.arguments)
        match call.name:
            case "remove_common_words":
                return Text(self.within_limit(self._uncommon(first, rest[0])))
            case "join":
                text = self.text(first).join(self._strings(self.items(rest[0])))
                return Text(self.within_limit(text))
            case "split":
                mark = self.text(rest[0]) if rest else None
                whole = self._read(first)
                self.spend(meter.ITEM * len(whole))
                self.meter.search(whole, mark or "")
                parts = [whole] if mark == "" else whole.split(mark)  # in one piece at an empty one
                return self._within_limits(tuple(map(Text, parts)))
        return self.answers[id(call)]

    def _uncommon(self, text: Any, other: Any) -> str:
        whole = self._read(text)
        if syn.kind_of(other) == "list":
            phrases = self._strings(self.items(other))
            self.spend(meter.REMOVE * sum(map(len, phrases)))
            parts = removal_parts(tuple(phrases))
            self.spend(meter.REMOVE * (len(whole) + 1) * (len(parts) + 1))
            for phrase in parts:
                if isinstance(phrase, str):
                    self.meter.search(whole, phrase)
            whole = remove_words(whole, phrases)
            if not self.dialect.respelled_words:
                return whole
            common = {word for own in map(self._words, phrases) if len(own) == 1 for word in own}
        else:
            common = self._common_words(whole, self._read(other))
        self.spend(meter.REMOVE * len(whole))
        if self.dialect.respelled_words:
            self.spend(meter.RESPELLED * 3 * len(whole))
            return remove_respelled(whole, common)
        return remove_common(whole, common)

    def _words(self, text: str) -> set[str]:
        """The distinct words of a text, as the dialect counts them; charges the split."""
        respelled = self.dialect.respelled_words
        self.spend((meter.RESPELLED if respelled else meter.WORD) * len(text))
        return set(pieces(text)) if respelled else words(text)

    def _common_words(self, one: str, other: str) -> set[str]:
        """The words of both texts, as the dialect compares them."""
        if not self.dialect.respelled_words:
            return self._words(one) & self._words(other)
        self.spend(meter.RESPELLED * (len(one) + len(other)))
        return spellings(one) & spellings(other)

    # -- calls that ask --------------------------------------------------------------------

    def request(self, call: syn.Function) -> tuple[PrefixRequest | DrawRequest, Value]:
        """The request of a call of :data:`REQUEST_FUNCTIONS`, and the value that it is about."""
        first, *rest = cast("tuple[Any, ...]", call.arguments)
        if call.name == "first_n_tokens":
            item = self._item(first)
            whole = self._now(item).text
            self.spend(meter.SEND * len(whole))
            return PrefixRequest(whole, rest[0].value), item
        items = self.items(first)
        self.spend(meter.DRAW + meter.ITEM * len(items))
        request = DrawRequest(len(items), *self.line_visit, self.draw_count)
        self.draw_count += 1
        return request, items

    def settle(self, call: syn.Function, argument: Value, answer: Any) -> None:
        """Store the value of a call for its line. A string that is not cut keeps its prefix."""
        value: Value
        if call.name == "shuffle":
            value = tuple(cast(Items, argument)[index] for index in answer)
        elif call.name == "sample":
            value = cast(Items, argument)[answer[0]] if argument else NOTHING
        else:
            # The argument itself, not its text, keeps a reference to a register live (``aliases``).
            short = self._now(cast(Item, argument)).text == answer
            value = argument if short else Text(self.within_limit(answer))
        self.answers[id(call)] = value

    def holds(self, test: syn.Test) -> bool:
        """Whether a comparison of values that need no judge holds."""
        left, right = self.plain(test.left), self.plain(test.right)
        if test.comparator in ("in", "not in") and isinstance(right, str):
            self.meter.search(right, left)
        return compare(left, test.comparator, right)

    def plain(self, expression: Any) -> Any:
        """A value as Python's own: str, list of str, set of words, whole number or bool."""
        match syn.kind_of(expression):
            case "string":
                return self._read(expression)
            case "list":
                return self._strings(self.items(expression))
        # a helper function that only reads its arguments
        arguments = [self.plain(argument) for argument in expression.arguments]
        match expression.name:
            case "word_set":
                return self._words(*arguments)
            case "common_word_set":
                return self._common_words(*arguments)
            case "num_words":
                return len(self._words(*arguments))
            case "len":
                return len(arguments[0])
        self.spend(meter.WORD * sum(len(each) for each in arguments if isinstance(each, str)))
        allowed, text = arguments
        if expression.name == "only_uses_chars":
            return set(allowed).issuperset(text)
        # only_uses_words: parts between single spaces, to the letter.
        words = allowed.split(" ") if isinstance(allowed, str) else allowed
        return set(words).issuperset(text.split(" "))


def cut(text: str, mark: str, side: str) -> str:
    """``text // mark`` (before its first occurrence) or ``text % mark`` (after it)."""
    before, _, after = text.partition(mark) if mark else (text, "", "")
    return before if side == "before" else after
