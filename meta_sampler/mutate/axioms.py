"""The moves in game space that the paper's axioms name (§2.3), and line crossover."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from meta_sampler.mutate import program_editor
from meta_sampler.mutate.edits import insert_move, signed_reward, swap_players
from meta_sampler.mutate.program_editor import (
    EditContext,
    Lines,
    NothingError,
    a_free_name,
    free_names,
    insert,
    needed,
    one_of,
    positions,
    rebind_reads,
    registers_at,
    sites,
    splice,
    story_registers,
)
from xgl.language import syntax as syn
from xgl.language.visitors import mentions, reads, rename

_PAIR = frozenset({"black", "white"})
_ZERO = syn.Sum(((1, syn.Number(0)),))


def compose(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Play a game, then another, on separate maps or on one map; with players swapped or not."""
    second = context.donor or lines
    if context.others and rng.random() < 0.5:
        second = swap_players(second, rng.choice(context.others), context, rng)
    elif not context.donor:
        raise NothingError
    share = rng.random() < 0.6
    stories = zip(*map(story_registers, (second, lines)), strict=False) if share else ()
    renamed_lines = _rename_apart(lines, second, dict(stories))
    return lines + (_without_stories(renamed_lines, lines) if share else renamed_lines)


def _without_stories(second: Lines, first: Lines) -> Lines:
    """``second`` without the stories that ``first`` draws already."""
    drawn, remaining = set(story_registers(first)), list[syn.Instruction]()
    for line in second:
        if isinstance(line, syn.Assign):
            kept = [
                (n, v) for n, v in line.targets if n not in drawn or not isinstance(v, syn.Story)
            ]
            line = replace(line, targets=tuple(kept))
            if not line.targets:
                continue
        remaining.append(line)
    return tuple(remaining)


def _rename_apart(first: Lines, second: Lines, names: dict[str, str]) -> Lines:
    """``second`` with registers that ``first`` does not use, except those in ``names``. Raises
    :class:`NothingError` if there are too few."""
    names = dict(names)
    pools = {public: iter(free_names(first, public=public)) for public in (False, True)}
    for line in second:
        for name in mentions(line):
            if name in names or name[0] in syn.CONSTANT_TYPES:
                continue
            names[name] = needed(next(pools[name[0] == "p"], None))
    return tuple(rename(line, names) for line in second)


def add_turn(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One more turn: a move of the main player, paid like another of its moves, but with the
    stories exchanged."""
    name, stories, main = a_free_name(lines), story_registers(lines), context.main
    moves = (x for x in lines if isinstance(x, syn.Elicit) and x.player == main)
    turns = [x for x in moves if len(x.registers) == 1 and _rewards_of(lines, x, main)]
    if len(stories) < 2:
        raise NothingError
    turn = one_of(rng, turns)
    others = rng.sample(stories, len(stories))
    names = dict(zip(stories, others, strict=True)) | {turn.registers[0]: name}
    rewards = _rewards_of(lines, turn, main)
    new_rewards = tuple(rename(line, names) for line in rewards)
    if {rename(line, {name: turn.registers[0]}) for line in new_rewards} == set(rewards):
        raise NothingError
    return (*lines, replace(turn, registers=(name,)), *new_rewards)


def _rewards_of(lines: Lines, turn: syn.Elicit, player: str) -> list[syn.Reward]:
    """A player's rewards that read the register of one of its moves."""
    rewards = (x for x in lines if isinstance(x, syn.Reward) and x.player == player)
    return [line for line in rewards if turn.registers[0] in set(reads(line))]


def crossover(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """The head of the parent and the tail of another game, registers shared or apart."""
    donor = needed(context.donor)
    head = lines[: rng.randint(1, len(lines))]
    tail = donor[rng.randrange(min(1, len(donor) - 1), len(donor)) :]
    if rng.random() < 0.5:
        tail = _rename_apart(head, tail, {})
    return rebind_reads(head + tail, context, rng)


def rescale(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Adversarial rescaling: a reward becomes the demand that it be at least 0.

    A program's only reward keeps some terms, or a new reward takes its place, so that the game
    still pays.
    """
    rewards = positions(lines, syn.Reward)
    position = one_of(rng, rewards)
    reward = lines[position]
    assert isinstance(reward, syn.Reward)
    demanded_terms, remaining = list(reward.amount.terms), list(reward.amount.terms[:0])
    if len(rewards) == 1 and len(demanded_terms) > 1:
        remaining = [demanded_terms.pop(rng.randrange(len(demanded_terms)))]
    elif len(rewards) == 1:
        new_amount = program_editor.amount(rng, registers_at(lines, position, context))
        remaining = list(new_amount.terms) if new_amount else []
    ensure = syn.Ensure((syn.Comparison(syn.Sum(tuple(demanded_terms)), ">=", _ZERO),))
    smaller_reward = [replace(reward, amount=syn.Sum(tuple(remaining)))] if remaining else []
    return splice(lines, position, ensure, *smaller_reward)


def zero_sum(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A reward is followed by its negative to another player who makes moves; where only one does,
    a second player enters, whose move the reward reads, and is paid the negative.

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
    if not pairs and len({*cast}) < 2:
        return insert_move(lines, context.others, context, rng, (-1,))
    position, player = one_of(rng, pairs)
    return insert(lines, position + 1, signed_reward(lines, position, player, -1))


def update(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A register is joined with, or cut at, another before it is used again."""
    use = one_of(rng, sites(lines, syn.Register, 1))
    position = rng.randint(1, use.position)
    here = registers_at(lines, position, context)
    name = use.node.name
    if name not in here.live or name in context.constants:
        raise NothingError
    marks = [mark for mark in here.move_registers if mark != name]
    if marks and rng.random() < 0.5:
        value = program_editor.cut(rng, name, rng.choice(marks))
    else:
        value = program_editor.join(rng, name, one_of(rng, here.other_registers(name)))
    assert name in set(reads(value))
    return insert(lines, position, syn.Assign(((name, value),)))
