"""Symbolic play: what a program asks, demands and pays, whatever its stories and moves are.

Strings become concatenations of stories, moves and cuts; rewards become signed sums of plain
cross-entropies, by xed(s|t,o) = xent(s|o) − xent(s|o+t). Two programs of one meaning differ
for a learner by constants of the map only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.control_flow import path
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import to_text
from xgl.language.visitors import descendants, writes

MAX_SIZE = 96
"""Most parts of a symbolic string; a loop that doubles a string is cut short here."""

Part = tuple[Any, ...]
"""("story", site, length, prompt), ("move", step, number), ("constant", name),
("literal", text), ("cut", side, text, mark) or ("apply", function, text…)."""

Text = tuple[Part, ...]
"""A concatenation of parts."""

Form = Counter[tuple[Text, Text]]
"""Coefficients of xent(target | context); a bound of n bits stands under ``BITS``."""

BITS: tuple[Text, Text] = ((), (("bits",),))


class TooLongError(Exception):
    """A string grew beyond ``MAX_SIZE`` parts."""


@dataclass(frozen=True, slots=True)
class Event:
    """One executed elicit, ensure or reward, with the registers as they stood."""

    step: int
    line: syn.Instruction
    registers: dict[str, Text]


def play(program: syn.Program) -> Iterator[Event]:
    """Execute symbolically; an assignment yields its event before it takes effect."""
    registers: dict[str, Text] = {}
    sites = _sites(program)
    parallel = DIALECTS[program.dialect].parallel_assign
    for step, position in enumerate(path(program)):
        line = program.instructions[position]
        yield Event(step, line, dict(registers))
        if isinstance(line, syn.Assign):
            stories = iter(sites[position])
            seen = dict(registers) if parallel else registers
            for name, value in line.targets:
                bare = isinstance(value, syn.Register)  # read as it is stored, in both dialects
                registers[name] = text(value, registers if bare else seen, stories)
        elif isinstance(line, syn.Elicit):
            registers |= {n: (("move", step, i),) for i, n in enumerate(writes(line))}


def _sites(program: syn.Program) -> list[list[Part]]:
    sites, count = [], 0
    for line in program.instructions:
        stories = [node for node in descendants(line) if isinstance(node, syn.Story)]
        sites.append(
            [("story", count + i, node.tokens, node.prompt) for i, node in enumerate(stories)]
        )
        count += len(stories)
    return sites


def text(node: Any, registers: dict[str, Text], stories: Iterator[Part] | None = None) -> Text:
    """The symbolic value of a string expression; an absent one is the empty string.

    ``stories`` gives the parts for the expression's ``story()`` calls, in order.
    """
    match node:
        case syn.Literal(value):
            return (("literal", value),) if value else ()
        case syn.Register(name):
            constant = name[0] in syn.CONSTANT_TYPES
            return (("constant", name),) if constant else registers.get(name, ())
        case syn.Story() if stories is not None:
            return (next(stories),)
        case syn.Cat(left, right):
            return _bounded(text(left, registers, stories) + text(right, registers, stories))
        case syn.Cut(whole, mark, side):
            return _cut(text(whole, registers, stories), text(mark, registers, stories), side)
        case syn.Number(value):
            return (("literal", str(value)),)
        case syn.Function(name, arguments):
            return _applied(name, arguments, registers, stories)
        case syn.ListOf(items):
            return _applied("list", items, registers, stories)
        case syn.Chain(left, right) | syn.Given(left, right):
            return _applied(type(node).__name__, (left, right), registers, stories)
    return ()


def _applied(
    name: str, given: tuple[Any, ...], registers: dict[str, Text], stories: Iterator[Part] | None
) -> Text:
    """What a helper function makes is one part that holds what it was made of."""
    return _bounded((("apply", name, *(text(part, registers, stories) for part in given)),))


def _cut(whole: Text, mark: Text, side: str) -> Text:
    if whole == mark or not whole:
        return ()
    if not mark:
        return whole if side == "before" else ()
    return _bounded((("cut", side, whole, mark),))


def _bounded(value: Text) -> Text:
    if sum(1 for _ in parts(value)) > MAX_SIZE:
        raise TooLongError
    return value


def parts(value: Text) -> Iterator[Part]:
    """Every part of a string, those inside cuts and their marks included."""
    for part in value:
        yield part
        for inner in part[2:] if part[0] in ("cut", "apply") else ():
            yield from parts(inner)


def term_form(sign: int, term: syn.Term, registers: dict[str, Text]) -> Form:
    """A signed term as plain cross-entropies; entries that cancel are gone."""
    form: Form = Counter()
    if isinstance(term, syn.Number):
        form[BITS] = sign * term.value  # type: ignore[assignment]  # a bound may be a fraction
    elif isinstance(term, syn.Function):
        form[(text(term, registers), (("count",),))] = sign
    else:
        target, outer = text(term.target, registers), text(term.outer, registers)
        given = outer + text(term.prefix, registers)
        sign = -sign if term.kind in ("nex", "dex") else sign
        form[(target, given)] += sign if term.kind in ("xent", "nex") else -sign
        if term.kind in ("xed", "dex"):
            form[(target, outer)] += sign
    return _nonzero(form)


def sum_form(amount: syn.Sum, registers: dict[str, Text]) -> Form:
    form: Form = Counter()
    for sign, term in amount.terms:
        form.update(term_form(sign, term, registers))
    return _nonzero(form)


def difference(condition: syn.Comparison, registers: dict[str, Text]) -> Form:
    """``left - right`` of a comparison."""
    form = sum_form(condition.left, registers)
    form.subtract(sum_form(condition.right, registers))
    return _nonzero(form)


def _nonzero(form: Form) -> Form:
    return Counter({key: count for key, count in form.items() if count})


def moves(key: tuple[Text, Text]) -> frozenset[int]:
    """Steps of the moves on which a cross-entropy depends."""
    return frozenset(part[1] for side in key for part in parts(side) if part[0] == "move")


def stories(key: tuple[Text, Text]) -> frozenset[Part]:
    """Stories and constants, what differs between maps, on which a cross-entropy depends."""
    kinds = ("story", "constant")
    return frozenset(part for side in key for part in parts(side) if part[0] in kinds)


@lru_cache(maxsize=4096)
def meaning(program: syn.Program) -> str:
    """Equal for programs that differ by constants of the map only.

    Which stories a move sees, and in which order, is part of it: a player that has learned to
    write about the first of two stories has not learned to write about the second.
    """
    try:
        events = _events(program)
    except (TooLongError, FlowError):
        return to_text(program)
    turns = _turns(program)
    return repr([_counted(event, turns) for event in events])


def _turns(program: syn.Program) -> dict[int, int]:
    """Number of each elicit's step among the elicits: other steps carry no meaning."""
    steps = [e.step for e in play(program) if isinstance(e.line, syn.Elicit)]
    return {step: turn for turn, step in enumerate(steps)}


def _events(program: syn.Program) -> list[Any]:
    """What happens, in order; the rewards between two moves are one sum for each player."""
    events: list[Any] = []
    pending: dict[str, Form] = {}
    white = any(isinstance(i, syn.Elicit) and i.player == "white" for i in program.instructions)
    for event in play(program):
        match event.line:
            case syn.Reward(player, amount):
                form = sum_form(amount, event.registers)
                if player == "white" and white:
                    player, form = "black", Counter({k: -v for k, v in form.items()})
                pending.setdefault(player, Counter()).update(form)
            case syn.Elicit(player, registers, max_len):
                asked = ("elicit", player, len(registers), max_len, _in_view(event.registers))
                events += [_paid(pending), asked]
                pending = {}
            case syn.Ensure(conditions):
                events.append(("ensure", [_demand(c, event.registers) for c in conditions]))
            case syn.Reveal(player, values):
                events.append(("reveal", player, [text(v, event.registers) for v in values]))
    return [*events, _paid(pending)]


def _in_view(registers: dict[str, Text]) -> tuple[Part, ...]:
    drawn = {part for value in registers.values() for part in parts(value) if part[0] == "story"}
    return tuple(sorted(drawn, key=lambda part: int(part[1])))


def _paid(pending: dict[str, Form]) -> Any:
    return ("pay", [(player, _variable(form)) for player, form in sorted(pending.items())])


def _variable(form: Form) -> list[Any]:
    return [(key, count) for key, count in form.items() if count and moves(key)]


def _demand(condition: syn.Condition, registers: dict[str, Text]) -> Any:
    if isinstance(condition, syn.Comparison):
        form = difference(condition, registers)
        flipped = condition.comparator in ("<", "<=")
        signed = [(key, -count if flipped else count) for key, count in form.items()]
        strict = {"<": ">", "<=": ">="}.get(condition.comparator, condition.comparator)
        return ("compare", strict, signed)
    if isinstance(condition, syn.Truth):
        values = [text(part, registers) for part in (condition.statement, *condition.params)]
        return ("truth", condition.expected, values)
    if isinstance(condition, syn.Logic):
        return (condition.word, [_demand(part, registers) for part in condition.conditions])
    return ("test", *strings(condition, registers))


def strings(condition: syn.Test | syn.Function, registers: dict[str, Text]) -> tuple[Any, ...]:
    """What a condition on strings alone compares."""
    if isinstance(condition, syn.Function):
        return (text(condition, registers),)
    left, right = text(condition.left, registers), text(condition.right, registers)
    return (condition.comparator, left, right)


def _counted(value: Any, turns: dict[int, int]) -> Any:
    """``value`` with moves counted by turn, unordered lists sorted."""
    if isinstance(value, list):
        return sorted((_counted(part, turns) for part in value), key=repr)
    if not isinstance(value, tuple) or not value:
        return value
    if value[0] == "move":
        return ("move", turns[value[1]], value[2])
    return tuple(_counted(part, turns) for part in value)
