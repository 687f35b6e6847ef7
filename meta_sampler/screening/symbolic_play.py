"""Symbolic play: the lines that a program executes, and what they ask, demand and pay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from meta_sampler.screening import symbolic as sym
from meta_sampler.screening.symbolic import LinearForm, Quantity, Registers, StoryText, String
from xgl.language import syntax as syn
from xgl.language.control_flow import path
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import find, writes

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Event:
    """One executed line, with the registers and the number of moves before it."""

    line: syn.Instruction
    registers: Registers
    turn: int


def symbolic_events(program: syn.Program) -> Iterator[Event]:
    """Every executed line in order, as if each ensure held.

    Raises :class:`TooLongError` and :class:`~xgl.errors.FlowError`.
    """
    registers: dict[str, String] = {}
    sites, turn = _sites(program), 0
    parallel = DIALECTS[program.dialect].parallel_assign
    for position in path(program):
        line = program.instructions[position]
        yield Event(line, dict(registers), turn)  # a copy: later lines change the registers
        if isinstance(line, syn.Assign):
            stories = iter(sites[position])
            before = dict(registers) if parallel else registers
            for name, value in line.targets:
                bare = isinstance(value, syn.Register)  # read as it is stored, in both dialects
                registers[name] = sym.string_of(value, registers if bare else before, stories)
        elif isinstance(line, syn.Elicit):
            registers |= {name: (sym.MoveText(turn, i),) for i, name in enumerate(writes(line))}
            turn += 1


def _sites(program: syn.Program) -> list[list[StoryText]]:
    """The stories that each line draws."""
    sites: list[list[StoryText]] = []
    count = 0
    for line in program.instructions:
        nodes = find(line, syn.Story)
        sites.append([StoryText(count + i, x.tokens, x.prompt) for i, x in enumerate(nodes)])
        count += len(nodes)
    return sites


@dataclass(frozen=True, slots=True)
class Score:
    """A cross-entropy as it is written, in any executed line."""

    target: String
    prefix: String
    outer: String
    form: LinearForm


@dataclass(frozen=True, slots=True)
class Demand:
    """A condition of an ensure, or one below ``and``, ``or``, ``not``."""

    node: syn.Condition
    subject: LinearForm | tuple[String | str, ...]
    """What is compared; equal for demands of the same thing."""
    strings: tuple[String, ...]
    """All strings that it depends on."""
    last_turn: int
    """The turn of the last move before it; -1 before the first one."""


@dataclass(frozen=True, slots=True)
class Payment:
    """One executed reward: each term, and the sum."""

    player: str
    terms: tuple[LinearForm, ...]
    total: LinearForm


@dataclass(frozen=True)
class SymbolicPlay:
    """The symbolic play of a program; each part is evaluated once for all rules."""

    program: syn.Program

    def lines(self, kind: type[Line]) -> list[Line]:
        """The program's lines of one type."""
        return [line for line in self.program.instructions if isinstance(line, kind)]

    @cached_property
    def events(self) -> list[Event]:
        """Every executed line."""
        return list(symbolic_events(self.program))

    def executed_lines(self, kind: type[Line]) -> list[tuple[Event, Line]]:
        """The executed lines of one type."""
        return [(event, event.line) for event in self.events if isinstance(event.line, kind)]

    @cached_property
    def movers(self) -> list[str]:
        """The player of each turn."""
        return [line.player for _, line in self.executed_lines(syn.Elicit)]

    @cached_property
    def scores(self) -> list[Score]:
        return [_score(x, e.registers) for e in self.events for x in find(e.line, syn.Xent)]

    @cached_property
    def demands(self) -> list[Demand]:
        ensures = self.executed_lines(syn.Ensure)
        return [d for event, line in ensures for c in line.conditions for d in _demands(c, event)]

    @cached_property
    def payments(self) -> list[Payment]:
        return [_payment(event, line) for event, line in self.executed_lines(syn.Reward)]

    @cached_property
    def rewarded_quantities(self) -> set[Quantity]:
        """The quantities in rewards that depend on a move."""
        return {key for payment in self.payments for key, _ in payment.total.terms if key.turns}

    @property
    def cast(self) -> set[str]:
        """Players who are asked for a move in some line."""
        return {line.player for line in self.lines(syn.Elicit)}


def _score(term: syn.Xent, registers: Registers) -> Score:
    target, prefix = sym.string_of(term.target, registers), sym.string_of(term.prefix, registers)
    return Score(
        target, prefix, sym.string_of(term.outer, registers), sym.term_form(1, term, registers)
    )


def _payment(event: Event, line: syn.Reward) -> Payment:
    terms = tuple(sym.term_form(*term, event.registers) for term in line.amount.terms)
    return Payment(line.player, terms, sym.sum_form(line.amount, event.registers))


def _demands(condition: syn.Condition, event: Event) -> Iterator[Demand]:
    registers, last = event.registers, event.turn - 1
    match condition:
        case syn.Logic(_, conditions):
            yield from chain(*(_demands(part, event) for part in conditions))
        case syn.Comparison():
            form = sym.difference(condition, registers)
            strings = tuple(chain(*((key.target, key.context) for key, _ in form.terms)))
            yield Demand(condition, form, strings, last)
        case syn.Truth(statement, params):
            whole = tuple(chain(*(sym.string_of(part, registers) for part in (statement, *params))))
            yield Demand(condition, (whole,), (whole,), last)
        case syn.Function():
            whole = sym.string_of(condition, registers)
            yield Demand(condition, (whole,), (whole,), last)
        case syn.Test(left, comparator, right):
            pair = (sym.string_of(left, registers), sym.string_of(right, registers))
            yield Demand(condition, (comparator, *pair), pair, last)
