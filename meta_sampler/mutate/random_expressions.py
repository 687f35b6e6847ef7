"""Random expressions over the registers that are set at a line."""

from __future__ import annotations

from random import Random
from typing import Literal as OneOf

from meta_sampler.mutate.program_editor import EditContext, LiveRegisters
from xgl.language import syntax as syn

LIMITS = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Token limits of an elicit."""

BOUNDS = (8, 16, 24, 32, 48)
"""Bits in a comparison; a move of a few tokens costs about as many."""

_SIDES: tuple[OneOf["before", "after"], ...] = ("before", "after")

_NO_COMMON = "no common words between"


def xed(target: syn.StringExpr, prefix: syn.StringExpr) -> syn.Xent:
    return syn.Xent("xed", target, prefix)


def join(rng: Random, one: str, other: str) -> syn.StringExpr:
    """Two registers in one expression, in either order."""
    left, right = rng.sample([syn.Register(one), syn.Register(other)], 2)
    return syn.Cat(left, right)


def cut(rng: Random, text: str, mark: str) -> syn.StringExpr:
    return syn.Cut(syn.Register(text), syn.Register(mark), rng.choice(_SIDES))


def combine(rng: Random, here: LiveRegisters, name: str) -> syn.StringExpr | None:
    """``name`` joined with another register, or one cut at the other where that can occur."""
    others = here.other_registers(name)
    if not others:
        return None
    other = rng.choice(others)
    if rng.random() < 0.6:
        return join(rng, name, other)
    text, mark = (name, other) if other in here.move_registers else (other, name)
    return cut(rng, text, mark) if mark in here.move_registers else join(rng, name, other)


def string(rng: Random, here: LiveRegisters) -> syn.StringExpr:
    """A live register, or two of them joined or cut."""
    name = rng.choice(here.live)
    combination = combine(rng, here, name) if rng.random() < 0.35 else None
    return combination or syn.Register(name)


def term(rng: Random, here: LiveRegisters, about: str = "") -> tuple[int, syn.Xent] | None:
    """A signed term that ties a move to another string; one of the two is ``about`` if given."""
    pair = _pair(rng, here, about)
    if pair is None:
        return None
    move, other = map(syn.Register, pair)
    third = [name for name in here.live if name not in pair]
    shape = rng.choices(("explain", "follow", "plain", "given", "outer"), (6, 3, 1, 2, 1))[0]
    sign = rng.choice((1, 1, -1))
    if shape == "explain" or (shape in ("given", "outer") and not third):
        return sign, xed(other, move)
    if shape == "follow":
        return sign, xed(move, other)
    if shape == "plain":
        return -1, syn.Xent("xent", move, other)
    extra = rng.choice(third)
    if shape == "outer":
        return sign, syn.Xent("xed", other, move, syn.Register(extra))
    return sign, xed(other, join(rng, move.name, extra))


def _pair(rng: Random, here: LiveRegisters, about: str) -> tuple[str, str] | None:
    """A register that depends on a move, and another."""
    moves = [about] if about in here.move_registers else list(here.move_registers)
    if not moves:
        return None
    move = rng.choice(moves)
    others = [about] if about and about != move else list(here.other_registers(move))
    return (move, rng.choice(others)) if others else None


def amount(rng: Random, here: LiveRegisters) -> syn.Sum | None:
    """A sum of one to three terms."""
    samples = [term(rng, here) for _ in range(rng.choice((1, 2, 2, 3)))]
    terms = tuple(dict.fromkeys(item for item in samples if item is not None))
    return syn.Sum(terms) if terms else None


def condition(rng: Random, here: LiveRegisters, context: EditContext) -> syn.Condition | None:
    """A demand on the last move that an attentive player can meet."""
    if not here.recent:
        return None
    name = rng.choice(here.recent)
    move, others = syn.Register(name), [syn.Register(n) for n in here.other_registers(name)]
    cheap = comparison(syn.Xent("xent", move), "<", rng.choice(BOUNDS))
    if not others:
        return cheap
    text = rng.choice(others)
    if context.settings.truths and rng.random() < 0.4:
        return no_common_words(text, move)
    rest = [other for other in others if other != text]
    choices: list[syn.Condition] = [
        comparison(syn.Xent("xent", move, text), "<", syn.Xent("xent", move)),
        comparison(xed(text, move), ">=", 0),
        comparison(xed(move, text), "<", rng.choice(BOUNDS)),
        cheap,
    ]
    if rest:
        other = rng.choice(rest)
        choices.append(comparison(xed(text, move), ">", xed(other, move)))
        choices.append(comparison(xed(move, text), ">", xed(move, other)))
    return rng.choice(choices)


def comparison(left: syn.Xent, comparator: syn.Comparator, right: syn.Xent | int) -> syn.Comparison:
    bound = syn.Number(right) if isinstance(right, int) else right
    return syn.Comparison(syn.Sum(((1, left),)), comparator, syn.Sum(((1, bound),)))


def no_common_words(text: syn.StringExpr, move: syn.StringExpr) -> syn.Truth:
    """The paper's constraint, in the form that a plain function decides."""
    statement = syn.Cat(syn.Cat(syn.Literal(_NO_COMMON), text), syn.Literal("&"))
    return syn.Truth(syn.Cat(statement, move))
