"""What every sampler asks of a child before it proposes it."""

from __future__ import annotations

from meta_sampler.budget import Caps, excess
from meta_sampler.sense import objections
from xgl import Game, ProgramError, analyse, game, parse
from xgl.syntax import Program


def complaint(program: Program, parent: Game, caps: Caps) -> str:
    """Why a child is not worth a trial, in a phrase: it breaks a cap, can teach nothing, or is
    sillier than its parent. Empty for a sound one."""
    if not program.instructions or excess(program, caps, parent.metadata):
        return "beyond the caps"
    report = analyse(program)
    if report.degenerate:
        return report.degenerate
    if report.read_before_set:
        return f"{report.read_before_set[0]} is read before it is set"
    sillier = objections(program) - objections(parent.program)
    if sillier:
        return min(sillier)
    return "" if _reads_back(program) else "its canonical text means something else"


def _reads_back(program: Program) -> bool:
    """Whether the canonical text is valid and means the same tree."""
    new = game(program)
    try:
        return parse(new.code, program.dialect) == new.program
    except ProgramError:
        return False
