"""Input of commands: programs from files, the library or standard input, moves from JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xgl import library
from xgl.errors import XGLError, excerpt
from xgl.files import read_json, user_path
from xgl.language.canonical import Game, Metadata, file_metadata, game
from xgl.language.dialects import BY_SUFFIX, PAPER
from xgl.language.parser import parse
from xgl.language.syntax import Program

MAX_INPUT = 16 << 20
"""Bytes of a file that a command reads."""


class CommandError(XGLError):
    """What a user got wrong: a game that cannot be read or played, moves for another game."""


class Source(NamedTuple):
    """A program's text; ``path`` is None for standard input."""

    origin: str
    title: str
    text: str
    dialect: str
    path: Path | None = None

    def program(self) -> Program:
        """Raises :class:`~xgl.errors.ProgramError` with all that is wrong with the text."""
        return parse(self.text, self.dialect, self.origin)

    def game(self, usual: Metadata | None = None) -> Game:
        """The game, with the metadata of its header and of the file beside it over ``usual``.
        Also raises :class:`~xgl.errors.MetadataError`."""
        program = self.program()
        usual = usual or Metadata()
        return game(program, file_metadata(self.text, self.path, usual, self.origin))


def read_source(name: str, dialect: str | None) -> Source:
    """The program of a ``name``; a file goes before a library game of the same name.

    Raises :class:`CommandError` for a file that is missing or no UTF-8 text, and
    :class:`~xgl.library.NotInLibraryError` for a name that is neither.
    """
    if name == "-":
        text = _decode(sys.stdin.buffer.read(MAX_INPUT + 1), "standard input")
        return Source("standard input", "", text, dialect or PAPER.name)
    path = user_path(name)
    if name and path.exists() and not path.is_dir():  # also a pipe, as of `<(…)`
        return _file(path, path.stem, dialect)
    if name and path.is_dir():
        raise CommandError(f"{name}: a folder; expected a .xgl or .xent file")
    if path.suffix in BY_SUFFIX or len(path.parts) > 1:
        raise CommandError(f"{name}: no such file")
    entry = library.find(name)
    return _file(entry.path, entry.title, dialect)


def _file(path: Path, title: str, dialect: str | None) -> Source:
    suffix_dialect = BY_SUFFIX.get(path.suffix, PAPER).name
    text = _read(path)
    return Source(str(path), title, text, dialect or suffix_dialect, path)


def _read(path: Path) -> str:
    with path.open("rb") as file:  # may be a pipe, as of `<(…)`
        return _decode(file.read(MAX_INPUT + 1), str(path))


def _decode(data: bytes, origin: str) -> str:
    if len(data) > MAX_INPUT:
        raise CommandError(f"{origin}: more than {MAX_INPUT:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{origin}: no UTF-8 text ({error.reason})") from None


# -- moves -------------------------------------------------------------------------------------

Script = Sequence[Mapping[str, Sequence[str]]]
"""For each round a mapping from players to their moves."""
EXPECTED = 'a round is ["a move", …] or {"player": ["a move", …], …}; a file holds one or a list'


def read_script(path: str, role: str, players: Sequence[str]) -> Script:
    """The rounds of a file; a plain list of texts has ``role``'s moves.

    Raises :class:`CommandError` for another shape, and for a player that is not among ``players``.
    """
    try:
        content = read_json(_read(user_path(path)))
    except ValueError as error:
        raise CommandError(f"--moves {path}: no JSON ({error}); {EXPECTED}") from None
    rounds = [content] if isinstance(content, dict) or _are_texts(content) else content
    if not isinstance(rounds, list) or not rounds:
        raise CommandError(f"--moves {path}: no moves; {EXPECTED}")
    return [
        _round(path, number, entry, role, players) for number, entry in enumerate(rounds, start=1)
    ]


def _round(
    path: str, number: int, content: Any, role: str, players: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    moves = {role: content} if _are_texts(content) else content
    if not isinstance(moves, dict) or not moves or not all(map(_are_texts, moves.values())):
        raise CommandError(f"--moves {path}: round {number} holds no moves; {EXPECTED}")
    for player in moves:
        if player not in players:
            place = f"--moves {path}: round {number}"
            expected = ", ".join(players)
            raise CommandError(f"{place}: no {excerpt(player)!r}; expected {expected}")
    return moves


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)
