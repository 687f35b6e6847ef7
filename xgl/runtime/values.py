"""The registers of one game, and the values of expressions over them.

Nothing here asks a model. Where a value needs an answer that is not there yet (the first tokens
of a string, a random draw), :class:`MissingError` names the request; the machine yields it and
evaluates again.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata
from xgl.language.dialects import Dialect
from xgl.runtime import helpers
from xgl.runtime.predicates import words
from xgl.runtime.requests import DrawRequest, PrefixRequest


@dataclass(frozen=True, slots=True)
class Text:
    """A string, and the prefix that it is scored after unless a xent names another."""

    text: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A register by itself: what it holds when the value is used."""

    register: str


Item = Text | Alias
Items = tuple[Item, ...]
Value = Item | Items

NOTHING = Text("")

_COMPARE: dict[syn.Comparator, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def compare(left: Any, comparator: syn.Comparator, right: Any) -> bool:
    """A comparison of numbers, strings, lists or sets; ``in`` of a string or a list."""
    if comparator in ("in", "not in"):
        return (left in right) == (comparator == "in")
    return _COMPARE[comparator](left, right)


class MissingError(Exception):
    """A request whose answer an evaluation needs."""

    def __init__(self, request: PrefixRequest | DrawRequest) -> None:
        self.request = request


class Values:
    """Registers and evaluation; ``stories`` are the texts of the present line's ``story()``."""

    def __init__(self, dialect: Dialect, metadata: Metadata) -> None:
        self.dialect = dialect
        self.limit = metadata.max_characters
        self.work_left = syn.MAX_WORK * self.limit
        self.texts: dict[str, Text] = dict.fromkeys(syn.REGISTERS, NOTHING)
        self.texts |= {name: Text(text) for name, text in metadata.constants.items()}
        self.lists: dict[str, Items] = dict.fromkeys(syn.LIST_REGISTERS, ())
        self.answers: dict[PrefixRequest | DrawRequest, Any] = {}
        self.stories: Sequence[str] = ()
        self.told = self.drawn = 0
        self.place = (0, 0)

    def begin(self, line: int, visit: int) -> None:
        """A new line at its so-manieth run: no stories and no answers from lines before."""
        self.place, self.drawn = (line, visit), 0
        self.stories, self.told = (), 0
        self.answers.clear()

    def spend(self, characters: int) -> None:
        """Count work; raises :class:`OversizeError` where a play does too much of it."""
        self.work_left -= characters
        if self.work_left < 0:
            raise OversizeError(f"a play of more than {syn.MAX_WORK} strings of the longest kind")

    # -- registers -------------------------------------------------------------------------

    def store(self, name: str, value: Value) -> None:
        if name in self.lists:
            self.lists[name] = self._items(value)
        else:
            assert not isinstance(value, tuple)
            self.texts[name] = self._now(value)

    def shown(self, name: str) -> str:
        """A register as text; a list as JSON."""
        if name in self.lists:
            self._strings(self.lists[name])  # counted as work: its items may have grown since
            return self.as_text(self.lists[name])
        return self.texts[name].text

    def holders(self, names: Iterable[str]) -> list[str]:
        """The lists that hold one of these registers itself, not its value."""
        if not any(self.lists.values()):
            return []
        changed = {Alias(name) for name in names}
        return [name for name, items in self.lists.items() if not changed.isdisjoint(items)]

    def held(self) -> dict[str, str]:
        """All registers that are not empty, as :meth:`shown`."""
        texts = {name: text.text for name, text in self.texts.items() if text.text}
        return texts | {name: self.as_text(items) for name, items in self.lists.items() if items}

    def as_text(self, value: Value) -> str:
        """A value as it is now; a list as JSON."""
        if isinstance(value, Alias):
            return self.shown(value.register)
        if isinstance(value, Text):
            return value.text
        return json.dumps([self._now(item).text for item in value], ensure_ascii=False)

    def _now(self, value: Item) -> Text:
        return self.texts[value.register] if isinstance(value, Alias) else value

    def _items(self, value: Value) -> Items:
        if isinstance(value, Alias):
            return self.lists[value.register]
        assert isinstance(value, tuple)
        return value

    def _strings(self, items: Items) -> list[str]:
        texts = [self._now(item).text for item in items]
        self.spend(sum(map(len, texts)) + len(texts))
        return texts

    # -- strings and lists -----------------------------------------------------------------

    def text(self, expression: syn.StringExpr) -> str:
        return self.string(expression).text

    def _read(self, expression: syn.StringExpr) -> str:
        """A text that will be looked through, which is work of its length."""
        text = self.text(expression)
        self.spend(len(text) + 1)
        return text

    def string(self, expression: syn.StringExpr) -> Text:
        """A string expression's value as it is now."""
        value = self.value(expression)
        assert not isinstance(value, tuple)
        return self._now(value)

    def value(self, expression: syn.StringExpr | syn.ListExpr) -> Value:
        """The value of a string or list expression, to be stored."""
        match expression:
            case syn.Literal(text):
                return Text(self.capped(text))
            case syn.Register(name) if self.dialect.aliases:
                return Alias(name)
            case syn.Register(name):
                return self.lists[name] if name in self.lists else self.texts[name]
            case syn.Cat(left, right):
                space = " " if self.dialect.cat_space else ""
                return Text(self.capped(self.text(left) + space + self.text(right)))
            case syn.Cut(whole, mark, side):
                return Text(cut(self._read(whole), self._read(mark), side))
            case syn.Given(text, prefix):
                return Text(self.text(text), self.text(prefix))
            case syn.Story():
                self.told += 1
                return Text(self.capped(self.stories[self.told - 1]))
            case syn.ListOf(items):
                return self._bounded(tuple(map(self._item, items)))
            case syn.Chain(left, right):
                return self._bounded(self.items(left) + self.items(right))
        return self._made(expression)

    def _item(self, expression: syn.StringExpr) -> Item:
        value = self.value(expression)
        assert not isinstance(value, tuple)
        return value

    def items(self, expression: syn.ListExpr) -> Items:
        return self._items(self.value(expression))

    def capped(self, text: str) -> str:
        """``text``; raises :class:`OversizeError` where it is longer than the metadata's cap."""
        self.spend(len(text) + 1)
        if len(text) > self.limit:
            found = f"a string of {len(text)} characters"
            raise OversizeError(f"{found}, at most {self.limit} may stand")
        return text

    def _bounded(self, items: Items) -> Items:
        if len(items) > syn.MAX_ITEMS:
            raise OversizeError(f"a list of {len(items)}, at most {syn.MAX_ITEMS} may stand")
        size = sum(map(len, self._strings(items)))
        if size > self.limit:
            raise OversizeError(f"a list of {size} characters, at most {self.limit} may stand")
        return items

    # -- helper functions ------------------------------------------------------------------

    def _made(self, call: syn.Function) -> Value:
        """What a helper function gives that makes a string or a list."""
        first, *rest = cast("tuple[Any, ...]", call.arguments)
        match call.name:
            case "remove_common_words":
                return Text(self.capped(self._uncommon(first, rest[0])))
            case "first_n_tokens":
                return self._first_tokens(first, rest[0])
            case "sample":
                items = self.items(first)
                order = self._draw(len(items))
                return items[order[0]] if items else NOTHING
            case "shuffle":
                items = self.items(first)
                return tuple(items[place] for place in self._draw(len(items)))
            case "join":
                joined = self.text(first).join(self._strings(self.items(rest[0])))
                return Text(self.capped(joined))
        mark = self.text(rest[0]) if rest else None
        return self._bounded(tuple(map(Text, helpers.split(self._read(first), mark))))

    def _uncommon(self, text: Any, other: Any) -> str:
        whole = self._read(text)
        if syn.kind_of(other) == "list":
            listed = self._strings(self.items(other))
            parts = helpers.removal_parts(tuple(listed))
            self.spend(len(listed) + (len(whole) + 1) * (len(parts) + 1))
            return helpers.remove_words(whole, listed)
        common = words(whole) & words(self._read(other))
        self.spend(4 * len(whole))
        return helpers.remove_common(whole, common)

    def _first_tokens(self, text: Any, tokens: Any) -> Item:
        """A string that is short enough stays what it is, with its prefix."""
        value = self._item(text)
        whole = self._now(value).text
        self.spend(len(whole) + 1)
        first = self._answer(PrefixRequest(whole, tokens.value))
        return value if first == whole else Text(self.capped(first))

    def _draw(self, size: int) -> tuple[int, ...]:
        request = DrawRequest(size, *self.place, self.drawn)
        self.drawn += 1
        order: tuple[int, ...] = self._answer(request)
        return order

    def _answer(self, request: PrefixRequest | DrawRequest) -> Any:
        if request not in self.answers:
            raise MissingError(request)
        return self.answers[request]

    def plain(self, expression: Any) -> Any:
        """A value as Python's own: str, list of str, set of words, whole number or bool."""
        match syn.kind_of(expression):
            case "string":
                return self._read(expression)
            case "list":
                return self._strings(self.items(expression))
        return self._found(expression)

    def _found(self, call: syn.Function) -> Any:
        """What a helper function gives that looks at strings only."""
        given = [self.plain(argument) for argument in call.arguments]
        match call.name:
            case "word_set":
                return words(*given)
            case "common_word_set":
                return words(given[0]) & words(given[1])
            case "num_words":
                return len(words(*given))
            case "only_uses_words":
                return helpers.only_uses_words(*given)
            case "only_uses_chars":
                return helpers.only_uses_chars(*given)
        return len(given[0])


def cut(text: str, mark: str, side: str) -> str:
    """``text // mark`` (before its first occurrence) or ``text % mark`` (after it)."""
    if not mark or mark not in text:
        return text if side == "before" else ""
    before, _, after = text.partition(mark)
    return before if side == "before" else after
