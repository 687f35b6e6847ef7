"""Programs in a model's answer: in fences, lists, JSON, or prose in any language.

Every text that looks like a program is a :class:`ProgramText`. One pass over the lines finds all of
them, in time proportional to the answer's length. :func:`candidate` reports what is wrong with one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from meta_sampler.base import Fate
from meta_sampler.screening.soundness import (
    FIT,
    admitted_players,
    faults,
    fit,
    foreign,
    has_loops,
    has_truths,
)
from meta_sampler.settings import ChatSamplerSettings
from xgl.chat.answers import final_text, json_values
from xgl.errors import ProgramError, first_messages
from xgl.language import syntax as syn
from xgl.language.canonical import Game, game
from xgl.language.characters import well_formed
from xgl.language.parser import parse

LONGEST_INTENT = 240
MAX_ANSWER = 200_000
"""Characters of an answer that are read."""
_MOST_LINES = 8
"""Lines that one instruction may be spread over."""

_NAMES = "assign|elicit|ensure|reward|reveal|beacon|replay"
_BULLET = re.compile(r"\s*(?:[-*•>]\s+|\d{1,3}\s*[.)、:]\s*)+")
_CALL = re.compile(rf"[`\s]*(?:{_NAMES})\s*\(", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:[-*>]\s+)*(?:```|~~~)")
_DATA_FENCE = re.compile(rf"{_FENCE.pattern}\s*(?:ya?ml|toml|markdown|md)\b", re.IGNORECASE)
"""The start of a block in which programs stand among other lines."""
_MARKS = re.compile(
    r"[#*_`>\s]*(?:(?:game|program|title|intent|name|idea)\s*\d*\s*[:.)-]\s*)?", re.I
)


class ProgramText(NamedTuple):
    """A text in an answer that looks like a program."""

    text: str
    intent: str
    """The aim of the game in the model's words, one line."""
    raw: str
    """The part of the answer that contains it."""
    repairs: tuple[str, ...] = ()
    """What was removed around it."""


def programs_in(answer: str) -> list[ProgramText]:
    """All programs of an answer, in order, without those of its thoughts."""
    text = final_text(answer)[:MAX_ANSWER]
    programs: list[ProgramText] = []
    place = 0
    for value, start, end in json_values(text):
        with suppress(RecursionError):  # what could be read may yet be too deep to write
            if found := list(_of_value(value)):
                programs += [*_of_lines(text[place:start].splitlines()), *found]
                place = end
    return [*programs, *_of_lines(text[place:].splitlines())]


# -- JSON ------------------------------------------------------------------------------------------


def _of_value(value: Any, intent: str = "", whole: Any = None) -> Iterator[ProgramText]:
    """Programs of a value of JSON: texts, lists of their lines, and objects that hold one beside
    its intent, or several by intent or name; at any depth. ``whole``: the object that holds it."""
    if text := _program_of(value):
        raw = json.dumps(value if whole is None else whole, ensure_ascii=False)
        yield ProgramText(well_formed(text), one_line(intent), well_formed(raw), ("json",))
    elif isinstance(value, dict):
        notes = [item for item in value.values() if isinstance(item, str) and not _program_of(item)]
        several = sum(bool(_program_of(item)) for item in value.values()) > 1
        for key, item in value.items():
            yield from _of_value(item, str(key) if several else notes[0] if notes else "", value)
    elif isinstance(value, list):
        for item in value:
            yield from _of_value(item)


def _program_of(value: Any) -> str:
    """A text that is a program, or a list of its lines; empty if it is neither."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "" if any("\n" in line for line in value) else "\n".join(value)
    if not isinstance(value, str):
        return ""
    if _CALL.match(value):
        return value
    fenced = value.splitlines() if "```" in value or "~~~" in value else []
    return next((program.text for program in _of_lines(fenced)), "")


# -- lines -----------------------------------------------------------------------------------------


def _of_lines(lines: list[str]) -> Iterator[ProgramText]:
    """Runs of instructions; a fence, a line of prose or another start ends a run.

    Within a fence that holds an instruction, every line counts as an instruction: other lines there
    are mistakes of the program, and are reported to the model.
    """
    pieces = [_Piece()]
    for inside, line in _fences(lines):
        bare, piece = _strip_bullet(line), pieces[-1]
        blank, is_note, is_call = not line.strip(), line.lstrip().startswith("#"), _CALL.match(bare)
        if piece.program and (inside is None or piece.is_over(bare)):
            pieces.append(piece := _Piece())
        if is_call:
            piece.close()
        if inside is None:
            piece.take(line, "fence")
        elif piece.open or is_call or (inside and not blank and not is_note):
            piece.add_instruction(line)
        elif blank or inside:
            piece.add_note(line)
        else:
            if piece.program:
                pieces.append(piece := _Piece())
            piece.add_prose(line)
    for piece in pieces:
        if piece.program:
            yield piece.program_text()


def _fences(lines: list[str]) -> Iterator[tuple[bool | None, str]]:
    """Each line and whether it is inside a fence that holds an instruction; None: is a fence."""
    marks = [index for index, line in enumerate(lines) if _FENCE.match(line)]
    ends = [*marks, len(lines)]
    inside: bool | None = False
    for index, line in enumerate(lines):
        if ends[0] == index:
            ends.pop(0)
            opens = (len(marks) - len(ends) + 1) % 2 == 1 and not _DATA_FENCE.match(line)
            body = lines[index + 1 : ends[0]] if opens else ()
            inside = any(_CALL.match(_strip_bullet(other)) for other in body)
            yield None, line
        else:
            yield inside, line


def _strip_bullet(line: str) -> str:
    """A line without its bullet or number."""
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


class _Piece:
    """One program while it is read, with the prose before it."""

    def __init__(self) -> None:
        self.program: list[str] = []
        self.raw: list[str] = []
        self.intent = ""
        self.repairs: dict[str, None] = {}
        self.depth = self.line_count = 0
        self.pays = False
        """Whether a reward is among the instructions."""
        self.apart = False
        """Whether a blank line stood after the last instruction."""

    @property
    def open(self) -> bool:
        """Whether the last instruction continues in the next line."""
        return self.depth > 0 and 0 < self.line_count < _MOST_LINES

    def close(self) -> None:
        """End the last instruction: another one begins."""
        self.depth = 0

    def is_over(self, line: str) -> bool:
        """Whether a line begins another program: this one has a reward, and a blank line is between
        them."""
        return self.apart and self.pays and line.lstrip("` ").startswith("assign")

    def take(self, line: str, repair: str) -> None:
        self.raw.append(line)
        if repair:
            self.repairs[repair] = None

    def add_prose(self, line: str) -> None:
        self.take(line, "")
        if intent := one_line(line):
            self.intent = intent

    def add_note(self, line: str) -> None:
        """A comment or a blank line; a comment before a program may state its aim."""
        self.take(line, "comment" if line.strip() else "")
        self.apart = self.apart or not line.strip()
        self.intent = self.intent or one_line(line)

    def add_instruction(self, line: str) -> None:
        bare = _strip_bullet(line)
        self.apart = False
        self.take(line, "numbering" if bare != line and not self.open else "")
        code = bare.strip().strip("`").strip()
        if code.endswith(";"):
            code = code.rstrip("; ")
            self.repairs["semicolon"] = None
        if self.open:
            self.program[-1] += f" {code}"
            self.line_count += 1
            self.repairs["joined lines"] = None
        else:
            self.program.append(code)
            self.pays = self.pays or code.startswith("reward")
            self.depth, self.line_count = 0, 1
        self.depth += _nesting(code)

    def program_text(self) -> ProgramText:
        text = "\n".join(self.program)
        return ProgramText(text, self.intent, "\n".join(self.raw).strip("\n"), tuple(self.repairs))


def _nesting(line: str) -> int:
    """Parentheses that a line opens and does not close, outside quotes."""
    depth, quote, after_backslash = 0, "", False
    for character in line:
        if after_backslash:
            after_backslash = False
        elif quote:
            after_backslash = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
    return 0 if quote else depth


def one_line(text: str) -> str:
    """Prose as an intent: one printable line without marks of lists, short."""
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_INTENT])
    plain = _strip_bullet(" ".join(text.replace("**", "").split()))
    marks = _MARKS.match(plain)
    return plain[marks.end() if marks else 0 :].strip("*_` ")[:LONGEST_INTENT]


class ReadProgram(NamedTuple):
    """``text`` is canonical if it is a program; ``game`` is None if there are errors."""

    text: str
    game: Game | None
    errors: tuple[str, ...]
    fate: Fate = Fate.INVALID
    repairs: tuple[str, ...] = ()


def candidate(
    text: str, parent: Game, settings: ChatSamplerSettings, role: str = syn.MAIN_PLAYER
) -> ReadProgram:
    """A child of ``parent`` played in ``role``, of its dialect and metadata; limits and loops are
    cut to the caps."""
    try:
        program = parse(text, parent.dialect)
    except ProgramError as error:
        return ReadProgram(text, None, tuple(error.messages()), Fate.INVALID)
    child = fit(program, settings, parent)
    new = game(child, parent.metadata)
    errors = [*_foreign(child, parent, settings, role), *faults(child, parent, settings, role)]
    if errors:
        return ReadProgram(text, None, tuple(first_messages(errors)), Fate.UNSOUND)
    return ReadProgram(new.code, new, (), repairs=(FIT,) if child != program else ())


def _foreign(
    program: syn.Program, parent: Game, settings: ChatSamplerSettings, main: str
) -> Iterator[str]:
    """Contents that the settings do not allow and that the parent does not have."""
    players = admitted_players(parent, settings.players)
    truths = settings.truths or has_truths(parent.program)
    yield from foreign(program, players, truths, settings.loops or has_loops(parent.program))
    if not any(isinstance(i, syn.Elicit) and i.player == main for i in program.instructions):
        yield f"no move of {main}, expected at least one"
    earners = {main, syn.PARTNERS.get(main, main)}
    if not any(isinstance(i, syn.Reward) and i.player in earners for i in program.instructions):
        yield f"no reward for {main}, expected at least one"
