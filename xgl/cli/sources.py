"""Where a command's program comes from: a file, the library, standard input."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from xgl import library
from xgl.errors import ProgramError, XGLError
from xgl.language.dialects import BY_SUFFIX, PAPER
from xgl.language.parser import parse, parse_line
from xgl.language.syntax import Program


class SourceError(XGLError):
    """A game that cannot be read."""


@dataclass(frozen=True, slots=True)
class Source:
    """A program's text; ``path`` is None for standard input."""

    origin: str
    title: str
    text: str
    dialect: str
    path: Path | None = None

    def program(self) -> Program:
        """Raises :class:`~xgl.errors.ProgramError` with all that is wrong with the text."""
        return parse(self.text, self.dialect, self.origin)


def drawable(source: Source) -> Program:
    """The program, even one that is refused for its length alone: it can be drawn, not played.

    Raises :class:`~xgl.errors.ProgramError`.
    """
    try:
        return source.program()
    except ProgramError as error:
        if any("steps" not in problem.found for problem in error.problems):
            raise
    lines = (
        parse_line(line, number, source.dialect)
        for number, line in enumerate(source.text.split("\n"), 1)
    )
    return Program(tuple(line for line in lines if line is not None), source.dialect)


def read(game: str, dialect: str | None) -> Source:
    """The program that ``game`` names; a file goes before a library game of the same name.

    Raises :class:`SourceError` for a file that is missing or no UTF-8 text, and
    :class:`~xgl.library.NotInLibrary` for a name that is neither.
    """
    if game == "-":
        text = _decoded(sys.stdin.buffer.read(), "standard input")
        return Source("standard input", "", text, dialect or PAPER.name)
    path = Path(game)
    if game and path.exists() and not path.is_dir():  # also a pipe, as of `<(…)`
        return _file(path, path.stem, dialect)
    if game and path.is_dir():
        raise SourceError(f"{game}: a folder; expected a .xgl or .xent file")
    if path.suffix in BY_SUFFIX or len(path.parts) > 1:
        raise SourceError(f"{game}: no such file")
    entry = library.find(game)
    return _file(entry.path, entry.title, dialect)


def _file(path: Path, title: str, dialect: str | None) -> Source:
    suffixed = BY_SUFFIX.get(path.suffix, PAPER).name
    text = _decoded(path.read_bytes(), str(path))
    return Source(str(path), title, text, dialect or suffixed, path)


def _decoded(data: bytes, origin: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{origin}: no UTF-8 text ({error.reason})") from None
