"""One spelling for every line of a program; comments and single blank lines stay."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

from xgl.language.parser import parse
from xgl.language.unparse import instruction_text


def formatted(text: str, dialect: str) -> str:
    """The text of a valid program as ``xgl.language.unparse`` spells it; ends in a newline."""
    lines = [_line(line.strip(), dialect) for line in text.split("\n")]
    return "\n".join(_folded(lines)) + "\n"


def _line(source: str, dialect: str) -> str:
    if not source or source.startswith("#"):
        return source
    (instruction,) = parse(source, dialect).instructions  # every line is valid on its own
    comment = _comment(source)
    return instruction_text(instruction) + (f"  {comment}" if comment else "")


def _comment(source: str) -> str:
    """The comment behind an instruction, from its # on; empty when there is none."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return next((token.string for token in tokens if token.type == tokenize.COMMENT), "").rstrip()


def _folded(lines: list[str]) -> Iterator[str]:
    """No blank line at either end, nor two in a row."""
    pending = False
    begun = False
    for line in lines:
        if not line:
            pending = begun
            continue
        if pending:
            yield ""
        yield line
        pending, begun = False, True
