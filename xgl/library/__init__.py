"""The papers' games, one file each, and the index over them.

A file begins with its title and description: ``# Title (Figure 3.1): what the players do.`` A
comment with ``# Mended:`` names an error of the printed program that the file corrects, one with
``# Refused:`` the reason why the program cannot be played.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path

from xgl.errors import XGLError, excerpt
from xgl.language.dialects import BY_SUFFIX

FOLDER = Path(__file__).parent
_HEAD = re.compile(
    r"# (?P<title>[^:(]+?)(?: \(Figure (?P<figure>[\d.]+)\))?: (?P<said>.+?\.)(?: .*)?"
)
_FIGURE = re.compile(r"fig_\d+_\d+_")


class NotInLibraryError(XGLError):
    """A name that leads to no game of the library."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the library."""

    name: str
    """The file's name without its suffix."""
    title: str
    figure: str
    """Number of the figure in the Xent Games paper; empty for a game of our own."""
    description: str
    path: Path
    mended: bool
    """Whether the printed program has an error that the file corrects and names."""
    refused: str
    """Why it cannot be played; empty for a valid program."""

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
    """The game called ``name``, with or without its figure's number; a game that was printed twice
    is found under its first figure.

    Raises :class:`NotInLibraryError` when there is none; the error names the most similar one.
    """
    for entry in entries():
        if name in (entry.name, _FIGURE.sub("", entry.name)):
            return entry
    near = get_close_matches(name, list(_names()), 1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise NotInLibraryError(f"{excerpt(name)!r} is neither a file nor a game of the library{hint}")


def _names() -> Iterator[str]:
    for entry in entries():
        yield entry.name
        yield _FIGURE.sub("", entry.name)


def _entry(path: Path) -> Entry:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = takewhile(lambda line: line.startswith("# "), lines)
    match = _HEAD.fullmatch("# " + " ".join(line.removeprefix("# ") for line in comments))
    if match is None:
        raise ValueError(f"{path.name}: it does not begin by saying what it is")
    refusals = [line for line in lines if line.startswith("# Refused:")]
    return Entry(
        name=path.stem,
        title=match["title"],
        figure=match["figure"] or "",
        description=match["said"],
        path=path,
        mended=any(line.startswith("# Mended:") for line in lines),
        refused=refusals[0].removeprefix("# Refused:").strip() if refusals else "",
    )
