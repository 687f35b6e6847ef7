"""Rules of a grammar as data, written out for llguidance in its variant of Lark's syntax.

A rule may carry a state of 64 bits: each of its forms says when it applies and which state it
passes on. So later parts of a text can depend on earlier ones, as far as the bits record them.
:class:`State` says which bit stands for which fact of the language's rules (docs/specification.md,
"The language").
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

from xgl.language import syntax as syn
from xgl.language.canonical import POOL, PUBLIC_POOL
from xgl.language.dialects import Dialect


class Ref(NamedTuple):
    """A rule that gets the state changed by ``change``; "_" passes on the same state."""

    rule: str
    change: str = "_"


class Pattern(NamedTuple):
    """A regular expression, and how many characters it matches at most."""

    regex: str
    longest: int


Symbol = str | Ref | Pattern
"""An item of a form; a ``str`` is literal text."""
Form = tuple[tuple[Symbol, ...], str]
"""One way to write a rule, and its condition on the state; empty for always."""


class Grammar:
    """Rules by name; a text begins with the rule ``start`` and no bit set."""

    def __init__(self, start: str) -> None:
        self.start = start
        self.rules: dict[str, list[Form]] = {}

    def add(self, name: str, *forms: Sequence[Any], when: str = "") -> Ref:
        """Further forms of a rule, each a sequence of symbols; returns a reference to it."""
        self.rules.setdefault(name, []).extend((tuple(form), when) for form in forms)
        return Ref(name)

    def lark(self) -> str:
        """The grammar as llguidance reads it."""
        with_state = self._with_state()

        def text(symbol: Symbol) -> str:
            if isinstance(symbol, Ref):
                return f"{symbol.rule}::{symbol.change}" if symbol.rule in with_state else symbol[0]
            return f"/{symbol.regex}/" if isinstance(symbol, Pattern) else json.dumps(symbol)

        lines = [f"start: {self.start}::0x0"]
        for name, forms in self.rules.items():
            choices = [
                (" ".join(map(text, symbols)) or '""') + (f" %if {when}" if when else "")
                for symbols, when in forms
            ]
            head = f"{name}::_" if name in with_state else name
            lines.append(f"{head}: " + "\n    | ".join(choices))
        return "\n".join(lines) + "\n"

    def _with_state(self) -> set[str]:
        """Rules that read the state or pass it on; llguidance requires that no others carry it."""
        names: set[str] = set()

        def reads_it(name: str) -> bool:
            return any(
                when or any(isinstance(symbol, Ref) and symbol.rule in names for symbol in symbols)
                for symbols, when in self.rules[name]
            )

        while new := set(filter(reads_it, self.rules.keys() - names)):
            names |= new
        return names

    def longest(self, name: str, stop: str, lengths: dict[str, int] | None = None) -> int:
        """Most characters of a rule, those from the rule ``stop`` on not counted.

        Raises RecursionError if a rule holds itself other than through ``stop``.
        """
        lengths = {stop: 0} if lengths is None else lengths

        def size(symbol: Symbol) -> int:
            if isinstance(symbol, Ref):
                return self.longest(symbol.rule, stop, lengths)
            return symbol.longest if isinstance(symbol, Pattern) else len(symbol)

        if name not in lengths:
            lengths[name] = max(sum(map(size, symbols)) for symbols, _ in self.rules[name])
        return lengths[name]


def repetitions(item: Symbol, between: str, least: int, most: int) -> list[tuple[Symbol, ...]]:
    """The forms of ``least`` to ``most`` items with ``between`` between them."""
    return [(item, *((between, item) * (count - 1))) for count in range(least, most + 1)]


BITS = 64
_LINE_BITS = 7
_PRIVATE, _PUBLIC = 10, 3
"""Registers of each pool that a text may use; three facts on each must fit into the bits."""


@dataclass(frozen=True)
class State:
    """The bit of each fact: registers that were set, are spent, or hold a move; players who moved;
    flags placed and jumped to; the number of lines.

    A register is *spent* while it must not be read: in the assign that sets it first, if a dialect
    stores all values together, and in a term that has named it.
    """

    dialect: Dialect
    constants: tuple[str, ...] = ()
    """Registers of types a, b, c that the metadata fill: they can always be read."""
    main: str = syn.MAIN_PLAYER
    """The player who must move and be paid."""

    @property
    def strings(self) -> tuple[str, ...]:
        """String registers that a text may set, in order of preference."""
        return POOL[:_PRIVATE] + PUBLIC_POOL[:_PUBLIC]

    @cached_property
    def _bits(self) -> dict[str, int]:
        facts = [f"{fact} {name}" for fact in ("set", "spent", "moved") for name in self.strings]
        facts += [f"moved {player}" for player in syn.PLAYERS]
        facts += ["seen", "paid"]
        facts += [f"{event} {flag}" for event in ("placed", "taken") for flag in syn.FLAGS]
        assert len(facts) + _LINE_BITS <= BITS
        return {fact: bit for bit, fact in enumerate(facts)}

    # -- conditions ------------------------------------------------------------------------------

    def holds(self, fact: str) -> str:
        """The condition that a fact's bit is set."""
        return f"bit_set({self._bits[fact]})"

    def fails(self, fact: str) -> str:
        """The condition that a fact's bit is not set."""
        return f"bit_clear({self._bits[fact]})"

    def readable(self, name: str) -> str:
        """The condition that a register was set and is not spent."""
        return both(self.holds(f"set {name}"), self.fails(f"spent {name}"))

    def readable_strings(self, least: int = 1) -> str:
        """The condition that ``least`` string registers can be read; empty for always.

        The bits can be counted but not subtracted: for some number n at least n + ``least`` are
        set and at most n spent, and every spent register is set.
        """
        if len(self.constants) >= least:
            return ""
        set_range, spent_range = self._range("set"), self._range("spent")
        cases = (
            both(
                f"bit_count_ge({set_range}, {count + least})",
                f"bit_count_le({spent_range}, {count})",
            )
            for count in range(len(self.strings) - least + 1)
        )
        return reduce(either, cases)

    def _range(self, fact: str) -> str:
        first = self._bits[f"{fact} {self.strings[0]}"]
        return f"[{first}:{first + len(self.strings)}]"

    @property
    def someone_moved(self) -> str:
        """The condition that a player moved; then a register that holds a move can be read."""
        first = self._bits[f"moved {syn.PLAYERS[0]}"]
        return f"ne([{first}:{first + len(syn.PLAYERS)}], 0)"

    def fewer_lines(self, than: int) -> str:
        """The condition that fewer than ``than`` lines stand before the present one."""
        return f"lt({self._lines}, {max(0, than)})"

    @property
    def _lines(self) -> str:
        first = len(self._bits)
        return f"[{first}:{first + _LINE_BITS}]"

    # -- changes ---------------------------------------------------------------------------------

    def note(self, *facts: str) -> str:
        """The change that sets the bits of facts."""
        return f"bit_or({hex(self._mask(facts))})"

    @property
    def after_assign(self) -> str:
        """The change after an assign: the registers that it set can be read."""
        spent_facts = [f"spent {name}" for name in self.strings]
        return f"bit_and({hex((1 << BITS) - 1 - self._mask(spent_facts))})"

    @property
    def next_line(self) -> str:
        """The change that counts one more line."""
        return f"incr({self._lines})"

    def _mask(self, facts: Sequence[str]) -> int:
        return sum(1 << self._bits[fact] for fact in dict.fromkeys(facts))


def both(one: str, other: str) -> str:
    """Either condition may be empty, for always."""
    return f"and({one}, {other})" if one and other else one or other


def either(one: str, other: str) -> str:
    return f"or({one}, {other})"
