"""Rules of a grammar as data, written out for llguidance in its variant of Lark's syntax.

A rule may carry a state of 64 bits: each of its forms says when it applies and what it hands on.
What comes later in a text can so depend on what came before, as far as the bits remember it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A rule, handed the state as ``change`` makes it; "_" hands on the same one."""

    rule: str
    change: str = "_"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, and how many characters it matches at most."""

    regex: str
    longest: int


Symbol = str | Ref | Pattern
"""What stands in a form; a ``str`` stands for itself."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a rule; ``when`` is a condition on the state, empty for always."""

    symbols: tuple[Symbol, ...]
    when: str = ""


@dataclass(frozen=True)
class Grammar:
    """Rules by name. ``begins`` is the first rule of a text and its first state."""

    begins: str
    rules: dict[str, list[Form]] = field(default_factory=dict)

    def add(self, name: str, *forms: Sequence[Any], when: str = "") -> Ref:
        """Further forms of a rule, each a sequence of symbols; returns a reference to it."""
        self.rules.setdefault(name, []).extend(Form(tuple(form), when) for form in forms)
        return Ref(name)

    def lark(self) -> str:
        """The grammar as llguidance reads it."""
        with_state = self._with_state()
        lines = [f"start: {self.begins}::0x0"]
        for name, forms in self.rules.items():
            head = f"{name}::_" if name in with_state else name
            lines.append(f"{head}: " + "\n    | ".join(_form(form, with_state) for form in forms))
        return "\n".join(lines) + "\n"

    def _with_state(self) -> set[str]:
        """Rules that look at the state or hand it on; llguidance wants no others to carry it."""
        found: set[str] = set()
        while new := {n for n in self.rules.keys() - found if self._looks(n, found)}:
            found |= new
        return found

    def _looks(self, name: str, known: set[str]) -> bool:
        return any(
            form.when or any(isinstance(s, Ref) and s.rule in known for s in form.symbols)
            for form in self.rules[name]
        )

    def longest(self, name: str, stop: str, known: dict[str, int] | None = None) -> int:
        """Most characters of a rule, those from the rule ``stop`` on not counted.

        Raises RecursionError where a rule holds itself on another way than through ``stop``.
        """
        known = {stop: 0} if known is None else known
        if name not in known:
            known[name] = max(
                sum(self._size(symbol, stop, known) for symbol in form.symbols)
                for form in self.rules[name]
            )
        return known[name]

    def _size(self, symbol: Symbol, stop: str, known: dict[str, int]) -> int:
        if isinstance(symbol, Ref):
            return self.longest(symbol.rule, stop, known)
        return symbol.longest if isinstance(symbol, Pattern) else len(symbol)


def repeated(item: Symbol, between: str, least: int, most: int) -> list[tuple[Symbol, ...]]:
    """The forms of ``least`` to ``most`` items with ``between`` between them."""
    return [(item, *((between, item) * (count - 1))) for count in range(least, most + 1)]


def _form(form: Form, with_state: set[str]) -> str:
    text = " ".join(_symbol(symbol, with_state) for symbol in form.symbols) or '""'
    return f"{text} %if {form.when}" if form.when else text


def _symbol(symbol: Symbol, with_state: set[str]) -> str:
    if isinstance(symbol, Ref):
        return f"{symbol.rule}::{symbol.change}" if symbol.rule in with_state else symbol.rule
    if isinstance(symbol, Pattern):
        return f"/{symbol.regex}/"
    return json.dumps(symbol)
