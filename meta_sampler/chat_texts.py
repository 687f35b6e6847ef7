"""What a chat model reads for one parent (the system prompt, examples, the parent, its relatives),
and the programs in what it writes: in fences, lists, JSON, or prose in any language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from json import JSONDecoder
from pathlib import Path
from string import Template
from typing import NamedTuple

from meta_sampler.base import Outcome
from meta_sampler.settings import ChatSamplerSettings
from meta_sampler.soundness import admitted_players, foreign
from meta_sampler.symbolic import normal_form
from xgl.analysis.static_facts import analyse, learning_roles
from xgl.chat.answers import final_text
from xgl.chat.client import Message
from xgl.errors import ProgramError, excerpt
from xgl.escaping import printable, well_formed
from xgl.files import read_json
from xgl.language import syntax as syn
from xgl.language.canonical import Game, game
from xgl.language.dialects import DIALECTS
from xgl.language.parser import parse
from xgl.library import entries

SYSTEM = Path(__file__).parent / "prompt_texts" / "system.md"
"""What a program is; a test compares its names and examples with the language itself."""
LOOPS = ("  beacon", "  replay", "  flag")
"""How its lines about loops begin."""


def system_prompt(
    dialect: str, settings: ChatSamplerSettings, players: Iterable[str], main: str = syn.MAIN_PLAYER
) -> str:
    """The system message: what a program is, in the dialect, within the caps, for ``players``."""
    rules, conditions = DIALECTS[dialect], ""
    if rules.python_conditions:
        conditions += ' | text ("==" | "!=" | "in" | "not in") text'
        conditions += ' | condition ("and" | "or") condition | "not " condition'
    if settings.truths:
        conditions += " | text, read by the judge as a statement"
    with_arguments = ' | "story(" number ")" | "story(" quoted ")"'
    lines = SYSTEM.read_text("utf-8").strip().splitlines()
    template = [line for line in lines if settings.loops or not line.startswith(LOOPS)]
    return Template("\n".join(template)).substitute(
        vars(settings),
        loops=" | beacon | replay" if settings.loops else "",
        prefix=' | text "|" text' if rules.stored_prefix else "",
        stories=with_arguments if rules.story_arguments else "",
        conditions=conditions,
        players=" | ".join(players),
        joining="with a space between them" if rules.cat_space else "with nothing between them",
        order="before it stores any" if rules.parallel_assign else "one after another",
        main=main,
    )


WAYS_TITLE = "Ways for a game to be related to the parent; use several of them:"
WAYS = {
    "a variation": "what is scored, after what, or the sign of a term is changed",
    "a composition": "two games are played one after the other, on the same stories or their own",
    "a new constraint": "an ensure makes the obvious move impossible",
    "another player": "somebody else moves, helps or competes, and is paid for it",
    "hidden information": "a player must act without seeing a text that another one sees",
    "a loop": "moves are made several times, each after the scores of the last",
}
"""Ways to be related, in a phrase; the prompt names those that the settings allow."""

ANSWER_FORM = (
    "Answer with {n} games, each different from all games above and from each other in what it "
    "asks for, and with nothing else. Write each as the examples are written: its number and one "
    "line that says what the game is after, then the program between ``` and ```."
)
"""The form of answers is described, not shown: small models copy what they are shown."""

MAX_PROGRAM = 8_000
"""Characters of one program in a request."""


class Brief(NamedTuple):
    """The games that one request shows, and how many it asks for."""

    parent: Game
    accepted_games: Sequence[Game]
    refusals: Sequence[Outcome]
    games: int
    role: str = syn.MAIN_PLAYER


def messages(brief: Brief, settings: ChatSamplerSettings) -> list[Message]:
    """The request for games."""
    examples, parts = _examples(brief, settings), list[str]()
    if examples:
        parts += ["Examples of games:", *examples]
    parts += ["The parent, to which your games are to be related:", fence(brief.parent.code)]
    if brief.accepted_games:
        parts.append("Accepted before, and therefore known:")
        parts += [fence(relative.code) for relative in brief.accepted_games]
    if brief.refusals:
        parts.append("Not accepted before, each with the reason:")
        parts += [f"{fence(r.code)}\nWhy: {excerpt(r.explanation)}" for r in brief.refusals]
    players = admitted_players(brief.parent, settings.players)
    others = len(players) > 1
    needs = {"another player": others, "hidden information": others, "a loop": settings.loops}
    ways = [f"- {way}: {phrase}" for way, phrase in WAYS.items() if needs.get(way, True)]
    parts += ["\n".join([WAYS_TITLE, *ways]), ANSWER_FORM.format(n=brief.games)]
    system = system_prompt(brief.parent.dialect, settings, players, brief.role)
    return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(parts)}]


def fence(code: str) -> str:
    """A program between fences, cut if it is too long; fences inside its texts are broken up."""
    return "```\n" + excerpt(code.replace("```", "` ` `"), MAX_PROGRAM) + "\n```"


def _examples(brief: Brief, settings: ChatSamplerSettings) -> list[str]:
    """Games of the library that could be children, spread over it, each with its sentence."""
    parent, players = brief.parent, admitted_players(brief.parent, settings.players)
    fitting = [
        f"{sentence}\n{fence(game(program).code)}"
        for sentence, program in _library(parent.dialect)
        if not any(foreign(program, players, settings.truths, settings.loops))
        and brief.role in learning_roles(program)
        and normal_form(program) != normal_form(parent.program)
    ]
    count = min(settings.library_games, len(fitting))
    return [fitting[place * len(fitting) // count] for place in range(count)]


@cache
def _library(dialect: str) -> tuple[tuple[str, syn.Program], ...]:
    """Games of the library that this dialect can express, the dialect's own first."""
    examples, known_forms = [], set()
    for entry in sorted(entries(), key=lambda entry: entry.dialect != dialect):
        try:
            program = parse(entry.text, dialect)
        except ProgramError:
            continue
        useless = entry.ill_posed or not learning_roles(program) or analyse(program).read_before_set
        if useless or normal_form(program) in known_forms:
            continue
        known_forms.add(normal_form(program))
        examples.append((f"{entry.title}: {entry.description}", program))
    return tuple(examples)


# -- programs in an answer -------------------------------------------------------------------------
# One pass over the lines, in time proportional to the answer's length.

LONGEST_INTENT = 240
MAX_ANSWER = 200_000
"""Characters of an answer that are read."""

_BULLET = re.compile(r"^\s*(?:[-*•>]\s+|\d{1,3}\s*[.)、:]\s*)+")
_CALL = re.compile(r"(?:assign|elicit|ensure|reward|reveal|beacon|replay)\s*\(", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:[-*>][ \t]+)*(?:```|~~~).*$", re.MULTILINE)
_OPENING = re.compile(r"""^[ \t]*[\[{"]""", re.MULTILINE)
_QUOTED = re.compile(r"""("|')(?:\\.|(?!\1)[^\\])*+(\1?)|#.*""")
"""A quoted text, closed or not, or a comment."""
_MARKS = re.compile(
    r"^[#*_`>\s]*(?:(?:game|program|title|intent|name|idea)\s*\d*\s*[:.)-]\s*)?", re.I
)


class ProgramText(NamedTuple):
    """A text in an answer that looks like a program."""

    text: str
    intent: str
    """The aim of the game in the model's words, one line."""
    raw: str
    """The part of the answer that contains it."""


def programs_in(answer: str) -> list[ProgramText]:
    """All programs of an answer, in order, without those of its thoughts: runs of instructions
    among lines; a fence, a line of prose or another start ends a run.

    Within a fence that holds an instruction, every line counts as an instruction: other lines there
    are mistakes of the program. An instruction goes on until its parentheses are closed.
    """
    text = well_formed(final_text(answer)[:MAX_ANSWER]).replace("\ufeff", "")  # a mark of UTF-8
    programs, intent, program, raw = list[ProgramText](), "", list[list[str]](), list[str]()
    depth, is_apart, pays, mark = 0, False, False, ""
    for inside, line in (*_fenced_lines(text), (None, "")):
        is_call = _is_call(line)
        goes_on = depth > 0 and not is_call
        # A line that goes on may begin with a sign, which looks like a bullet.
        bare = _bare(re.sub(mark if goes_on else _BULLET, "", line))
        begins = is_apart and bare.startswith("assign") and pays
        is_other = not (is_call or goes_on or inside or not bare)
        if program and (inside is None or begins or is_other):
            lines, whole = "\n".join(map(" ".join, program)), "\n".join(raw).strip()
            programs.append(ProgramText(lines, intent, whole))
            intent, program, raw, pays = "", [], [], False
        raw.append(line)
        if goes_on and inside is not None:
            program[-1].append(bare)
        elif is_call or (inside and bare):
            program.append([bare])
            depth, pays = 0, pays or bare.startswith("reward")
            mark = _mark_like(line)
        else:
            intent = intent if program else one_line(line) or intent
            depth, is_apart = 0, is_apart or not line.strip()
            continue
        depth, is_apart = depth + _nesting(bare), False
    return programs


def _fenced_lines(text: str) -> Iterator[tuple[bool | None, str]]:
    """Each line and whether it is inside a fence that holds an instruction; None for a fence."""
    for place, piece in enumerate(_FENCE.split(text)):
        lines = (plain := _without_json(piece)).splitlines()
        inside = place % 2 == 1 and plain == piece and any(map(_is_call, lines))
        if place:
            yield None, ""
        yield from ((inside, line) for line in lines)


def _without_json(text: str) -> str:
    """The text with each JSON value that begins a line and holds an instruction as its strings."""
    parts, done, tried = list[str](), 0, 0
    for opening in _OPENING.finditer(text):
        if (start := opening.end() - 1) < tried:
            continue
        try:
            _, tried = JSONDecoder().raw_decode(text, start)
            strings = "\n".join(_strings(read_json(text[start:tried])))
        except (ValueError, RecursionError) as error:  # the latter has no place
            tried, strings = getattr(error, "pos", len(text)), ""
        if any(map(_is_call, strings.splitlines())):
            plain = _FENCE.sub("", well_formed(strings))  # of escapes, too
            parts += text[done:start], plain, "\n"
            done = tried
    return "".join((*parts, text[done:]))


def _strings(value: object) -> Iterator[str]:
    """The texts in a JSON value, of an object those with an instruction last: intents go before."""
    if isinstance(value, str):
        yield f"\n{value}\n" if "\n" in value else value
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_strings, value))
    elif isinstance(value, dict):
        yield from _strings(sorted(value.values(), key=lambda each: bool(_CALL.search(str(each)))))


def _mark_like(line: str) -> str:
    """A pattern of the mark before a call, for the lines that go on: as many signs of a quote,
    which all its lines have, then perhaps a bullet at the same place, or another number."""
    mark = match[0].rstrip() if (match := _BULLET.match(line[:80])) else ""
    bullet = mark[mark.rfind(">") + 1 :]
    sign = re.sub(r"\d+", r"\\d{1,3}", re.escape(bullet.lstrip()))
    indent = r"\s*" if r"\d" in sign else re.escape(bullet.removesuffix(bullet.lstrip()))
    quoted = r"\s*>" * mark.count(">")
    return rf"\A{quoted}({indent}{sign}(?=\s+\S))?"


def _bare(line: str) -> str:
    """A line without quotes of code, a semicolon and a comment."""
    code = _QUOTED.sub(lambda part: part[0] if part[1] else "", line)
    return code.strip().strip("`").rstrip("; ").strip()


def _is_call(line: str) -> bool:
    return bool(_CALL.match(_BULLET.sub("", line[:80]).strip().lstrip("` ")))


def _nesting(line: str) -> int:
    """Parentheses that a line opens and does not close, outside quotes; 0 for an open quote."""
    plain = _QUOTED.sub(lambda part: "" if part[2] else part[1] or "", line)
    opened, closed = (sum(map(plain.count, marks)) for marks in ("([", ")]"))
    return 0 if '"' in plain or "'" in plain else opened - closed


def one_line(text: str) -> str:
    """Prose as an intent: one printable line without marks of lists, short."""
    text = printable(text[: 4 * LONGEST_INTENT])
    plain = _BULLET.sub("", " ".join(text.replace("**", "").split()))
    return _MARKS.sub("", plain).strip("*_` ")[:LONGEST_INTENT]
