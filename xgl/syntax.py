"""XGL's syntax as frozen dataclasses (paper §2.4; SPEC §1).

A :class:`Program` is a tuple of instructions, an instruction holds expressions. Every node
compares by meaning: its :class:`Span` takes no part in equality or hashing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

MAX_LINES = 64
MAX_STEPS = 1024
MAX_DEPTH = 32
MAX_NUMBER = 100_000
MAX_TERMS = 32
MAX_LINE_CHARACTERS = 2000
"""Of an instruction as ``to_text`` spells it with one-letter registers; its source may have
twice as many. So the canonical text of a valid line, whatever its registers, is valid."""

REGISTER_TYPES = ("s", "t", "x", "y", "p", "a", "b", "c")
REGISTER_SUFFIXES = ("", "0", "1", "2", "3")
REGISTERS = tuple(kind + suffix for suffix in REGISTER_SUFFIXES for kind in REGISTER_TYPES)
CONSTANT_TYPES = ("a", "b", "c")
PUBLIC_TYPES = ("p", "a", "b")

PLAYERS = ("black", "white", "alice", "bob", "carol", "env", "david")
OMNISCIENT = ("black", "white", "env")
MAIN_PLAYER = "black"
FLAGS = ("flag_1", "flag_2")

XentKind = OneOf["xent", "nex", "xed", "dex"]
Comparator = OneOf["<", "<=", ">", ">="]
XENT_KINDS: tuple[XentKind, ...] = ("xent", "nex", "xed", "dex")
COMPARATORS: tuple[Comparator, ...] = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node stood: line from 1 in the whole text, columns from 1, end exclusive."""

    line: int
    column: int
    end_column: int


NOWHERE = Span(0, 0, 0)


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


# -- strings ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cat:
    """``left + right``; the dialect says whether a space is sandwiched."""

    left: StringExpr
    right: StringExpr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cut:
    """``text // mark`` (side "before") or ``text % mark`` (side "after")."""

    text: StringExpr
    mark: StringExpr
    side: OneOf["before", "after"]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Story:
    """``story()``, ``story(n_tokens)`` or ``story("prompt")``; drawn once for a map and site."""

    tokens: int | None = None
    prompt: str = ""
    span: Span = _span()


StringExpr = Literal | Register | Cat | Cut | Story

# -- numbers and conditions --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Xent:
    """``kind(target | prefix, outer)`` in bits; absent parts are ``None``."""

    kind: XentKind
    target: StringExpr
    prefix: StringExpr | None = None
    outer: StringExpr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Number:
    """A bound in a comparison, in bits. Rewards hold none: a constant teaches nothing."""

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sum:
    """A signed sum: ``terms`` are (+1 or −1, term), in the order written."""

    terms: tuple[tuple[int, Xent | Number], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Sum
    comparator: Comparator
    right: Sum
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Truth:
    """``is_true(statement, params…)`` (``expected`` true) or ``is_false(…)``."""

    statement: StringExpr
    params: tuple[StringExpr, ...] = ()
    expected: bool = True
    span: Span = _span()


Condition = Comparison | Truth

# -- instructions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    targets: tuple[tuple[str, StringExpr], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Elicit:
    """Ask ``player`` for one string per register; ``max_len`` in judge tokens (None: default)."""

    player: str
    registers: tuple[str, ...]
    max_len: int | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Ensure:
    conditions: tuple[Condition, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Reward:
    player: str
    amount: Sum
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Reveal:
    player: str
    values: tuple[StringExpr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Beacon:
    flag: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Replay:
    """Jump to ``flag`` at most ``times`` times, then go on."""

    flag: str
    times: int
    span: Span = _span()


Instruction = Assign | Elicit | Ensure | Reward | Reveal | Beacon | Replay


@dataclass(frozen=True, slots=True)
class Program:
    """At most ``MAX_LINES`` instructions in one dialect (a name of ``xgl.dialects``)."""

    instructions: tuple[Instruction, ...]
    dialect: str = "paper"
