"""XGL's syntax as frozen dataclasses (paper §2.4; docs/specification.md, "The language").

A :class:`Program` is a tuple of instructions, an instruction holds expressions. Instructions
compare by meaning: their :class:`Span` takes no part in equality or hashing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf, NamedTuple

MAX_LINES = 64
MAX_CHARACTERS = 1_000_000
"""Characters of a whole text, comments included."""
MAX_STEPS = 1024
MAX_DEPTH = 32
MAX_NUMBER = 100_000
MAX_TERMS = 32
MAX_ITEMS = 256
"""Items of a list while a game runs; a longer one ends it as oversize."""
MAX_EXECUTED = 32 * MAX_STEPS
"""Steps that one play may take, retries included; beyond it ends as oversize. Only the xent
dialect, which forgets failures, can come so far."""
MAX_PARTS = 100_000
"""Nodes and registers of the lines of a program when its loops are unrolled. A program without
loops has fewer."""
MAX_WORK = 40_000_000
"""Units of work (``xgl.runtime.meter``; about 10 ns each) that one play may take; beyond it ends
as oversize."""
MAX_RECORD = 1_000_000
"""Bytes that the record of one play may have; beyond it ends as oversize."""
MAX_LINE_CHARACTERS = 2000
"""Characters of an instruction as ``to_text`` spells it with one-letter registers; its source may
have twice as many. So the canonical text of a valid line is valid, with any registers."""

REGISTER_SUFFIXES = ("", "0", "1", "2", "3")
REGISTERS = tuple(kind + suffix for suffix in REGISTER_SUFFIXES for kind in "stxypabc")
LIST_REGISTERS = tuple("l" + suffix for suffix in REGISTER_SUFFIXES)
"""Private, mutable lists of strings: the released package's own type."""
CONSTANT_TYPES = ("a", "b", "c")
PUBLIC_TYPES = ("p", "a", "b")

PLAYERS = ("black", "white", "alice", "bob", "carol", "env", "david")
OMNISCIENT = ("black", "white", "env")
PARTNERS = {"black": "white", "white": "black"}
"""The zero-sum pair: a reward of one is paid by the other, if it plays."""
MAIN_PLAYER = "black"
FLAGS = ("flag_1", "flag_2")

XentKind = OneOf["xent", "nex", "xed", "dex"]
Comparator = OneOf["<", "<=", ">", ">=", "==", "!=", "in", "not in"]
XENT_KINDS: tuple[XentKind, ...] = ("xent", "nex", "xed", "dex")
COMPARATORS: tuple[Comparator, ...] = ("<", "<=", ">", ">=")
"""Comparators of the paper; the package has Python's others as well."""

Kind = OneOf["string", "list", "words", "number", "truth"]


class Signature(NamedTuple):
    """Kinds of the arguments of a helper function, several for each, and of its result."""

    arguments: tuple[tuple[Kind, ...], ...]
    result: Kind
    optional: int = 0
    """Number of last arguments that may be left out."""
    method: bool = False
    """Written ``first.name(others)``."""


_STRING: tuple[Kind, ...] = ("string",)
_LIST: tuple[Kind, ...] = ("list",)
_EITHER: tuple[Kind, ...] = ("string", "list")
FUNCTIONS: dict[str, Signature] = {
    "remove_common_words": Signature((_STRING, _EITHER), "string"),
    "first_n_tokens": Signature((_STRING, ("number",)), "string"),
    "sample": Signature((_LIST,), "string"),
    "join": Signature((_STRING, _LIST), "string", method=True),
    "split": Signature((_STRING, _STRING), "list", optional=1, method=True),
    "shuffle": Signature((_LIST,), "list"),
    "word_set": Signature((_STRING,), "words"),
    "common_word_set": Signature((_STRING, _STRING), "words"),
    "num_words": Signature((_STRING,), "number"),
    "len": Signature((("string", "list", "words"),), "number"),
    "only_uses_words": Signature((_EITHER, _STRING), "truth"),
    "only_uses_chars": Signature((_STRING, _STRING), "truth"),
}
"""The released package's helper functions; nothing else can be called."""


class Span(NamedTuple):
    """Position of an instruction in the whole text: line and exclusive end, both from 1."""

    line: int
    end_column: int


# -- strings ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    value: str


@dataclass(frozen=True, slots=True)
class Register:
    name: str


@dataclass(frozen=True, slots=True)
class Cat:
    """``left + right``; the dialect says whether a space is sandwiched."""

    left: StringExpr
    right: StringExpr


@dataclass(frozen=True, slots=True)
class Cut:
    """``text // mark`` (side "before") or ``text % mark`` (side "after")."""

    text: StringExpr
    mark: StringExpr
    side: OneOf["before", "after"]


@dataclass(frozen=True, slots=True)
class Story:
    """``story()``, ``story(n_tokens)`` or ``story("prompt")``; drawn once for a map and site."""

    tokens: int | None = None
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """``text | prefix`` as a value: a string that carries the prefix it is scored after."""

    text: StringExpr
    prefix: StringExpr


@dataclass(frozen=True, slots=True)
class Function:
    """A call of one of :data:`FUNCTIONS`; its signature has the kind of its value."""

    name: str
    arguments: tuple[Expression, ...]


StringExpr = Literal | Register | Cat | Cut | Story | Given | Function

# -- lists and sets of words -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListOf:
    """``[item, …]``"""

    items: tuple[StringExpr, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """``left + right`` of lists."""

    left: ListExpr
    right: ListExpr


ListExpr = Register | ListOf | Chain | Function

# -- numbers and conditions --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Xent:
    """``kind(target | prefix, outer)`` in bits; absent parts are ``None``."""

    kind: XentKind
    target: StringExpr
    prefix: StringExpr | None = None
    outer: StringExpr | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A bound in a comparison, in bits. Rewards hold none: a constant teaches nothing."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Sum:
    """A signed sum: ``terms`` are (+1 or −1, term), in the order written."""

    terms: tuple[tuple[int, Term], ...]


Term = Xent | Number | Function
Expression = StringExpr | ListExpr | Number


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Sum
    comparator: Comparator
    right: Sum


@dataclass(frozen=True, slots=True)
class Truth:
    """``is_true(statement, params…)`` (``expected`` true) or ``is_false(…)``."""

    statement: StringExpr
    params: tuple[StringExpr, ...] = ()
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of strings, lists or sets of words, or ``in``."""

    left: StringExpr | ListExpr
    comparator: Comparator
    right: StringExpr | ListExpr


@dataclass(frozen=True, slots=True)
class Logic:
    """``and``, ``or`` (two conditions or more) or ``not`` (one)."""

    word: OneOf["and", "or", "not"]
    conditions: tuple[Condition, ...]


Condition = Comparison | Truth | Test | Logic | Function

# -- instructions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    span: Span = field(default=Span(0, 0), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Assign(_Line):
    targets: tuple[tuple[str, StringExpr | ListExpr], ...]


@dataclass(frozen=True, slots=True)
class Elicit(_Line):
    """Ask ``player`` for one string per register; ``max_len`` in judge tokens (None: default)."""

    player: str
    registers: tuple[str, ...]
    max_len: int | None


@dataclass(frozen=True, slots=True)
class Ensure(_Line):
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Reward(_Line):
    player: str
    amount: Sum


@dataclass(frozen=True, slots=True)
class Reveal(_Line):
    player: str
    values: tuple[StringExpr | ListExpr, ...]


@dataclass(frozen=True, slots=True)
class Beacon(_Line):
    flag: str


@dataclass(frozen=True, slots=True)
class Replay(_Line):
    """Jump to ``flag`` at most ``times`` times, then go on."""

    flag: str
    times: int


Instruction = Assign | Elicit | Ensure | Reward | Reveal | Beacon | Replay


@dataclass(frozen=True, slots=True)
class Program:
    """At most ``MAX_LINES`` instructions in one dialect (a name of ``xgl.language.dialects``)."""

    instructions: tuple[Instruction, ...]
    dialect: str = "paper"

    def source_line(self, position: int) -> int:
        """The line of the text, from 1, that holds the instruction at a position, from 0."""
        return self.instructions[position].span.line or position + 1


def viewers(register: str) -> tuple[str, ...]:
    """The players that see a register whenever it is set, whoever sets it."""
    return PLAYERS if register[0] in PUBLIC_TYPES else OMNISCIENT


def kind_of(node: Expression | Sum | Condition) -> Kind:
    """The kind of an expression's value."""
    match node:
        case Function(name):
            return FUNCTIONS[name].result
        case Number() | Sum():
            return "number"
        case Comparison() | Truth() | Test() | Logic():
            return "truth"
        case ListOf() | Chain():
            return "list"
        case Register(name) if name in LIST_REGISTERS:
            return "list"
    return "string"
