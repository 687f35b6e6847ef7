"""Symbolic strings and scores of a program, the same for all stories and moves.

A :data:`String` is a concatenation of :data:`Part` values. Strings are the free monoid over
parts: ``+`` concatenates, ``()`` is the empty string, and ``s // s = s % s = () // t = ()``,
``s // () = s``, ``s % () = ()`` for cuts.

A :class:`LinearForm` is a formal sum of quantities with real coefficients, an abelian group under
``+`` and ``-``. Scores are sums of plain cross-entropies::

    nex(s|t) = -xent(s|t)    xed(s|t, o) = xent(s|o) - xent(s|o+t)    dex(s|t, o) = -xed(s|t, o)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from xgl.language import syntax as syn

MAX_SIZE = 96
"""Most parts of a symbolic string; a loop that doubles a string is stopped here."""


class TooLongError(Exception):
    """A string grew beyond ``MAX_SIZE`` parts."""


# -- strings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoryText:
    """The story of a ``story()`` call; ``site`` counts the calls of the program, from 0."""

    site: int
    tokens: int | None
    prompt: str


@dataclass(frozen=True, slots=True)
class MoveText:
    """What a player writes: turns count executed elicits, places the registers of one, from 0."""

    turn: int
    place: int


@dataclass(frozen=True, slots=True)
class ConstantText:
    """A register that the metadata fill."""

    name: str


@dataclass(frozen=True, slots=True)
class LiteralText:
    value: str


@dataclass(frozen=True, slots=True)
class CutText:
    """What stands on one side of the first ``mark`` in ``whole``."""

    side: str
    whole: String
    mark: String


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The result of a helper function, of a list or of a value with a prefix."""

    name: str
    arguments: tuple[String, ...]


Part = StoryText | MoveText | ConstantText | LiteralText | CutText | FunctionText
String = tuple[Part, ...]
Registers = Mapping[str, String]


def string_of(
    node: Any, registers: Registers, stories: Iterator[StoryText] | None = None
) -> String:
    """The symbolic value of a string expression; that of an absent one is the empty string.

    ``stories`` gives the parts for the expression's ``story()`` calls, in order. Raises
    :class:`TooLongError`.
    """
    match node:
        case syn.Literal(value):
            return (LiteralText(value),) if value else ()
        case syn.Register(name):
            constant = name[0] in syn.CONSTANT_TYPES
            return (ConstantText(name),) if constant else registers.get(name, ())
        case syn.Story() if stories is not None:
            return (next(stories),)
        case syn.Cat(left, right):
            first = string_of(left, registers, stories)
            return _check_size(first + string_of(right, registers, stories))
        case syn.Cut(whole, mark, side):
            first = string_of(whole, registers, stories)
            return _cut_string(first, string_of(mark, registers, stories), side)
        case syn.Number(value):
            return (LiteralText(str(value)),)
        case syn.Function(name, arguments):
            return _function_value(name, arguments, registers, stories)
        case syn.ListOf(items):
            return _function_value("list", items, registers, stories)
        case syn.Chain(left, right) | syn.Given(left, right):
            return _function_value(type(node).__name__, (left, right), registers, stories)
    return ()


def _function_value(
    name: str, nodes: tuple[Any, ...], registers: Registers, stories: Iterator[StoryText] | None
) -> String:
    arguments = tuple(string_of(node, registers, stories) for node in nodes)
    return _check_size((FunctionText(name, arguments),))


def _cut_string(whole: String, mark: String, side: str) -> String:
    if whole == mark or not whole:
        return ()
    if not mark:
        return whole if side == "before" else ()
    return _check_size((CutText(side, whole, mark),))


def _check_size(string: String) -> String:
    if sum(1 for _ in all_parts(string)) > MAX_SIZE:
        raise TooLongError
    return string


def all_parts(string: String) -> Iterator[Part]:
    """Every part of a string, those inside cuts, marks and arguments included."""
    for part in string:
        yield part
        if isinstance(part, CutText):
            yield from all_parts(part.whole)
            yield from all_parts(part.mark)
        elif isinstance(part, FunctionText):
            for argument in part.arguments:
                yield from all_parts(argument)


def turns_in(*strings: String) -> frozenset[int]:
    """Turns of the moves on which strings depend."""
    parts = (part for string in strings for part in all_parts(string))
    return frozenset(part.turn for part in parts if isinstance(part, MoveText))


def map_parts(*strings: String) -> frozenset[Part]:
    """Stories and constants, what differs between maps, on which strings depend."""
    parts = (part for string in strings for part in all_parts(string))
    return frozenset(part for part in parts if isinstance(part, StoryText | ConstantText))


# -- sums ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quantity:
    """xent(target | context) in bits; what a function of type number counts; or one bit."""

    target: String = ()
    context: String = ()
    unit: OneOf["xent", "count", "bit"] = "xent"

    @property
    def turns(self) -> frozenset[int]:
        """Turns of the moves on which it depends."""
        return turns_in(self.target, self.context)

    @property
    def map_parts(self) -> frozenset[Part]:
        """Stories and constants on which it depends."""
        return map_parts(self.target, self.context)


BIT = Quantity(unit="bit")


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Quantities with their coefficients, none of which is 0."""

    terms: frozenset[tuple[Quantity, float]] = frozenset()

    @staticmethod
    def of(terms: Iterable[tuple[Quantity, float]]) -> LinearForm:
        """The sum of terms, among which a quantity may occur several times."""
        total: dict[Quantity, float] = {}
        for quantity, coefficient in terms:
            total[quantity] = total.get(quantity, 0) + coefficient
        return LinearForm(frozenset(item for item in total.items() if item[1]))

    def __add__(self, other: LinearForm) -> LinearForm:
        return LinearForm.of((*self.terms, *other.terms))

    def __neg__(self) -> LinearForm:
        return LinearForm(frozenset((key, -coefficient) for key, coefficient in self.terms))

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self + -other

    @property
    def bits(self) -> float:
        """The constant part, in bits."""
        return next((coefficient for key, coefficient in self.terms if key == BIT), 0)

    def where(self, keep: Callable[[Quantity], object]) -> LinearForm:
        """The terms whose quantity ``keep`` finds true."""
        return LinearForm(frozenset(item for item in self.terms if keep(item[0])))


def term_form(sign: int, term: syn.Term, registers: Registers) -> LinearForm:
    """A signed term as a sum of plain cross-entropies."""
    if isinstance(term, syn.Number):
        return LinearForm.of([(BIT, sign * term.value)])
    if isinstance(term, syn.Function):
        return LinearForm.of([(Quantity(string_of(term, registers), unit="count"), sign)])
    target, outer = string_of(term.target, registers), string_of(term.outer, registers)
    after = Quantity(target, outer + string_of(term.prefix, registers))
    sign = -sign if term.kind in ("nex", "dex") else sign
    if term.kind in ("xent", "nex"):
        return LinearForm.of([(after, sign)])
    return LinearForm.of([(after, -sign), (Quantity(target, outer), sign)])


def sum_form(amount: syn.Sum, registers: Registers) -> LinearForm:
    """A signed sum of terms."""
    forms = (term_form(sign, term, registers) for sign, term in amount.terms)
    return LinearForm.of(item for form in forms for item in form.terms)


def difference(condition: syn.Comparison, registers: Registers) -> LinearForm:
    """``left - right`` of a comparison."""
    return sum_form(condition.left, registers) - sum_form(condition.right, registers)
