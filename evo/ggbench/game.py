"""A game: a rule book, a program and a list of moves; those of this package, and in folders."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from archive.statistics.programs import program_id
from xgl.errors import ConfigError, excerpt
from xgl.escaping import visible
from xgl.files import read_bytes, user_path

FILES = ("rules.md", "env.py", "moves.md")
MOST_BYTES = 200_000
"""Most bytes of one text of a game."""


@dataclass(frozen=True)
class ProgramGame:
    """``name``: how a command names it; ``category``: of Table 2, of games of this package;
    ``author``: who wrote it, ``packaged`` for ours."""

    name: str
    rules: str
    source: str
    moves: str
    category: str | None
    author: str

    @property
    def title(self) -> str:
        """The rule book's first line, at most 80 characters, without marks and unprintable ones."""
        first = self.rules.strip().partition("\n")[0].strip("#*_ \t")
        return visible(excerpt(first, 80)) or self.name

    @property
    def game_id(self) -> str:
        """Hash of the three texts."""
        return program_id(self.rules, self.source, self.moves)

    @property
    def ships(self) -> bool:
        """Whether its texts are exactly those of a game of this package."""
        return self.game_id in [game.game_id for game in packaged().values()]


@cache
def packaged() -> Mapping[str, ProgramGame]:
    """The games of this package by name, in their order."""
    folder = Path(__file__).parent / "packaged"
    categories = tomllib.loads((folder / "games.toml").read_text()).items()
    return {name: _read(folder / name, name, category, "packaged") for name, category in categories}


def find_all(name: str) -> list[ProgramGame]:
    """A game of this package, or one in a folder with the three files; or all that the paper's
    authors released, in a folder with the folders descriptions, envs and actions, or FOLDER/N,
    the one with this number. Raises :class:`ConfigError`."""
    if game := packaged().get(name):
        return [game]
    folder = user_path(name)
    programs = [path.stem.removeprefix("env_") for path in (folder / "envs").glob("env_*.py")]
    if numbers := sorted(int(each) for each in programs if each.isdecimal()):
        return [_released(folder, number) for number in numbers]
    if folder.is_dir():
        return [_read(folder, folder.resolve().name, None, "folder")]
    if folder.name.isdecimal() and (folder.parent / "envs").is_dir():
        return [_released(folder.parent, int(folder.name))]
    names = ", ".join(packaged())
    raise ConfigError(
        f"ggbench.games: found {name!r}, expected a folder with a game, or one of {names}"
    )


def _released(folder: Path, number: int) -> ProgramGame:
    files = f"descriptions/{number}.txt", f"envs/env_{number}.py", f"actions/{number}.txt"
    return _read(folder, f"released{number}", None, "released", files)


def _read(
    folder: Path, name: str, category: str | None, author: str, files: Sequence[str] = FILES
) -> ProgramGame:
    texts = []
    for file in files:
        try:
            texts.append(read_bytes(folder / file, MOST_BYTES).decode("utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"game: {folder / file} cannot be read ({error}), expected {', '.join(files)}"
            ) from None
    rules, source, moves = texts
    return ProgramGame(name, rules, source, moves, category, author)
