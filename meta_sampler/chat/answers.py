"""Programs in a model's answer: in fences, lists, JSON, or prose in any language.

Every text that looks like a program is a :class:`ProgramText`. One pass over the lines finds all of
them, in time proportional to the answer's length. :func:`candidate` reports what is wrong with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from xgl.chat.answers import final_text, json_values
from xgl.escaping import well_formed

LONGEST_INTENT = 240
MAX_ANSWER = 200_000
"""Characters of an answer that are read."""

_BULLET = re.compile(r"\s*(?:[-*•>]\s+|\d{1,3}\s*[.)、:]\s*)+")
_CALL = re.compile(r"(?:assign|elicit|ensure|reward|reveal|beacon|replay)\s*\(", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:[-*>][ \t]+)*(?:```|~~~)(.*)$", re.MULTILINE)
_DATA = re.compile(r"\s*(?:ya?ml|toml|markdown|md)\b", re.IGNORECASE)
"""The mark of a block in which programs stand among other lines."""
_QUOTED = re.compile(r"""("|')(?:\\.|(?!\1)[^\\])*\1""")
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


def programs_in(answer: str) -> list[ProgramText]:
    """All programs of an answer, in order, without those of its thoughts."""
    text = final_text(answer)[:MAX_ANSWER]
    programs: list[ProgramText] = []
    place = 0
    for value, start, end in json_values(text):
        with suppress(RecursionError):  # what could be read may yet be too deep to walk through
            if found := list(_of_value(value)):
                programs += [*_of_text(text[place:start]), *found]
                place = end
    return [*programs, *_of_text(text[place:])]


def _of_value(value: Any, intent: str = "") -> Iterator[ProgramText]:
    """Programs of a value of JSON: texts, lists of their lines, and objects that hold one beside
    its intent, or several by intent or name; at any depth."""
    if text := _program_of(value):
        yield ProgramText(text, one_line(intent), text)
    elif isinstance(value, dict):
        notes = [item for item in value.values() if isinstance(item, str) and not _program_of(item)]
        several = sum(bool(_program_of(item)) for item in value.values()) > 1
        for key, item in value.items():
            yield from _of_value(item, str(key) if several else notes[0] if notes else "")
    elif isinstance(value, list):
        for item in value:
            yield from _of_value(item)


def _program_of(value: Any) -> str:
    """A text that is a program, or a list of its lines; empty if it is neither."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "" if any("\n" in line for line in value) else "\n".join(value)
    if not isinstance(value, str):
        return ""
    if _is_call(value):
        return well_formed(value)
    fenced = value if "```" in value or "~~~" in value else ""
    return next((well_formed(program.text) for program in _of_text(fenced)), "")


def _of_text(text: str) -> Iterator[ProgramText]:
    """Runs of instructions among lines; a fence, a line of prose or another start ends a run.

    Within a fence that holds an instruction, every line counts as an instruction: other lines there
    are mistakes of the program, and are reported to the model. An instruction goes on until its
    parentheses are closed.
    """
    intent, program, raw = "", list[list[str]](), list[str]()
    depth, is_apart, pays = 0, False, False
    for inside, line in (*_fenced_lines(text), (None, "")):
        bare = _bare(line)
        is_call, is_note = _is_call(line), not bare or bare.startswith("#")
        goes_on = depth > 0 and not is_call
        begins = is_apart and bare.startswith("assign") and pays
        is_other = not (is_call or goes_on or inside or is_note)
        if program and (inside is None or begins or is_other):
            yield ProgramText("\n".join(map(" ".join, program)), intent, "\n".join(raw).strip())
            intent, program, raw, pays = "", [], [], False
        raw.append(line)
        if goes_on and inside is not None:
            program[-1].append(bare)
        elif is_call or (inside and not is_note):
            program.append([bare])
            depth, pays = 0, pays or bare.startswith("reward")
        else:
            intent = intent if program else one_line(line) or intent
            depth, is_apart = 0, is_apart or not bare
            continue
        depth, is_apart = depth + _nesting(bare), False


def _fenced_lines(text: str) -> Iterator[tuple[bool | None, str]]:
    """Each line and whether it is inside a fence that holds an instruction; None for a fence."""
    pieces = _FENCE.split(text)
    for place, piece in enumerate(pieces[::2]):
        lines, mark = piece.splitlines(), pieces[2 * place - 1] if place else ""
        inside = place % 2 == 1 and not _DATA.match(mark) and any(map(_is_call, lines))
        if place:
            yield None, ""
        yield from ((inside, line) for line in lines)


def _bare(line: str) -> str:
    """A line without its bullet or number, quotes of code and a semicolon."""
    bullet = _BULLET.match(line)
    return line[bullet.end() if bullet else 0 :].strip().strip("`").rstrip("; ").strip()


def _is_call(line: str) -> bool:
    return bool(_CALL.match(_bare(line[:80])))


def _nesting(line: str) -> int:
    """Parentheses that a line opens and does not close, outside quotes; 0 for an open quote."""
    plain = _QUOTED.sub("", line)
    opened, closed = (sum(map(plain.count, marks)) for marks in ("([", ")]"))
    return 0 if '"' in plain or "'" in plain else opened - closed


def one_line(text: str) -> str:
    """Prose as an intent: one printable line without marks of lists, short."""
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_INTENT])
    bullet = _BULLET.match(plain := " ".join(text.replace("**", "").split()))
    plain = plain[bullet.end() if bullet else 0 :]
    marks = _MARKS.match(plain)
    return plain[marks.end() if marks else 0 :].strip("*_` ")[:LONGEST_INTENT]
