"""The papers' games, one file each, and the index over them.

A file begins with its title, its source and its description: ``# Title (Figure 3.1): what the
players do.`` A comment with ``# Mended:`` names an error of the printed program that the file
corrects, one with ``# Ill-posed:`` the reason why the game measures no ability (Def. 30).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from xgl.errors import XGLError, excerpt
from xgl.files import user_path
from xgl.language.canonical import Game, Metadata, file_metadata, game
from xgl.language.dialects import BY_SUFFIX, PAPER
from xgl.language.parser import parse

FOLDER = Path(__file__).parent
_HEAD = re.compile(
    r"# (?P<title>[^:(]+?)(?: \((?P<source>(?:Figure|Example|Remark) [\d.]+|introduction)\))?: "
    r"(?P<said>.+?\.)(?: .*)?"
)
_SOURCE = re.compile(r"^(fig_\d+_\d+|example_\d+|remark_\d+|intro)_")


class NotInLibraryError(XGLError):
    """A name that leads to no game of the library."""


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
    mended: bool
    """Whether the printed program has an error that the file corrects and names."""
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

    Raises :class:`NotInLibraryError` when there is none; the error names the most similar one.
    """
    for entry in entries():
        if name in (entry.name, short_name(entry.name)):
            return entry
    near = get_close_matches(name, list(_names()), 1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise NotInLibraryError(f"{excerpt(name)!r} is neither a file nor a game of the library{hint}")


def read_game(
    name: str | Path, dialect: str | None = None, metadata: Metadata | None = None
) -> Game:
    """The game of a file or, if there is none, of the library, with the metadata of its header and
    of the file beside it over ``metadata``; ``dialect``: by default that of its suffix.

    Raises :class:`NotInLibraryError` for what is neither, :class:`~xgl.errors.ProgramError` and
    :class:`~xgl.errors.MetadataError` for what is no game, OSError for a file that cannot be read.
    """
    path = user_path(name)
    path = path if path.is_file() else find(str(name)).path
    text, usual = path.read_text(encoding="utf-8-sig"), metadata or Metadata()
    program = parse(text, dialect or BY_SUFFIX.get(path.suffix, PAPER).name, str(path))
    return game(program, file_metadata(text, path, usual, str(path)))


def short_name(name: str) -> str:
    """A name without the figure, example or remark in which the game is printed.

    >>> short_name("fig_3_13_blind_guess")
    'blind_guess'
    """
    return _SOURCE.sub("", name)


def _names() -> Iterator[str]:
    for entry in entries():
        yield entry.name
        yield short_name(entry.name)


def _entry(path: Path) -> Entry:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = takewhile(lambda line: line.startswith("# "), lines)
    match = _HEAD.fullmatch("# " + " ".join(line.removeprefix("# ") for line in comments))
    if match is None:
        raise ValueError(f"{path.name}: it does not begin by saying what it is")
    reasons = [line for line in lines if line.startswith("# Ill-posed:")]
    return Entry(
        name=path.stem,
        title=match["title"],
        source=match["source"] or "",
        description=match["said"],
        path=path,
        mended=any(line.startswith("# Mended:") for line in lines),
        ill_posed=reasons[0].removeprefix("# Ill-posed:").strip() if reasons else "",
    )
