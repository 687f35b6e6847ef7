"""The caps that keep a game cheap, and cutting limits and loops down to them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from meta_sampler.mutate.program_editor import Lines, of_type, put
from meta_sampler.settings import Caps
from xgl import Metadata, Program
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.control_flow import path, unrolled_steps
from xgl.language.visitors import descendants

FIT = "fit"
"""Name under which a cut stands in a proposal's provenance."""

_LEAST = 2


def move_tokens(program: Program, metadata: Metadata) -> int:
    """Most judge tokens the main player may write in one play, default limits counted.

    0 for flags in the wrong order: such a program is not played.
    """
    lines = program.instructions
    try:
        order = list(islice(path(program), syn.MAX_STEPS))
    except FlowError:
        return 0
    return sum(_tokens(lines[position], metadata) for position in order)


def _tokens(line: syn.Instruction, metadata: Metadata) -> int:
    if not isinstance(line, syn.Elicit) or line.player != syn.MAIN_PLAYER:
        return 0
    return (line.max_len or metadata.max_len) * len(line.registers)


def fit(program: Program, caps: Caps, metadata: Metadata) -> Program:
    """Fewer repetitions, then shorter moves, until the caps on steps and tokens hold.

    Gives the program as far as it came when nothing is left to cut.
    """
    lines: Lines | None = program.instructions
    while lines is not None:
        program = replace(program, instructions=lines)
        if unrolled_steps(program) > caps.max_steps:
            lines = _fewer_rounds(lines)
        elif move_tokens(program, metadata) > caps.max_move_tokens:
            lines = _shorter_move(lines, metadata) or _fewer_rounds(lines)
        else:
            return program
    return program


def _fewer_rounds(lines: Lines) -> Lines | None:
    times = {
        i: x.times for i in of_type(lines, syn.Replay) if isinstance(x := lines[i], syn.Replay)
    }
    position = max(times, key=lambda i: times[i], default=None)
    if position is None or times[position] < 2:
        return None
    line = lines[position]
    assert isinstance(line, syn.Replay)
    return put(lines, position, replace(line, times=line.times // 2))


def _shorter_move(lines: Lines, metadata: Metadata) -> Lines | None:
    limits = {
        position: line.max_len or metadata.max_len
        for position, line in enumerate(lines)
        if isinstance(line, syn.Elicit) and line.player == syn.MAIN_PLAYER
    }
    position = max(limits, key=lambda i: limits[i], default=None)
    if position is None or limits[position] <= _LEAST:
        return None
    line = lines[position]
    assert isinstance(line, syn.Elicit)
    return put(lines, position, replace(line, max_len=max(_LEAST, limits[position] * 3 // 4)))


def excess(program: Program, caps: Caps, metadata: Metadata) -> list[str]:
    """Which caps a program breaks, each as what it has and what it may have; empty within all."""
    nodes = [node for line in program.instructions for node in descendants(line)]
    terms = max((len(n.terms) for n in nodes if isinstance(n, syn.Sum)), default=0)
    joined = max((_joined(n) for n in nodes if isinstance(n, syn.Cat)), default=0)
    found = (
        (len(program.instructions), caps.max_lines, "lines"),
        (unrolled_steps(program), caps.max_steps, "steps when its loops are unrolled"),
        (sum(isinstance(n, syn.Story) for n in nodes), caps.max_stories, "stories"),
        (terms, caps.max_terms, "terms in one sum"),
        (joined, caps.max_joined, "registers joined in one text"),
        (
            move_tokens(program, metadata),
            caps.max_move_tokens,
            "tokens of moves by the main player",
        ),
    )
    return [
        f"{count} {what}, at most {most} are allowed" for count, most, what in found if count > most
    ]


def _joined(node: syn.StringExpr) -> int:
    """Registers in a concatenation; the literals of a statement do not count."""
    return sum(isinstance(part, syn.Register) for part in descendants(node))
