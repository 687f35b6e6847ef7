"""Operators that bring other players in: a newcomer is told something and earns something."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from meta_sampler.mutate import random_expressions
from meta_sampler.mutate.program_editor import Bench, Lines, insert, of_type, put, scene
from xgl.language import syntax as syn
from xgl.language.visitors import reads


def retarget_player(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """A move, a reward or a reveal goes to another player; a new mover is paid for its move."""
    kinds = (syn.Elicit, syn.Reward, syn.Reveal)
    choices = of_type(lines, *kinds)
    if not choices:
        return None
    position = rng.choice(choices)
    line = lines[position]
    assert isinstance(line, kinds)
    new = rng.choice([name for name in bench.players if name != line.player])
    changed = put(lines, position, replace(line, player=new))
    if isinstance(line, syn.Elicit):
        return paid(informed(changed, position, new, bench, rng), new, line.registers[0], rng)
    return changed


def informed(lines: Lines, position: int, player: str, bench: Bench, rng: Random) -> Lines:
    """``lines`` where a player that does not see everything is shown a string before its move."""
    live = scene(lines, position, bench).live
    told = any(isinstance(x, syn.Reveal) and x.player == player for x in lines[:position])
    if player in syn.OMNISCIENT or told or not live:
        return lines
    return insert(lines, position, syn.Reveal(player, (syn.Register(rng.choice(live)),)))


def paid(lines: Lines, player: str, register: str, rng: Random) -> Lines:
    """``lines`` where a mover shares, or is paid the negative of, a reward that reads its move.

    Nothing is added for the main player, for white, whom the language pays black's negative,
    or for env, which earns nothing.
    """
    earns = {line.player for line in lines if isinstance(line, syn.Reward)}
    reading = [i for i in of_type(lines, syn.Reward) if register in set(reads(lines[i]))]
    if player in (syn.MAIN_PLAYER, "white", "env") or player in earns or not reading:
        return lines
    position = rng.choice(reading)
    reward = lines[position]
    assert isinstance(reward, syn.Reward)
    side = rng.choice((1, -1))
    amount = syn.Sum(tuple((side * sign, term) for sign, term in reward.amount.terms))
    return insert(lines, position + 1, syn.Reward(player, amount))


def add_reveal(lines: Lines, bench: Bench, rng: Random) -> Lines | None:
    """Show a string, before some move, to a player that does not see everything."""
    players = [name for name in bench.others if name not in syn.OMNISCIENT]
    asked = [
        (position, line.player)
        for position, line in enumerate(lines)
        if isinstance(line, syn.Elicit) and line.player in players
    ]
    if not asked:
        return None
    position, player = rng.choice(asked)
    here = scene(lines, position, bench)
    if not here.live:
        return None
    return insert(lines, position, syn.Reveal(player, (random_expressions.string(rng, here),)))


def swapped(lines: Lines, other: str, bench: Bench, rng: Random) -> Lines:
    """``lines`` with the main player and another in each other's place, the other informed."""
    names = {syn.MAIN_PLAYER: other, other: syn.MAIN_PLAYER}
    kinds = (syn.Elicit, syn.Reward, syn.Reveal)
    changed = tuple(
        replace(line, player=names.get(line.player, line.player))
        if isinstance(line, kinds)
        else line
        for line in lines
    )
    moves = [i for i, x in enumerate(changed) if isinstance(x, syn.Elicit) and x.player == other]
    return informed(changed, moves[0], other, bench, rng) if moves else changed
