"""What the model reads for one parent: the lesson, examples, the parent and its relatives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from meta_sampler.chat.lesson import lesson
from meta_sampler.mutate.program_editor import named_players
from meta_sampler.screening.normal_form import normal_form
from meta_sampler.settings import ChatSamplerSettings
from xgl import Game, ProgramError, analyse, game, parse
from xgl.chat.client import Message
from xgl.errors import MAX_MESSAGE, FlowError, excerpt
from xgl.language import syntax as syn
from xgl.language.visitors import descendants
from xgl.library import entries

KINDS = {
    "a variation": "what is scored, after what, or the sign of a term is changed",
    "a composition": "two games are played one after the other, on the same stories or their own",
    "a new constraint": "an ensure makes the obvious move impossible",
    "another player": "somebody else moves, helps or competes, and is paid for it",
    "hidden information": "a player must act without seeing a text that another one sees",
    "a loop": "moves are made several times, each after the scores of the last",
}
"""Ways to be related, in a phrase; each is asked for where the settings allow it."""

FORM = (
    "Answer with {n} games, each different from all games above and from each other in what it "
    "asks for, and with nothing else. Write each as the examples are written: its number and one "
    "line that says what the game is after, then the program between ``` and ```."
)
"""How answers are to look: said, not shown, since small models copy what they are shown."""

TURN = "Write a game that is related to the last one."
LAST = "Write a game that is related to the parent, and another than those above."
"""What a model is asked that is shown examples as its own earlier answers. Small models go on as a
conversation went; a list of wishes they repeat."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A game that was not accepted, and why."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Brief:
    """What one request is made from."""

    parent: Game
    accepted: tuple[Game, ...]
    refused: tuple[Refused, ...]
    games: int

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of the games that children are made from, the parent first."""
        return (self.parent.game_id, *(each.game_id for each in self.accepted))


def messages(brief: Brief, settings: ChatSamplerSettings, library: int) -> list[Message]:
    """The conversation that asks for games; ``library`` examples at most."""
    players = admitted_players(brief.parent, settings)
    system: Message = {
        "role": "system",
        "content": lesson(brief.parent.dialect, settings, players),
    }
    examples = _examples(brief, settings, library)
    if settings.turns:
        earlier = [turn for example in examples for turn in _turn(TURN, example)]
        return [system, *earlier, {"role": "user", "content": _joined(*_family(brief), LAST)}]
    shown = ["Examples of games:", *examples] if examples else []
    form = FORM.format(n=brief.games)
    asked = _joined(*shown, *_family(brief), _kinds(brief, settings), form)
    return [system, {"role": "user", "content": asked}]


def again(
    brief: Brief, settings: ChatSamplerSettings, text: str, errors: Sequence[str]
) -> list[Message]:
    """The conversation that gives one program back with all that is wrong with it."""
    players = admitted_players(brief.parent, settings)
    told = "\n".join(f"- {error}" for error in errors)
    asked = (
        f"You wrote this game, related to the game\n\n{fenced(brief.parent.code)}\n\n"
        f"{fenced(excerpt(text, MAX_MESSAGE))}\n\nIt cannot be used:\n{told}\n\n"
        "Answer with the mended program alone, between ``` and ```, and nothing else."
    )
    return [
        {"role": "system", "content": lesson(brief.parent.dialect, settings, players)},
        {"role": "user", "content": asked},
    ]


def prompt_hash(conversation: Sequence[Message]) -> str:
    """Of everything that the model reads."""
    return hashlib.sha256(json.dumps(list(conversation)).encode()).hexdigest()[:16]


def admitted_players(parent: Game, settings: ChatSamplerSettings) -> tuple[str, ...]:
    """Players that a child may name: those of the settings and of the parent."""
    own = named_players(parent.program.instructions)
    return tuple(p for p in syn.PLAYERS if p in own or p in settings.players)


def fenced(code: str) -> str:
    """A program on lines of its own; fences inside its texts are spelled apart."""
    return "```\n" + code.replace("```", "` ` `") + "\n```"


def has_truths(program: syn.Program) -> bool:
    """Whether a statement stands in it that a judge would have to read."""
    return any(isinstance(n, syn.Truth) for i in program.instructions for n in descendants(i))


def has_loops(program: syn.Program) -> bool:
    return any(isinstance(i, syn.Beacon | syn.Replay) for i in program.instructions)


def _examples(brief: Brief, settings: ChatSamplerSettings, most: int) -> list[str]:
    """Games of the library that could be children, spread over it, each with its sentence."""
    fitting = []
    for said, program in _library(brief.parent.dialect):
        players = {*admitted_players(brief.parent, settings)}
        foreign = named_players(program.instructions) - players
        wordy = has_truths(program) and not settings.truths
        looping = has_loops(program) and not settings.loops
        idle = syn.MAIN_PLAYER not in named_players(program.instructions)
        if not (foreign or wordy or looping or idle) and normal_form(program) != normal_form(
            brief.parent.program
        ):
            fitting.append(f"{said}\n{fenced(game(program).code)}")
    step = max(1, -(-len(fitting) // most)) if most else len(fitting) + 1
    chosen = fitting[::step][:most]
    return chosen


def _turn(asked: str, answered: str) -> list[Message]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _joined(*parts: str) -> str:
    return "\n\n".join(parts)


@cache
def _library(dialect: str) -> tuple[tuple[str, syn.Program], ...]:
    """What the library holds and this dialect can say, the dialect's own games first."""
    found, known = [], set()
    for entry in sorted(entries(), key=lambda each: each.dialect != dialect):
        try:
            program = parse(entry.text, dialect)
            report = analyse(program)
        except (ProgramError, FlowError):
            continue
        if (
            entry.refused
            or report.degenerate
            or report.read_before_set
            or normal_form(program) in known
        ):
            continue
        known.add(normal_form(program))
        found.append((f"{entry.title}: {entry.description}", program))
    return tuple(found)


def _family(brief: Brief) -> list[str]:
    parts = ["The parent, to which your games are to be related:", fenced(brief.parent.code)]
    if brief.accepted:
        parts.append("Accepted before, and therefore known:")
        parts += [fenced(each.code) for each in brief.accepted]
    if brief.refused:
        parts.append("Refused before, each with the reason:")
        parts += [f"{fenced(each.code)}\nWhy: {excerpt(each.reason)}" for each in brief.refused]
    return parts


def _kinds(brief: Brief, settings: ChatSamplerSettings) -> str:
    others = len(admitted_players(brief.parent, settings)) > 1
    needs = {"another player": others, "hidden information": others, "a loop": settings.loops}
    kinds = [f"- {kind}: {said}" for kind, said in KINDS.items() if needs.get(kind, True)]
    return "Ways for a game to be related to the parent; use several of them:\n" + "\n".join(kinds)
