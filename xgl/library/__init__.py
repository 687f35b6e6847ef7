"""The papers' games, one file each, and the index over them.

A file begins with its title, its source and its description: ``# Title (Figure 3.1): what the
players do.`` A comment with ``# Mended:`` names an error of the printed program that the file
corrects, one with ``# Ill-posed:`` the reason why the game measures no ability (Def. 30).
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from xgl.errors import ConfigError, excerpt
from xgl.files import user_path
from xgl.language.canonical import Game, Metadata, file_metadata, game
from xgl.language.dialects import BY_SUFFIX, PAPER
from xgl.language.parser import parse
from xgl.language.syntax import PLAYERS, Program

FOLDER = Path(__file__).parent
MAX_INPUT = 16 << 20
"""Bytes of a file that is read."""
_HEAD = re.compile(
    r"# (?P<title>[^:(]+?)(?: \((?P<source>(?:Figure|Example|Remark) [\d.]+|introduction)\))?: "
    r"(?P<said>.+?\.)(?: .*)?"
)
_SOURCE = re.compile(r"^(fig_\d+_\d+|example_\d+|remark_\d+|intro)_")


class Entry(NamedTuple):
    """One file of the library."""

    name: str
    """The file's name without its suffix."""
    title: str
    source: str
    """Figure, example or remark of the Xent Games paper, or its introduction on the authors' page;
    empty for a game of our own."""
    description: str
    path: Path
    ill_posed: str
    """Why it measures no ability; empty for all but the paper's counterexamples."""

    @property
    def dialect(self) -> str:
        return BY_SUFFIX[self.path.suffix].name

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")


@cache
def entries() -> tuple[Entry, ...]:
    """All games, in order of their names."""
    return tuple(_entry(path) for path in sorted(FOLDER.iterdir()) if path.suffix in BY_SUFFIX)


def find(name: str) -> Entry:
    """The game called ``name``, with or without its source; a game that was printed twice
    is found under its first figure.

    Raises :class:`ConfigError` when there is none; the error names the most similar one.
    """
    names = {
        each: entry for entry in entries()[::-1] for each in (entry.name, short_name(entry.name))
    }
    if name in names:
        return names[name]
    near = get_close_matches(name, names, 1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"{excerpt(name)!r} is neither a file nor a game of the library{hint}")


class Source(NamedTuple):
    """A program's text as it was read; ``path`` is None for standard input."""

    origin: str
    title: str
    text: str
    dialect: str
    path: Path | None = None

    def program(self) -> Program:
        """Raises :class:`~xgl.errors.ProgramError` with all that is wrong with the text."""
        return parse(self.text, self.dialect, self.origin)

    def game(self, usual: Metadata | None = None) -> Game:
        """The game, with the metadata of its header over ``usual``.
        Also raises :class:`~xgl.errors.ConfigError`."""
        program, usual = self.program(), usual or Metadata()
        return game(program, file_metadata(self.text, usual, self.origin))


def read_source(name: str | Path, dialect: str | None = None) -> Source:
    """The program of a file or, if there is none, of the library, or of standard input (``-``);
    ``dialect``: by default that of the file's suffix, in any case, else the paper's.

    Raises :class:`~xgl.errors.ConfigError` for a file that is missing, too large or no UTF-8 text
    and for a name that leads to no game, OSError for what cannot be read.
    """
    if name == "-":
        text = _decode(sys.stdin.buffer.read(MAX_INPUT + 1), "standard input")
        return Source("standard input", "", text, dialect or PAPER.name)
    path, title = user_path(name), user_path(name).stem
    if not path.exists() or path.is_dir():
        if path.name.rpartition(":")[2] in PLAYERS:
            raise ConfigError(f"{name}: found a role, expected GAME alone; `play` has --role")
        if path.suffix.lower() in BY_SUFFIX or len(path.parts) > 1:
            raise ConfigError(f"{name}: no such file")
        entry = find(str(name))
        path, title = entry.path, entry.title
    own = dialect or BY_SUFFIX.get(path.suffix.lower(), PAPER).name
    return Source(str(path), title, read_text(path), own, path)


def read_text(path: Path) -> str:
    """A file that a user names, which may be a pipe, as of ``<(…)``. Raises ConfigError for more
    than ``MAX_INPUT`` bytes and for other than UTF-8."""
    with path.open("rb") as file:
        return _decode(file.read(MAX_INPUT + 1), str(path))


def _decode(data: bytes, origin: str) -> str:
    if len(data) > MAX_INPUT:
        raise ConfigError(f"{origin}: more than {MAX_INPUT:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{origin}: no UTF-8 text ({error.reason})") from None


def read_game(
    name: str | Path, dialect: str | None = None, metadata: Metadata | None = None
) -> Game:
    """The game of a file or, if there is none, of the library, with the metadata of its header over
    ``metadata``; ``dialect``: by default that of the suffix. Raises as :func:`read_source`."""
    return read_source(name, dialect).game(metadata)


def short_name(name: str) -> str:
    """A name without the figure, example or remark in which the game is printed.

    >>> short_name("fig_3_13_blind_guess")
    'blind_guess'
    """
    return _SOURCE.sub("", name)


def _entry(path: Path) -> Entry:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = takewhile(lambda line: line.startswith("# "), lines)
    match = _HEAD.fullmatch("# " + " ".join(line.removeprefix("# ") for line in comments))
    if match is None:
        raise ValueError(f"{path.name}: it does not begin by saying what it is")
    reasons = [line for line in lines if line.startswith("# Ill-posed:")]
    ill_posed = reasons[0].removeprefix("# Ill-posed:").strip() if reasons else ""
    return Entry(path.stem, match["title"], match["source"] or "", match["said"], path, ill_posed)
