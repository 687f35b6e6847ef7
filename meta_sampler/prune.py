"""Without what nothing reads: a deletion takes with it what only the deleted line used."""

from __future__ import annotations

from dataclasses import replace

from meta_sampler.bench import Lines
from xgl import syntax as syn
from xgl.walk import reads, writes

PRUNE = "prune"


def unread(lines: Lines) -> frozenset[str]:
    """Registers that some line writes and none reads."""
    return frozenset(
        {name for line in lines for name in writes(line)}
        - {name for line in lines for name in reads(line)}
    )


def prune(lines: Lines, kept: frozenset[str]) -> Lines:
    """``lines`` without values computed for nobody, those of the registers ``kept`` apart.

    Moves stay, whoever asks for one that is not read. So do stories: among the texts that a move
    is paid for, one that it is not paid for makes another game.
    """
    while dead := unread(lines) - kept:
        shorter = tuple(
            line
            for line in (_without(line, dead) for line in lines)
            if not (isinstance(line, syn.Assign) and not line.targets)
        )
        if shorter == lines:
            break
        lines = shorter
    return lines


def _without(line: syn.Instruction, dead: frozenset[str]) -> syn.Instruction:
    if not isinstance(line, syn.Assign):
        return line
    alive = tuple((n, v) for n, v in line.targets if n not in dead or isinstance(v, syn.Story))
    return replace(line, targets=alive)
