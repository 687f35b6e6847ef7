"""The symbolic normal form: what a program asks, demands and pays on any map and for any moves.

It keeps the part of each reward that depends on a move. Programs with equal normal forms ask the
same of the same players, demand the same, and pay the same on any map except for constants of that
map, as long as all conditions hold (what was paid before a failed condition stays paid).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from meta_sampler.screening import symbolic as sym
from meta_sampler.screening.symbolic import LinearForm, Registers, StoryText, String
from meta_sampler.screening.symbolic_play import symbolic_events
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.unparse import to_text

Bag = frozenset[tuple[Any, int]]
"""Values whose order has no meaning, each with how often it occurs."""


@dataclass(frozen=True, slots=True)
class Pay:
    """What each player is paid between two moves, as far as it depends on a move."""

    amounts: tuple[tuple[str, LinearForm], ...]


@dataclass(frozen=True, slots=True)
class NormalElicit:
    """A player is asked for ``moves`` texts of ``max_len`` tokens with these stories in view."""

    player: str
    moves: int
    max_len: int | None
    in_view: tuple[StoryText, ...]


@dataclass(frozen=True, slots=True)
class NormalReveal:
    player: str
    strings: Bag


@dataclass(frozen=True, slots=True)
class NormalEnsure:
    conditions: Bag


@dataclass(frozen=True, slots=True)
class Inequality:
    """``form comparator 0``, where ``<`` and ``<=`` are turned round."""

    comparator: str
    form: LinearForm


@dataclass(frozen=True, slots=True)
class Clause:
    """``word`` of conditions or strings; a function of type truth has none."""

    word: str
    operands: Bag | tuple[String, ...]


Condition = Inequality | Clause


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Steps in order; only the canonical text if symbolic play fails."""

    steps: tuple[Pay | NormalElicit | NormalReveal | NormalEnsure, ...]
    code: str = ""


@lru_cache(maxsize=4096)
def normal_form(program: syn.Program) -> NormalForm:
    """Equal for programs that differ by constants of the map only.

    Which stories a move sees, and in which order, is part of it: a player that has learned to
    write about the first of two stories has not learned to write about the second.
    """
    try:
        return NormalForm(tuple(_steps(program)))
    except (sym.TooLongError, FlowError):
        return NormalForm((), to_text(program))


def _steps(program: syn.Program) -> Iterator[Pay | NormalElicit | NormalReveal | NormalEnsure]:
    unpaid: dict[str, LinearForm] = {}
    white = any(isinstance(i, syn.Elicit) and i.player == "white" for i in program.instructions)
    for event in symbolic_events(program):
        match event.line:
            case syn.Reward(player, amount):
                form = sym.sum_form(amount, event.registers)
                if player == "white" and white:
                    player, form = "black", -form
                unpaid[player] = unpaid.get(player, LinearForm()) + form
            case syn.Elicit(player, registers, max_len):
                yield _pay(unpaid)
                yield NormalElicit(
                    player, len(registers), max_len, _stories_in_view(event.registers)
                )
                unpaid = {}
            case syn.Ensure(conditions):
                yield NormalEnsure(_bag(condition_form(c, event.registers) for c in conditions))
            case syn.Reveal(player, values):
                yield NormalReveal(player, _bag(sym.string_of(v, event.registers) for v in values))
    yield _pay(unpaid)


def _pay(unpaid: Mapping[str, LinearForm]) -> Pay:
    return Pay(
        tuple(
            (player, form.where(lambda key: key.turns)) for player, form in sorted(unpaid.items())
        )
    )


def _stories_in_view(registers: Registers) -> tuple[StoryText, ...]:
    parts = {part for string in registers.values() for part in sym.all_parts(string)}
    stories = [part for part in parts if isinstance(part, StoryText)]
    return tuple(sorted(stories, key=lambda story: story.site))


def _bag(values: Iterable[Any]) -> Bag:
    return frozenset(Counter(values).items())


def condition_form(condition: syn.Condition, registers: Registers) -> Condition:
    """A condition over symbolic strings."""
    if isinstance(condition, syn.Comparison):
        form, comparator = sym.difference(condition, registers), condition.comparator
        if comparator in ("<", "<="):
            return Inequality(comparator.replace("<", ">"), -form)
        return Inequality(comparator, form)
    if isinstance(condition, syn.Truth):
        parts = (condition.statement, *condition.params)
        word = "is_true" if condition.expected else "is_false"
        return Clause(word, _bag(sym.string_of(part, registers) for part in parts))
    if isinstance(condition, syn.Logic):
        inner = (condition_form(part, registers) for part in condition.conditions)
        return Clause(condition.word, _bag(inner))
    if isinstance(condition, syn.Function):
        return Clause("", (sym.string_of(condition, registers),))
    strings = (sym.string_of(condition.left, registers), sym.string_of(condition.right, registers))
    return Clause(condition.comparator, strings)
