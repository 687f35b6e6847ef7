"""Symbolic strings and scores of a program, the same for all stories and moves.

A :data:`String` is a concatenation of :data:`Part` values. Strings are the free monoid over parts:
``+`` concatenates, ``()`` is the empty string, and ``s // s = s % s = () // t = ()``, ``s // () =
s``, ``s % () = ()`` for cuts.

A :class:`LinearForm` is a formal sum of quantities with real coefficients, an abelian group under
``+`` and ``-``. Scores are sums of plain cross-entropies::

    nex(s|t) = -xent(s|t)    xed(s|t, o) = xent(s|o) - xent(s|o+t)    dex(s|t, o) = -xed(s|t, o)

The normal form of a program is what it asks, demands and pays on any map and for any moves. It
keeps the part of each reward that depends on a move. Programs with equal normal forms ask the same
of the same players, demand the same, and pay the same on any map except for constants of that map,
as long as all conditions hold (what was paid before a failed condition stays paid).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, count, cycle
from typing import Any, Literal as OneOf, NamedTuple, TypeVar

from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.control_flow import path
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import to_text
from xgl.language.visitors import children, draws, find, stores, writes

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
            first = _bare(string_of(left, registers, stories))
            return _check_size(first + _bare(string_of(right, registers, stories)))
        case syn.Cut(whole, mark, side):
            first = _bare(string_of(whole, registers, stories))
            second = _bare(string_of(mark, registers, stories))
            if first == second or not first:
                return ()
            if not second:
                return first if side == "before" else ()
            return _check_size((CutText(side, first, second),))
        case syn.Number(value):
            return (LiteralText(str(value)),)
        case None | syn.Story():
            return ()
    arguments = tuple(string_of(part, registers, stories) for part in children(node))
    name = getattr(node, "name", type(node).__name__)
    if isinstance(node, syn.Function) and name != "first_n_tokens":  # these may be the text itself
        arguments = tuple(map(_bare, arguments))
    return _check_size((FunctionText(name, arguments),))


def _bare(string: String) -> String:
    """A text without a stored prefix, which is kept only by a value that is nothing else."""
    bare = list[Part]()
    for part in string:
        match part:
            case FunctionText("Given", (text, _)):
                bare += _bare(text)
            case FunctionText("first_n_tokens" | "either" as name, texts):
                bare.append(FunctionText(name, tuple(map(_bare, texts))))
            case _:
                bare.append(part)
    return tuple(bare)


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
    outer = (FunctionText("outer", (outer,)),) if outer else ()  # it may name a model, or join else
    prefix = string_of(term.prefix, registers)
    if term.prefix is None and any(getattr(p, "name", "") == "Given" for p in all_parts(target)):
        prefix = (FunctionText("own prefix", ()),)
    after = Quantity(target, outer + prefix)
    sign = -sign if term.kind in ("nex", "dex") else sign
    if term.kind in ("xent", "nex"):
        return LinearForm.of([(after, sign)])
    return LinearForm.of([(after, -sign), (Quantity(target, outer), sign)])


def sum_form(amount: syn.Sum, registers: Registers) -> LinearForm:
    forms = (term_form(sign, term, registers) for sign, term in amount.terms)
    return LinearForm.of(item for form in forms for item in form.terms)


def difference(condition: syn.Comparison, registers: Registers) -> LinearForm:
    """``left - right`` of a comparison."""
    return sum_form(condition.left, registers) - sum_form(condition.right, registers)


# -- symbolic play ---------------------------------------------------------------------------------

Line = TypeVar("Line")


class Event(NamedTuple):
    """One executed line, with the registers and the number of moves before it."""

    line: syn.Instruction
    registers: Registers
    turn: int
    position: int
    watched: frozenset[tuple[str, str]]
    """The players to whom a register was shown that they go on seeing, with the register."""

    def sees(self, player: str, name: str) -> bool:
        """Whether a player sees a register whenever it is set."""
        return player in syn.viewers(name) or (player, name) in self.watched

    def view(self, player: str) -> list[String]:
        """The registers that a player sees now, whoever set them."""
        return [text for name, text in self.registers.items() if self.sees(player, name)]


def symbolic_events(program: syn.Program) -> Iterator[Event]:
    """Every executed line in order, as if each ensure held. Raises :class:`TooLongError` and
    :class:`~xgl.errors.FlowError`."""
    registers: dict[str, String] = {}
    numbers, turn, watched = count(), 0, frozenset[tuple[str, str]]()
    dialect = DIALECTS[program.dialect]

    def drawn(story: syn.Story) -> StoryText:
        arguments = (story.tokens, story.prompt) if dialect.story_arguments else (None, "")
        return StoryText(next(numbers), *arguments)

    sites = [[drawn(each) for each in find(line, syn.Story)] for line in program.instructions]
    for position in path(program):
        line = program.instructions[position]
        # A copy: later lines change the registers.
        yield Event(line, dict(registers), turn, position, watched)
        if isinstance(line, syn.Assign):
            # What is read a second time reads its stories again.
            read = partial(string_of, registers=registers, stories=cycle(sites[position]))
            for name, texts in stores(line, program.dialect, read):
                text, *others = dict.fromkeys(texts)
                either = FunctionText("either", (text, *others))
                registers[name] = _check_size((either,)) if others else text
        elif isinstance(line, syn.Elicit):
            registers |= {name: (MoveText(turn, i),) for i, name in enumerate(writes(line))}
            turn += 1
        elif isinstance(line, syn.Reveal) and dialect.live_reveal:
            names = (value.name for value in line.values if isinstance(value, syn.Register))
            watched |= {(line.player, name) for name in names}


class Score(NamedTuple):
    """A cross-entropy as it is written, in any executed line."""

    target: String
    prefix: String
    outer: String
    form: LinearForm


class Demand(NamedTuple):
    """A condition of an ensure, or one below ``and``, ``or``, ``not``."""

    node: syn.Condition
    subject: LinearForm | tuple[String | str, ...]
    """What is compared; equal for demands of the same thing."""
    strings: tuple[String, ...]
    """All strings that it depends on."""
    last_turn: int
    """The turn of the last move before it; -1 before the first one."""


class Payment(NamedTuple):
    """One executed reward: each term, and the sum."""

    player: str
    terms: tuple[LinearForm, ...]
    total: LinearForm


@dataclass(frozen=True)
class SymbolicPlay:
    """The symbolic play of a program; each part is evaluated once for all rules."""

    program: syn.Program

    def lines(self, kind: type[Line]) -> list[Line]:
        return [line for line in self.program.instructions if isinstance(line, kind)]

    @cached_property
    def events(self) -> list[Event]:
        """Every executed line."""
        return list(symbolic_events(self.program))

    def executed_lines(self, kind: type[Line]) -> list[tuple[Event, Line]]:
        return [(event, event.line) for event in self.events if isinstance(event.line, kind)]

    @cached_property
    def movers(self) -> list[str]:
        """The player of each turn."""
        return [line.player for _, line in self.executed_lines(syn.Elicit)]

    @cached_property
    def scores(self) -> list[Score]:
        scores = []
        for event in self.events:
            for x in find(event.line, syn.Xent):
                parts = (string_of(part, event.registers) for part in (x.target, x.prefix, x.outer))
                target, prefix, outer = parts
                scores.append(Score(target, prefix, outer, term_form(1, x, event.registers)))
        return scores

    @cached_property
    def demands(self) -> list[Demand]:
        ensures = self.executed_lines(syn.Ensure)
        return [d for event, line in ensures for c in line.conditions for d in _demands(c, event)]

    @cached_property
    def payments(self) -> list[Payment]:
        payments = []
        for event, line in self.executed_lines(syn.Reward):
            terms = tuple(term_form(*term, event.registers) for term in line.amount.terms)
            payments.append(Payment(line.player, terms, sum_form(line.amount, event.registers)))
        return payments

    @cached_property
    def rewarded_quantities(self) -> set[Quantity]:
        """The quantities in rewards that depend on a move."""
        return {key for payment in self.payments for key, _ in payment.total.terms if key.turns}

    @property
    def cast(self) -> set[str]:
        """Players who are asked for a move in some line."""
        return {line.player for line in self.lines(syn.Elicit)}


def _demands(condition: syn.Condition, event: Event) -> Iterator[Demand]:
    registers, last = event.registers, event.turn - 1
    match condition:
        case syn.Logic(_, conditions):
            yield from chain(*(_demands(part, event) for part in conditions))
        case syn.Comparison():
            form = difference(condition, registers)
            strings = tuple(chain(*((key.target, key.context) for key, _ in form.terms)))
            yield Demand(condition, form, strings, last)
        case syn.Truth() | syn.Function():
            parts = (condition,) if isinstance(condition, syn.Function) else children(condition)
            whole = tuple(chain(*(string_of(part, registers) for part in parts)))
            yield Demand(condition, (whole,), (whole,), last)
        case syn.Test(left, comparator, right):
            pair = (string_of(left, registers), string_of(right, registers))
            yield Demand(condition, (comparator, *pair), pair, last)


NormalForm = tuple[Hashable, ...]
"""Steps in order, each a tuple that begins with its kind; only the canonical text if symbolic play
fails, or where texts are drawn during a play: equal calls draw different ones; or where lists hold
registers, whose later values are not followed."""


@lru_cache(maxsize=4096)
def normal_form(program: syn.Program) -> NormalForm:
    """Equal for programs that differ by constants of the map only.

    Which stories a move sees, and in which order, is part of it: a player that has learned to
    write about the first of two stories has not learned to write about the second.
    """
    try:
        is_text = draws(program) or holds_registers(program)
        return (to_text(program),) if is_text else tuple(_steps(program))
    except (TooLongError, FlowError):
        return (to_text(program),)


def holds_registers(program: syn.Program) -> bool:
    """Whether a list may hold registers themselves, and so their later values."""
    return DIALECTS[program.dialect].aliases and bool(find(program, syn.ListOf))


def _steps(program: syn.Program) -> Iterator[NormalForm]:
    unpaid: dict[str, LinearForm] = {}
    white = any(line.player == "white" for line in find(program, syn.Elicit))
    for event in symbolic_events(program):
        match event.line:
            case syn.Reward(player, amount):
                form = sum_form(amount, event.registers)
                if player == "white" and white:  # what white gains, black loses
                    player, form = "black", -form
                unpaid[player] = unpaid.get(player, LinearForm()) + form
            case syn.Elicit(player, registers, max_len):
                # The order of payments between two moves has no meaning: no player sees it sooner.
                yield _pay(unpaid)
                registers_in_view = event.view(player)
                parts = {part for text in registers_in_view for part in all_parts(text)}
                stories = [part for part in parts if isinstance(part, StoryText)]
                in_view = tuple(sorted(stories, key=lambda story: story.site))
                moves = frozenset(part for part in parts if isinstance(part, MoveText))
                told = () if player in syn.OMNISCIENT else _bag(registers_in_view)
                yield "elicit", player, len(registers), max_len, in_view, moves, told
                unpaid = {}
            case syn.Ensure(conditions):
                yield "ensure", _bag(_condition_form(c, event.registers) for c in conditions)
            case syn.Reveal(player, values):
                yield "reveal", player, _bag(string_of(value, event.registers) for value in values)
    yield _pay(unpaid)


def _pay(unpaid: Mapping[str, LinearForm]) -> NormalForm:
    """What each player is paid between two moves, as far as it depends on a move."""
    amounts = [(name, form.where(lambda key: key.turns)) for name, form in sorted(unpaid.items())]
    return ("pay", *amounts)


def _bag(values: Iterable[Hashable]) -> frozenset[tuple[Hashable, int]]:
    """Values whose order has no meaning, each with how often it occurs."""
    return frozenset(Counter(values).items())


def _condition_form(condition: syn.Condition, registers: Registers) -> NormalForm:
    """A condition over symbolic strings: a word and what it is said of; ``<`` is turned round."""
    match condition:
        case syn.Comparison(comparator=comparator):
            form = difference(condition, registers)
            if comparator in ("<", "<="):
                return "sum", comparator.replace("<", ">"), -form
            return "sum", comparator, form
        case syn.Truth(statement, params, expected):
            said, *texts = (string_of(part, registers) for part in (statement, *params))
            return "truth", expected, said, tuple(texts)
        case syn.Logic(word, conditions):
            return word, _bag(_condition_form(part, registers) for part in conditions)
        case syn.Test(left, comparator, right):
            return "test", comparator, string_of(left, registers), string_of(right, registers)
    return "function", string_of(condition, registers)
