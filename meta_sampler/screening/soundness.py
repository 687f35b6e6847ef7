"""What every sampler asks of a child before it proposes it: worth a trial, and new."""

from __future__ import annotations

from collections.abc import Sequence

from meta_sampler.screening.caps import excess
from meta_sampler.screening.lint import lint_warnings
from meta_sampler.screening.normal_form import normal_form
from meta_sampler.settings import Caps
from xgl import Game, ProgramError, analyse, game, parse
from xgl.language.syntax import Program


def faults(program: Program, parent: Game, caps: Caps) -> list[str]:
    """All that makes a child not worth a trial, a phrase each; empty for a sound one.

    It breaks a cap, can teach nothing, or has lint warnings that its parent has not.
    """
    if not program.instructions:
        return ["no instruction"]
    if beyond := excess(program, caps, parent.metadata):
        return beyond
    report = analyse(program)
    phrases = [report.degenerate] if report.degenerate else []
    phrases += [f"{name} is read before it is set" for name in report.read_before_set]
    phrases += sorted(map(str, lint_warnings(program) - lint_warnings(parent.program)))
    if not phrases and not _reads_back(program):
        phrases.append("its canonical text means something else")
    return phrases


def _reads_back(program: Program) -> bool:
    """Whether the canonical text is valid and means the same tree."""
    new = game(program)
    try:
        return parse(new.code, program.dialect) == new.program
    except ProgramError:
        return False


class KnownGames:
    """Games that a proposal must not repeat, in text or in normal form."""

    def __init__(self, games: Sequence[Game]) -> None:
        self._forms = {normal_form(each.program) for each in games}
        self._ids = {each.game_id for each in games}

    def add(self, other: Game) -> None:
        self._forms.add(normal_form(other.program))
        self._ids.add(other.game_id)

    def __contains__(self, other: Game) -> bool:
        return other.game_id in self._ids or normal_form(other.program) in self._forms
