"""The symbolic normal form: what a program asks, demands and pays on any map and for any moves.

It keeps the part of each reward that depends on a move. Programs with equal normal forms ask the
same of the same players, demand the same, and pay the same on any map except for constants of that
map, as long as all conditions hold (what was paid before a failed condition stays paid).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache

from meta_sampler.screening import symbolic as sym
from meta_sampler.screening.symbolic import LinearForm, Registers, StoryText, symbolic_events
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.unparse import to_text

NormalForm = tuple[Hashable, ...]
"""Steps in order, each a tuple that begins with its kind; only the canonical text if symbolic play
fails."""


@lru_cache(maxsize=4096)
def normal_form(program: syn.Program) -> NormalForm:
    """Equal for programs that differ by constants of the map only.

    Which stories a move sees, and in which order, is part of it: a player that has learned to
    write about the first of two stories has not learned to write about the second.
    """
    try:
        return tuple(_steps(program))
    except (sym.TooLongError, FlowError):
        return (to_text(program),)


def _steps(program: syn.Program) -> Iterator[NormalForm]:
    unpaid: dict[str, LinearForm] = {}
    white = any(isinstance(i, syn.Elicit) and i.player == "white" for i in program.instructions)
    for event in symbolic_events(program):
        match event.line:
            case syn.Reward(player, amount):
                form = sym.sum_form(amount, event.registers)
                if player == "white" and white:  # what white gains, black loses
                    player, form = "black", -form
                unpaid[player] = unpaid.get(player, LinearForm()) + form
            case syn.Elicit(player, registers, max_len):
                # The order of payments between two moves has no meaning: no player sees it sooner.
                yield _pay(unpaid)
                yield "elicit", player, len(registers), max_len, _stories_in_view(event.registers)
                unpaid = {}
            case syn.Ensure(conditions):
                yield "ensure", _bag(_condition_form(c, event.registers) for c in conditions)
            case syn.Reveal(player, values):
                strings = _bag(sym.string_of(value, event.registers) for value in values)
                yield "reveal", player, strings
    yield _pay(unpaid)


def _pay(unpaid: Mapping[str, LinearForm]) -> NormalForm:
    """What each player is paid between two moves, as far as it depends on a move."""
    amounts = [(name, form.where(lambda key: key.turns)) for name, form in sorted(unpaid.items())]
    return ("pay", *amounts)


def _stories_in_view(registers: Registers) -> tuple[StoryText, ...]:
    parts = {part for string in registers.values() for part in sym.all_parts(string)}
    stories = [part for part in parts if isinstance(part, StoryText)]
    return tuple(sorted(stories, key=lambda story: story.site))


def _bag(values: Iterable[Hashable]) -> frozenset[tuple[Hashable, int]]:
    """Values whose order has no meaning, each with how often it occurs."""
    return frozenset(Counter(values).items())


def _condition_form(condition: syn.Condition, registers: Registers) -> NormalForm:
    """A condition over symbolic strings: a word and what it is said of; ``<`` is turned round."""
    match condition:
        case syn.Comparison(comparator=comparator):
            form = sym.difference(condition, registers)
            if comparator in ("<", "<="):
                return "sum", comparator.replace("<", ">"), -form
            return "sum", comparator, form
        case syn.Truth(statement, params, expected):
            parts = _bag(sym.string_of(part, registers) for part in (statement, *params))
            return "truth", expected, parts
        case syn.Logic(word, conditions):
            return word, _bag(_condition_form(part, registers) for part in conditions)
        case syn.Test(left, comparator, right):
            pair = sym.string_of(left, registers), sym.string_of(right, registers)
            return "test", comparator, *pair
    return "function", sym.string_of(condition, registers)
