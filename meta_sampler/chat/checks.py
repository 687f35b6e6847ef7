"""From a text to a game, or to all that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meta_sampler.chat.prompt import admitted_players, has_loops, has_truths
from meta_sampler.mutate.program_editor import named_players
from meta_sampler.screening.caps import FIT, fit
from meta_sampler.screening.soundness import faults
from meta_sampler.settings import ChatSamplerSettings
from xgl import Game, ProgramError, game, parse
from xgl.errors import first_messages
from xgl.language import syntax as syn


@dataclass(frozen=True, slots=True)
class Checked:
    """``text`` is canonical where it is a program; ``game`` is None where there are errors."""

    text: str
    game: Game | None
    errors: tuple[str, ...]
    fate: str = ""
    repairs: tuple[str, ...] = ()


def checked(text: str, parent: Game, settings: ChatSamplerSettings) -> Checked:
    """A child of ``parent``, of its dialect and metadata; limits and loops are cut to the caps."""
    try:
        program = parse(text, parent.dialect)
    except ProgramError as error:
        return Checked(text, None, tuple(error.messages()), "invalid")
    fitted = fit(program, settings, parent.metadata)
    new = game(fitted, parent.metadata)
    errors = [*_foreign(fitted, parent, settings), *faults(fitted, parent, settings)]
    if errors:
        return Checked(text, None, tuple(first_messages(errors)), "unsound")
    return Checked(new.code, new, (), repairs=(FIT,) if fitted != program else ())


def _foreign(program: syn.Program, parent: Game, settings: ChatSamplerSettings) -> Iterator[str]:
    """What the settings do not admit, and the parent does not have either."""
    players = admitted_players(parent, settings)
    for name in sorted(named_players(program.instructions) - set(players)):
        yield f"the player {name}, expected some of {', '.join(players)}"
    if has_truths(program) and not (settings.truths or has_truths(parent.program)):
        yield "a statement for the judge to read, expected comparisons or functions as conditions"
    if has_loops(program) and not (settings.loops or has_loops(parent.program)):
        yield "a loop, expected none"
    main = syn.MAIN_PLAYER
    if not any(isinstance(i, syn.Elicit) and i.player == main for i in program.instructions):
        yield f"no move of {main}, expected at least one"
    coupled = {main} if main not in ("black", "white") else {"black", "white"}
    if not any(isinstance(i, syn.Reward) and i.player in coupled for i in program.instructions):
        yield f"no reward for {main}, expected at least one"
