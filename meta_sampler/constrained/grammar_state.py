"""What a grammar of XGL remembers while a text goes on: one bit for each fact of the
language's rules (docs/specification.md, "The language").

Registers that were set, are spent, or hold a move; players who were asked; flags placed and
jumped to; the number of lines. llguidance hands on 64 bits. A register is *spent* while it must not
be read: in the assign that sets it first, where a dialect stores all values together, and in a term
that has named it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

from xgl.language import syntax as syn
from xgl.language.canonical import LIST_POOL, POOL, PUBLIC_POOL
from xgl.language.dialects import Dialect

BITS = 64
_LINE_BITS = 7
_PRIVATE, _PUBLIC, _LISTS = 10, 3, 2
"""Registers of each pool that a text may use; three facts on each must fit into the bits."""


@dataclass(frozen=True)
class State:
    """Where each fact stands, for the registers that a dialect's grammar names."""

    dialect: Dialect
    constants: tuple[str, ...] = ()
    """Registers of types a, b, c that the metadata fill: they can always be read."""

    @property
    def strings(self) -> tuple[str, ...]:
        """String registers that a text may set, in order of preference."""
        return POOL[:_PRIVATE] + PUBLIC_POOL[:_PUBLIC]

    @property
    def lists(self) -> tuple[str, ...]:
        return LIST_POOL[:_LISTS]

    @cached_property
    def _places(self) -> dict[str, int]:
        names = (*self.strings, *self.lists)
        facts = [f"set {name}" for name in names]
        facts += [f"spent {name}" for name in names]
        facts += [f"moved {name}" for name in self.strings]
        facts += [f"asked {player}" for player in syn.PLAYERS]
        facts += [
            "seen",
            "paid",
            *(f"placed {f}" for f in syn.FLAGS),
            *(f"taken {f}" for f in syn.FLAGS),
        ]
        assert len(facts) + _LINE_BITS <= BITS
        return {fact: place for place, fact in enumerate(facts)}

    # -- conditions ------------------------------------------------------------------------------

    def holds(self, fact: str) -> str:
        return f"bit_set({self._places[fact]})"

    def fails(self, fact: str) -> str:
        return f"bit_clear({self._places[fact]})"

    def readable(self, name: str) -> str:
        return both(self.holds(f"set {name}"), self.fails(f"spent {name}"))

    def readable_strings(self, least: int = 1) -> str:
        """Whether so many string registers can be read; empty for always."""
        if len(self.constants) >= least:
            return ""
        some, spent = self._range("set"), self._range("spent")
        cases = (
            both(f"bit_count_ge({some}, {count + least})", f"bit_count_le({spent}, {count})")
            for count in range(len(self.strings) - least + 1)
        )
        return reduce(either, cases)

    def _range(self, fact: str) -> str:
        first = self._places[f"{fact} {self.strings[0]}"]
        return f"[{first}:{first + len(self.strings)}]"

    @property
    def someone_asked(self) -> str:
        """Whether anybody moved; then a register that holds a move can be read."""
        first = self._places[f"asked {syn.PLAYERS[0]}"]
        return f"ne([{first}:{first + len(syn.PLAYERS)}], 0)"

    def fewer_lines(self, than: int) -> str:
        """Whether fewer lines than that are behind the present one."""
        return f"lt({self._lines}, {max(0, than)})"

    @property
    def _lines(self) -> str:
        first = len(self._places)
        return f"[{first}:{first + _LINE_BITS}]"

    # -- changes ---------------------------------------------------------------------------------

    def note(self, *facts: str) -> str:
        return f"bit_or({hex(self._mask(facts))})"

    @property
    def settled(self) -> str:
        """What was set in a line is set for the next ones."""
        spent = [fact for fact in self._places if fact.startswith("spent ")]
        return f"bit_and({hex((1 << BITS) - 1 - self._mask(spent))})"

    @property
    def next_line(self) -> str:
        return f"incr({self._lines})"

    def _mask(self, facts: list[str] | tuple[str, ...]) -> int:
        return sum(1 << self._places[fact] for fact in dict.fromkeys(facts))


def both(one: str, other: str) -> str:
    """Either condition may be empty, for always."""
    return f"and({one}, {other})" if one and other else one or other


def either(one: str, other: str) -> str:
    return f"or({one}, {other})"
