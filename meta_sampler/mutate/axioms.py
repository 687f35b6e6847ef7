"""The moves in game space that the paper's axioms name (§2.3), and line crossover."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from meta_sampler.mutate import random_expressions
from meta_sampler.mutate.player_edits import swapped
from meta_sampler.mutate.program_editor import (
    Bench,
    Lines,
    free_names,
    insert,
    of_type,
    put,
    relive,
    scene,
    sites,
)
from xgl.language import syntax as syn
from xgl.language.visitors import mentions, reads, rename

_PAIR = frozenset({"black", "white"})
_ZERO = syn.Sum(((1, syn.Number(0)),))


def compose(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """Play a game, then another, on maps of their own or on one; with players swapped or not."""
    second = bench.donor or lines
    if bench.others and rng.random() < 0.5:
        second = swapped(second, rng.choice(bench.others), bench, rng)
    elif not bench.donor:
        return None
    share = rng.random() < 0.6
    renamed = _apart(lines, second, _shared_stories(lines, second) if share else {})
    if renamed is None:
        return None
    return lines + (_without_stories(renamed, lines) if share else renamed)


def _story_registers(lines: Lines) -> list[str]:
    targets = [t for line in lines if isinstance(line, syn.Assign) for t in line.targets]
    return [name for name, value in targets if isinstance(value, syn.Story)]


def _shared_stories(first: Lines, second: Lines) -> dict[str, str]:
    return dict(zip(_story_registers(second), _story_registers(first), strict=False))


def _without_stories(second: Lines, first: Lines) -> Lines:
    """``second`` without drawing anew what ``first`` drew already."""
    known, kept = set(_story_registers(first)), list[syn.Instruction]()
    for line in second:
        if isinstance(line, syn.Assign):
            targets = tuple(
                (name, value)
                for name, value in line.targets
                if not (name in known and isinstance(value, syn.Story))
            )
            if not targets:
                continue
            line = replace(line, targets=targets)
        kept.append(line)
    return tuple(kept)


def _apart(first: Lines, second: Lines, names: dict[str, str]) -> Lines | None:
    """``second`` with registers that ``first`` does not use, but for those in ``names``."""
    names = dict(names)
    pools = {public: iter(free_names(first, public=public)) for public in (False, True)}
    for line in second:
        for name in mentions(line):
            if name in names or name[0] in syn.CONSTANT_TYPES:
                continue
            fresh = next(pools[name[0] == "p"], None)
            if fresh is None:
                return None
            names[name] = fresh
    return tuple(rename(line, names) for line in second)


def crossover(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """The head of the parent and the tail of another game, registers shared or apart."""
    if not bench.donor:
        return None
    head = lines[: rng.randint(1, len(lines))]
    tail: Lines | None = bench.donor[
        rng.randrange(min(1, len(bench.donor) - 1), len(bench.donor)) :
    ]
    if tail and rng.random() < 0.5:
        tail = _apart(head, tail, {})
    return tail and relive(head + tail, bench, rng)


def rescale(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """Adversarial rescaling: a reward becomes the demand that it be at least 0.

    Of a program's only reward some terms stay, or a new one takes its place, lest the game
    pay nothing.
    """
    rewards = of_type(lines, syn.Reward)
    if not rewards:
        return None
    position = rng.choice(rewards)
    reward = lines[position]
    assert isinstance(reward, syn.Reward)
    demanded, kept = list(reward.amount.terms), list(reward.amount.terms[:0])
    if len(rewards) == 1 and len(demanded) > 1:
        kept = [demanded.pop(rng.randrange(len(demanded)))]
    elif len(rewards) == 1:
        drawn = random_expressions.amount(rng, scene(lines, position, bench))
        kept = list(drawn.terms) if drawn else []
    ensure = syn.Ensure((syn.Comparison(syn.Sum(tuple(demanded)), ">=", _ZERO),))
    paid = [replace(reward, amount=syn.Sum(tuple(kept)))] if kept else []
    return put(lines, position, ensure, *paid)


def zero_sum(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """A reward is followed by its negative to another player who makes moves.

    Black and white are left out together: the language itself couples them.
    """
    cast = [x.player for x in lines if isinstance(x, syn.Elicit) and x.player != "env"]
    pairs = [
        (position, player)
        for position, line in enumerate(lines)
        if isinstance(line, syn.Reward)
        for player in dict.fromkeys(cast)
        if player != line.player and {player, line.player} != _PAIR
    ]
    if not pairs:
        return None
    position, player = rng.choice(pairs)
    reward = lines[position]
    assert isinstance(reward, syn.Reward)
    negative = tuple((-sign, term) for sign, term in reward.amount.terms)
    return insert(lines, position + 1, syn.Reward(player, syn.Sum(negative)))


def update(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """A register is joined with, or cut at, another before it is used again."""
    uses = sites(lines, syn.Register, 1)
    if not uses:
        return None
    use = rng.choice(uses)
    position = rng.randint(1, use.position)
    here = scene(lines, position, bench)
    name = use.node.name
    if name not in here.live or name in bench.constants:
        return None
    marks = [mark for mark in here.moved if mark != name]
    if marks and rng.random() < 0.5:
        value = random_expressions.cut(rng, name, rng.choice(marks))
    elif here.beside(name):
        value = random_expressions.joined(rng, name, rng.choice(here.beside(name)))
    else:
        return None
    assert name in set(reads(value))
    return insert(lines, position, syn.Assign(((name, value),)))
