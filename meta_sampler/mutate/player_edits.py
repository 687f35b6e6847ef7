"""Operators that add other players: a new player is shown something and earns something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from meta_sampler.mutate import random_expressions
from meta_sampler.mutate.program_editor import (
    EditContext,
    Lines,
    insert,
    positions,
    registers_at,
    splice,
)
from xgl.language import syntax as syn
from xgl.language.visitors import reads


def retarget_player(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """A move, a reward or a reveal goes to another player; a new mover is paid for its move."""
    kinds = (syn.Elicit, syn.Reward, syn.Reveal)
    choices = positions(lines, *kinds)
    if not choices:
        return None
    position = rng.choice(choices)
    line = lines[position]
    assert isinstance(line, kinds)
    new = rng.choice([name for name in context.players if name != line.player])
    new_lines = splice(lines, position, replace(line, player=new))
    if isinstance(line, syn.Elicit):
        shown = with_reveal(new_lines, position, new, context, rng)
        return with_reward(shown, new, line.registers[0], context, rng)
    return new_lines


def with_reveal(
    lines: Lines, position: int, player: str, context: EditContext, rng: Random
) -> Lines:
    """``lines`` in which a player that does not see everything is shown a string before its
    move."""
    live = registers_at(lines, position, context).live
    is_informed = any(isinstance(x, syn.Reveal) and x.player == player for x in lines[:position])
    if player in syn.OMNISCIENT or is_informed or not live:
        return lines
    return insert(lines, position, syn.Reveal(player, (syn.Register(rng.choice(live)),)))


def with_reward(
    lines: Lines,
    player: str,
    register: str,
    context: EditContext,
    rng: Random,
    sides: Sequence[int] = (1, -1),
) -> Lines:
    """``lines`` in which a mover shares a reward that reads its move, or is paid the negative of
    it.

    Nothing is added for the main player, for whom an earner's partner is, since the language pays
    black and white each other's negative, or for env, which earns nothing.
    """
    earns = {line.player for line in lines if isinstance(line, syn.Reward)}
    reading = [i for i in positions(lines, syn.Reward) if register in set(reads(lines[i]))]
    coupled = {player, syn.PARTNERS.get(player, player)}
    if player == "env" or coupled & {context.main, *earns} or not reading:
        return lines
    position = rng.choice(reading)
    reward = lines[position]
    assert isinstance(reward, syn.Reward)
    side = rng.choice(sides)
    amount = syn.Sum(tuple((side * sign, term) for sign, term in reward.amount.terms))
    return insert(lines, position + 1, syn.Reward(player, amount))


def add_reveal(lines: Lines, context: EditContext, rng: Random) -> Lines | None:
    """Show a string, before some move, to a player that does not see everything."""
    players = [name for name in context.others if name not in syn.OMNISCIENT]
    elicits = [
        (position, line.player)
        for position, line in enumerate(lines)
        if isinstance(line, syn.Elicit) and line.player in players
    ]
    if not elicits:
        return None
    position, player = rng.choice(elicits)
    here = registers_at(lines, position, context)
    if not here.live:
        return None
    return insert(lines, position, syn.Reveal(player, (random_expressions.string(rng, here),)))


def swap_players(lines: Lines, other: str, context: EditContext, rng: Random) -> Lines:
    """``lines`` with the main player and another one exchanged; the other is shown what it
    needs."""
    names = {context.main: other, other: context.main}
    kinds = (syn.Elicit, syn.Reward, syn.Reveal)
    new_lines = tuple(
        replace(line, player=names.get(line.player, line.player))
        if isinstance(line, kinds)
        else line
        for line in lines
    )
    moves = [i for i, x in enumerate(new_lines) if isinstance(x, syn.Elicit) and x.player == other]
    return with_reveal(new_lines, moves[0], other, context, rng) if moves else new_lines
