"""Checks of a child before a sampler proposes it: it is worth a trial, and new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TypeVar

from meta_sampler.base import Fate, Proposal, Provenance
from meta_sampler.lint import lint_warnings
from meta_sampler.settings import Caps
from meta_sampler.symbolic import normal_form
from xgl.analysis.static_facts import analyse, learning_roles, paid_for
from xgl.errors import ProgramError
from xgl.language import syntax as syn
from xgl.language.canonical import Game, Metadata, game
from xgl.language.control_flow import unrolled
from xgl.language.parser import parse
from xgl.language.syntax import Program
from xgl.language.visitors import find, of_type, reads

Lines = tuple[syn.Instruction, ...]
AnyCaps = TypeVar("AnyCaps", bound=Caps)
WITH_PLAYER = (syn.Elicit, syn.Reward, syn.Reveal)
"""Instructions that name a player."""


def faults(program: Program, parent: Game, caps: Caps, role: str = syn.MAIN_PLAYER) -> list[str]:
    """Reasons why a child is not worth a trial, a phrase each; empty for a sound one.

    Such a child breaks a cap, although it may be as large as its parent, can teach no player that
    moves, or has lint warnings that its parent does not have. ``role``: the main player of the
    parent, whose reason is given.
    """
    if not program.instructions:
        return ["no instruction"]
    if beyond := excess(program, caps, parent):
        return beyond
    report = analyse(program, role=role)
    phrases = [] if learning_roles(program) else [report.degenerate]
    if len(report.read_before_set) > _unset(parent.program):
        phrases += [f"{name} is read before it is set" for name in report.read_before_set]
    known = {*filled_constants(parent), *chain(*map(reads, parent.program.instructions))}
    own = {name for line in program.instructions for name in reads(line) if name[0] in "abc"}
    phrases += [f"{name} is empty on every map" for name in sorted(own - known)]
    phrases += sorted(lint_warnings(program) - lint_warnings(parent.program))
    if phrases:
        return phrases
    new = game(program)
    with suppress(ProgramError):
        if parse(new.code, program.dialect) == new.program:
            return []
    return ["its canonical text means something else"]


@lru_cache(maxsize=64)
def _unset(program: Program) -> int:
    """The number of registers that are read before they are set."""
    return len(analyse(program).read_before_set)


def child_of(
    text: str, parent: Game, caps: Caps, origin: Provenance, role: str = syn.MAIN_PLAYER
) -> Proposal:
    """A text that a model wrote as a child of ``parent`` played in ``role``, of its dialect and
    metadata; limits and loops are cut to the caps. The text of a program is canonical."""
    try:
        program = parse(text, parent.dialect)
    except ProgramError as error:
        return Proposal(text, None, tuple(map(str, error.problems)), origin)
    fitted = fit(program, caps, parent)
    if fitted != program:
        origin = replace(origin, repairs=(*origin.repairs, FIT))
    new = game(fitted, parent.metadata)
    errors = (*_not_admitted(fitted, parent, caps, role), *faults(fitted, parent, caps, role))
    return Proposal(new.code, None if errors else new, errors, origin, Fate.UNSOUND)


def _not_admitted(program: Program, parent: Game, caps: Caps, main: str) -> Iterator[str]:
    """Contents that the caps do not allow and that the parent does not have."""
    wide = admitted(caps, parent)
    yield from foreign(program, wide.players, wide.truths, wide.loops)
    if main not in {line.player for line in find(program, syn.Elicit)}:
        yield f"no move of {main}, expected at least one"
    if not {line.player for line in find(program, syn.Reward)} & paid_for(main).keys():
        yield f"no reward for {main}, expected at least one"


class KnownGames:
    """Games that a proposal must not repeat, in text or in normal form."""

    def __init__(self, games: Sequence[Game]) -> None:
        self._keys = {key for each in games for key in keys_of(each)}

    def checked(self, child: Proposal) -> Proposal:
        """A proposal, without its game if that is known; a new one is known from now on."""
        if child.game is None:
            return child
        keys = keys_of(child.game)
        if not self._keys.isdisjoint(keys):
            return replace(child, game=None, errors=("a known game",), fate=Fate.KNOWN)
        self._keys.update(keys)
        return child


def keys_of(whole: Game) -> tuple[Hashable, Hashable]:
    """The id of a game, and its normal form with the limits of moves written out; games that agree
    in one of them count as one."""
    usual = whole.metadata.max_len
    lines = tuple(
        replace(line, max_len=line.max_len or usual) if isinstance(line, syn.Elicit) else line
        for line in whole.program.instructions
    )
    return whole.game_id, normal_form(replace(whole.program, instructions=lines))


# -- what a program holds --------------------------------------------------------------------------


def named_players(lines: Lines) -> set[str]:
    """Players who are asked, paid or shown something."""
    return {line.player for line in lines if isinstance(line, WITH_PLAYER)}


def admitted_players(parent: Game, players: Sequence[str]) -> tuple[str, ...]:
    """Players that a child may name: ``players`` and those of the parent."""
    own = named_players(parent.program.instructions)
    return tuple(name for name in syn.PLAYERS if name in own or name in players)


def admitted(caps: AnyCaps, parent: Game) -> AnyCaps:
    """The caps with what the parent has: its players, statements and loops."""
    truths = caps.truths or has_truths(parent.program)
    loops = caps.loops or has_loops(parent.program)
    return replace(caps, players=admitted_players(parent, caps.players), truths=truths, loops=loops)


def filled_constants(parent: Game) -> tuple[str, ...]:
    """Registers of types a, b, c to which the metadata give a text, or a prompt for one."""
    texts = {**parent.metadata.constants, **parent.metadata.prompts}
    return tuple(sorted(name for name, text in texts.items() if text))


def has_truths(program: Program) -> bool:
    """Whether it holds a statement that a judge would have to read."""
    return bool(find(program, syn.Truth))


def has_loops(program: Program) -> bool:
    """Whether it holds a beacon or a replay."""
    return bool(find(program, syn.Beacon) or find(program, syn.Replay))


def foreign(program: Program, players: Sequence[str], truths: bool, loops: bool) -> Iterator[str]:
    """Contents that are not allowed, a phrase each."""
    for name in sorted(named_players(program.instructions) - set(players)):
        yield f"the player {name}, expected some of {', '.join(players)}"
    if has_truths(program) and not truths:
        yield "a statement for the judge to read, expected comparisons or functions as conditions"
    if has_loops(program) and not loops:
        yield "a loop, expected none"


# -- caps ------------------------------------------------------------------------------------------

FIT = "fit"
"""Name of a cut in a proposal's provenance."""


def move_tokens(program: Program, max_len: int) -> int:
    """Most judge tokens that one player may write in one play, default limits counted. 0 for flags
    in the wrong order: such a program is not played."""
    return max(_tokens_by_player(program, max_len).values(), default=0)


def _tokens_by_player(program: Program, max_len: int) -> Counter[str]:
    tokens: Counter[str] = Counter()
    order, fault = unrolled(program)
    for position, times in Counter(() if fault else order[: syn.MAX_STEPS]).items():
        line = program.instructions[position]
        if isinstance(line, syn.Elicit):
            most = (line.max_len or max_len) * len(line.registers)
            tokens[line.player] += times * most
    return tokens


def fit(program: Program, caps: Caps, parent: Game) -> Program:
    """Fewer repetitions, then shorter moves, until the caps on steps and tokens hold. If nothing is
    left to cut, the result may still break a cap."""
    most, metadata = _limits(caps, parent), parent.metadata
    lines: Lines | None = program.instructions
    while lines is not None:
        program = replace(program, instructions=lines)
        if len(unrolled(program)[0]) > most["max_steps"]:
            lines = _fewer_rounds(lines)
            continue
        tokens = _tokens_by_player(program, metadata.max_len)
        player = max(tokens, key=lambda name: tokens[name], default="")
        if tokens[player] <= most["max_move_tokens"]:
            return program
        least = min(2, most["max_move_tokens"])
        lines = _shorter_move(lines, player, metadata, least) or _fewer_rounds(lines)
    return program


def _fewer_rounds(lines: Lines) -> Lines | None:
    replays = of_type(lines, syn.Replay)
    position, line = max(replays, key=lambda pair: pair[1].times, default=(0, None))
    if line is None or line.times < 2:
        return None
    return splice(lines, position, replace(line, times=line.times // 2))


def _shorter_move(lines: Lines, player: str, metadata: Metadata, least: int) -> Lines | None:
    """The longest move of a player, shortened to no fewer than ``least``."""
    moves = [
        (line.max_len or metadata.max_len, -position, line)
        for position, line in of_type(lines, syn.Elicit)
        if line.player == player
    ]
    limit, place, line = max(moves, key=lambda move: move[:2])
    if limit <= least:
        return None
    return splice(lines, -place, replace(line, max_len=max(least, limit * 3 // 4)))


def splice(lines: Lines, position: int, *new: syn.Instruction) -> Lines:
    """``lines`` with the one at ``position`` replaced by ``new``, none or several."""
    return lines[:position] + new + lines[position + 1 :]


def excess(program: Program, caps: Caps, parent: Game) -> list[str]:
    """The caps that a child breaks, each with its value and its limit; empty if there are none."""
    most = _limits(caps, parent)
    return [
        f"{name}: found {count}, expected at most {most[name]}"
        for name, count in _counts(program, parent.metadata.max_len).items()
        if count > most[name]
    ]


def _limits(caps: Caps, parent: Game) -> dict[str, int]:
    """Each cap, or the parent's count if it is larger: with two turns of its loops, and with moves
    as short as the caps ask for, since :func:`fit` can cut both."""
    counts = _counts(parent.program, parent.metadata.max_len)
    turns = min(counts["max_steps"], 2 * counts["max_lines"])
    counts = counts | {"max_steps": turns, "max_move_tokens": 0}
    return {name: max(getattr(caps, name), count) for name, count in counts.items()}


@lru_cache(maxsize=64)  # of a parent it is asked for with each child
def _counts(program: Program, max_len: int) -> dict[str, int]:
    """What the caps limit, by their names; ``max_len``: of a move without a limit."""
    joined = [len(find(text, syn.Register)) for text in find(program, syn.Cat)]
    return {
        "max_lines": len(program.instructions),
        "max_steps": len(unrolled(program)[0]),
        "max_stories": len(find(program, syn.Story)),
        "max_terms": max((len(amount.terms) for amount in find(program, syn.Sum)), default=0),
        "max_joined": max(joined, default=0),  # the literals of a statement do not count
        "max_move_tokens": move_tokens(program, max_len),
    }
