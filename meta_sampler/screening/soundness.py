"""What every sampler asks of a child before it proposes it."""

from __future__ import annotations

from meta_sampler.screening.caps import excess
from meta_sampler.screening.lint import objections
from meta_sampler.settings import Caps
from xgl import Game, ProgramError, analyse, game, parse
from xgl.language.syntax import Program


def complaint(program: Program, parent: Game, caps: Caps) -> str:
    """Why a child is not worth a trial, in a phrase: it breaks a cap, can teach nothing, or is
    sillier than its parent. Empty for a sound one."""
    return next(iter(complaints(program, parent, caps)), "")


def complaints(program: Program, parent: Game, caps: Caps) -> list[str]:
    """All that is wrong with a child, the same phrases in the same order."""
    if not program.instructions:
        return ["no instruction"]
    if beyond := excess(program, caps, parent.metadata):
        return beyond
    report = analyse(program)
    found = [report.degenerate] if report.degenerate else []
    found += [f"{name} is read before it is set" for name in report.read_before_set]
    found += sorted(objections(program) - objections(parent.program))
    if not found and not _reads_back(program):
        found.append("its canonical text means something else")
    return found


def _reads_back(program: Program) -> bool:
    """Whether the canonical text is valid and means the same tree."""
    new = game(program)
    try:
        return parse(new.code, program.dialect) == new.program
    except ProgramError:
        return False
