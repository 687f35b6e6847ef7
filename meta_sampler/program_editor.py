"""The tools of operators: the lines of a program, the registers that are set at each, sites in
them, and random expressions over the registers that are set at a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from random import Random
from typing import Any, Literal as OneOf, NamedTuple, TypeVar

from meta_sampler.settings import MutateSettings
from meta_sampler.soundness import Lines, foreign, splice
from xgl.language import syntax as syn
from xgl.language.canonical import POOL, PUBLIC_POOL
from xgl.language.syntax import Program
from xgl.language.visitors import (
    children,
    descendants,
    of_type,
    read_unset,
    reads,
    rebuild,
    rename,
    stores,
    writes,
)


@dataclass(frozen=True, slots=True)
class EditContext:
    """Everything that an operator may use, apart from the lines and the random stream."""

    settings: MutateSettings
    players: tuple[str, ...]
    """Players that a child may name."""
    constants: tuple[str, ...]
    """Registers of types a, b, c that the metadata fill."""
    dialect: str
    donor: Lines = ()
    """Another program of the scope for crossover and composition; empty if there is none."""
    main: str = syn.MAIN_PLAYER
    """The parent's main player."""

    @property
    def others(self) -> tuple[str, ...]:
        """The players but for the main one."""
        return tuple(name for name in self.players if name != self.main)


Operator = Callable[[Lines, EditContext, Random], Lines]
"""A change of a program's lines; raises :class:`NothingError` if there is nothing to change."""
Value = TypeVar("Value")


class NothingError(Exception):
    """The program has nothing that an operator can change."""


def needed(value: Value | None) -> Value:
    """What an operator needs. Raises :class:`NothingError` for what is none, empty or false."""
    if not value:
        raise NothingError
    return value


def one_of(rng: Random, choices: Sequence[Value]) -> Value:
    """A random one. Raises :class:`NothingError` if there is none."""
    return rng.choice(needed(choices))


class LiveRegisters(NamedTuple):
    """Registers as they stand before some line, in the order in which they were set."""

    live: tuple[str, ...]
    move_registers: tuple[str, ...]
    """Registers that depend on a move of the main player."""
    recent: tuple[str, ...]
    """Registers that depend on the last move of any player."""

    def other_registers(self, name: str) -> tuple[str, ...]:
        return tuple(other for other in self.live if other != name)


def registers_at(lines: Lines, position: int, context: EditContext) -> LiveRegisters:
    """What is set before line ``position``, reading straight down."""
    live: dict[str, None] = dict.fromkeys(context.constants)
    move_registers, recent = dict[str, None](), dict[str, None]()

    def depends(node: Any) -> tuple[bool, bool]:
        if isinstance(node, syn.Elicit):
            return node.player == context.main, True
        names = set(reads(node))
        return not names.isdisjoint(move_registers), not names.isdisjoint(recent)

    for line in lines[:position]:
        if isinstance(line, syn.Elicit):
            recent.clear()
        for name, answers in stores(line, context.dialect, depends):
            of_main, of_last = zip(*answers, strict=True)
            _mark(move_registers, name, any(of_main))
            _mark(recent, name, any(of_last))
            live[name] = None
    return LiveRegisters(tuple(live), tuple(move_registers), tuple(recent))


def _mark(marks: dict[str, None], name: str, holds: bool) -> None:
    marks.pop(name, None)  # set again, it moves to the end: the order is that of the last value
    if holds:
        marks[name] = None


def free_names(lines: Lines, *, public: bool = False) -> tuple[str, ...]:
    """Registers of a pool that no line mentions."""
    used_names = {name for line in lines for name in (*reads(line), *writes(line))}
    return tuple(name for name in (PUBLIC_POOL if public else POOL) if name not in used_names)


def a_free_name(lines: Lines) -> str:
    """The first private register that no line mentions. Raises :class:`NothingError`."""
    return needed(free_names(lines))[0]


def story_registers(lines: Lines) -> list[str]:
    """Registers that lines fill with stories, in their order."""
    targets = (target for _, line in of_type(lines, syn.Assign) for target in line.targets)
    return [name for name, value in targets if isinstance(value, syn.Story)]


def keep_targets(lines: Lines, keep: Callable[[int, str, Any], bool]) -> Lines:
    """``lines`` with the values that ``keep`` finds true by position and register; a line that
    stores nothing more is left out."""
    new_lines = list[syn.Instruction]()
    for position, line in enumerate(lines):
        if isinstance(line, syn.Assign):
            line = replace(line, targets=tuple(t for t in line.targets if keep(position, *t)))
        if not isinstance(line, syn.Assign) or line.targets:
            new_lines.append(line)
    return tuple(new_lines)


def insert(lines: Lines, position: int, *new: syn.Instruction) -> Lines:
    """``lines`` with ``new`` before the one at ``position``."""
    return lines[:position] + new + lines[position:]


class Site(NamedTuple):
    """A node below a line: ``ordinal`` counts the line's descendants, parents first."""

    position: int
    ordinal: int
    node: Any


def sites(lines: Lines, kind: Any, start: int = 0) -> list[Site]:
    """All nodes of a type in ``lines[start:]``."""
    return [
        Site(position, ordinal, node)
        for position, line in list(enumerate(lines))[start:]
        for ordinal, node in enumerate(descendants(line))
        if isinstance(node, kind)
    ]


def random_reward_sum(lines: Lines, rng: Random, least: int) -> Site:
    """The sum of a random reward with at least ``least`` terms. Raises :class:`NothingError`."""
    rewards = [site for site in sites(lines, syn.Sum) if type(lines[site.position]) is syn.Reward]
    return one_of(rng, [site for site in rewards if len(site.node.terms) >= least])


def operands(lines: Lines, start: int = 0) -> list[Site]:
    """The string operands of all xents: targets, prefixes and outer prefixes."""
    found = list[Site]()
    for position, ordinal, term in sites(lines, syn.Xent, start):
        ordinal += 1
        for part in children(term):
            found.append(Site(position, ordinal, part))
            ordinal += sum(1 for _ in descendants(part))
    return found


def replace_node(lines: Lines, site: Site, new: Any) -> Lines:
    counter = count()

    def visit(part: Any) -> Any:
        return new if next(counter) == site.ordinal else rebuild(part, visit)

    return splice(lines, site.position, visit(lines[site.position]))


def rebind_reads(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Replace every read of a register that is not set yet by a read of one that is. Raises
    :class:`NothingError` if none is set."""
    new_lines: list[syn.Instruction] = []
    live: dict[str, None] = dict.fromkeys(context.constants)
    for line in lines:
        unset = [name for name in read_unset([line], context.dialect) if name not in live]
        names = {name: one_of(rng, tuple(live)) for name in unset}
        new_lines.append(rebuild(line, partial(rename, names=names)) if names else line)
        live |= dict.fromkeys(writes(line))
    return tuple(new_lines)


def donor_lines(program: Program, context: EditContext) -> Lines:
    """A program's lines as far as they may enter a child; none of them where one may not."""
    lines = program.instructions
    if not context.settings.truths:
        lines = tuple(line for line in map(_without_truths, lines) if line is not None)
    is_foreign = any(foreign(Program(lines), context.players, True, context.settings.loops))
    return () if is_foreign else lines


def _without_truths(line: syn.Instruction) -> syn.Instruction | None:
    if not isinstance(line, syn.Ensure):
        return line
    conditions = tuple(c for c in line.conditions if not isinstance(c, syn.Truth))
    return replace(line, conditions=conditions) if conditions else None


# -- what nothing reads ----------------------------------------------------------------------------

PRUNE = "prune"
"""Name, in a provenance, of a deletion that also removes values used only by the deleted line."""


def unread_registers(lines: Lines) -> frozenset[str]:
    """Registers that some line writes and none reads."""
    return frozenset(chain(*map(writes, lines))).difference(*map(reads, lines))


def prune(lines: Lines, keep: frozenset[str]) -> Lines:
    """``lines`` without values that nothing reads, except those of the registers ``keep``.

    Moves are kept, even if nothing reads them. So are stories that are drawn before the last move:
    a move may have to avoid them.
    """
    readers = {e.player for _, e in of_type(lines, syn.Elicit)} - {*syn.OMNISCIENT}
    dead = {n for n in unread_registers(lines) - keep if readers.isdisjoint(syn.viewers(n))}
    last = max((position for position, _ in of_type(lines, syn.Elicit)), default=-1)

    def is_needed(position: int, name: str, value: Any) -> bool:
        return name not in dead or (position < last and isinstance(value, syn.Story))

    shorter = keep_targets(lines, is_needed)
    # Again and again: what only a removed value read is unread from then on.
    return lines if shorter == lines else prune(shorter, keep)


LIMITS = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Token limits of an elicit."""

BOUNDS = (8, 16, 24, 32, 48)
"""Bits in a comparison; a move of a few tokens costs about as many."""

_SIDES: tuple[OneOf["before", "after"], ...] = ("before", "after")


def xed(target: syn.StringExpr, prefix: syn.StringExpr) -> syn.Xent:
    return syn.Xent("xed", target, prefix)


def join(rng: Random, one: str, other: str) -> syn.StringExpr:
    """Two registers in one expression, in either order."""
    left, right = rng.sample([syn.Register(one), syn.Register(other)], 2)
    return syn.Cat(left, right)


def cut(rng: Random, text: str, mark: str) -> syn.StringExpr:
    return syn.Cut(syn.Register(text), syn.Register(mark), rng.choice(_SIDES))


# What follows raises NothingError where too few registers are set.


def combine(rng: Random, here: LiveRegisters, name: str) -> syn.StringExpr:
    """``name`` joined with another register, or one cut at the other where that can occur."""
    other = one_of(rng, here.other_registers(name))
    if rng.random() < 0.6:
        return join(rng, name, other)
    text, mark = (name, other) if other in here.move_registers else (other, name)
    return cut(rng, text, mark) if mark in here.move_registers else join(rng, name, other)


def string(rng: Random, here: LiveRegisters) -> syn.StringExpr:
    """A live register, or two of them joined or cut."""
    name = one_of(rng, here.live)
    if rng.random() < 0.35:
        with suppress(NothingError):
            return combine(rng, here, name)
    return syn.Register(name)


def term(rng: Random, here: LiveRegisters, about: str = "") -> tuple[int, syn.Xent]:
    """A signed term that ties a move to another string; one of the two is ``about`` if given."""
    mover = one_of(rng, [about] if about in here.move_registers else here.move_registers)
    is_free = about in ("", mover)
    pair = mover, one_of(rng, here.other_registers(mover) if is_free else [about])
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


def amount(rng: Random, here: LiveRegisters) -> syn.Sum:
    """A sum of one to three terms."""
    terms = dict[tuple[int, syn.Xent], None]()
    for _ in range(rng.choice((1, 2, 2, 3))):
        with suppress(NothingError):
            terms[term(rng, here)] = None
    return syn.Sum(tuple(needed(terms)))


def condition(rng: Random, here: LiveRegisters, context: EditContext) -> syn.Condition:
    """A demand on the last move that an attentive player can meet."""
    name = one_of(rng, here.recent)
    move, others = syn.Register(name), [syn.Register(n) for n in here.other_registers(name)]
    cheap = comparison(syn.Xent("xent", move), "<", rng.choice(BOUNDS))
    if not others:
        return cheap
    text = rng.choice(others)
    if context.settings.truths and rng.random() < 0.4:
        # The paper's constraint, in the form that a plain function decides.
        statement = syn.Cat(syn.Cat(syn.Literal("no common words between"), text), syn.Literal("&"))
        return syn.Truth(syn.Cat(statement, move))
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
