"""Without what nothing reads: a deletion takes with it what only the deleted line used."""

from __future__ import annotations

from dataclasses import replace

from meta_sampler.mutate.program_editor import Lines
from xgl.language import syntax as syn
from xgl.language.visitors import reads, writes

PRUNE = "prune"


def unread(lines: Lines) -> frozenset[str]:
    """Registers that some line writes and none reads."""
    return frozenset(
        {name for line in lines for name in writes(line)}
        - {name for line in lines for name in reads(line)}
    )


def prune(lines: Lines, kept: frozenset[str]) -> Lines:
    """``lines`` without values computed for nobody, those of the registers ``kept`` apart.

    Moves stay, whoever asks for one that is not read. So do stories that a move may be meant to
    leave alone, those drawn before the last move.
    """
    while dead := unread(lines) - kept:
        last = max((i for i, line in enumerate(lines) if isinstance(line, syn.Elicit)), default=-1)
        shorter = tuple(
            line
            for line in (_without(line, dead, i < last) for i, line in enumerate(lines))
            if not (isinstance(line, syn.Assign) and not line.targets)
        )
        if shorter == lines:
            break
        lines = shorter
    return lines


def _without(line: syn.Instruction, dead: frozenset[str], in_view: bool) -> syn.Instruction:
    if not isinstance(line, syn.Assign):
        return line
    alive = tuple(
        (name, value)
        for name, value in line.targets
        if name not in dead or (in_view and isinstance(value, syn.Story))
    )
    return replace(line, targets=alive)
