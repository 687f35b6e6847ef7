"""File names and dialects of exported games."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from archive.errors import LookupFailedError

EXTENSIONS: Mapping[str, str] = {"xent": ".xent", "paper": ".xgl"}
_SHORT = 12
# Ids and roles become file names: only what cannot lead out of the folder is let through.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def game_name(game_id: str, role: str, games: Iterable[str]) -> str:
    """Name of a game in a role, its id shortened where no other of `games` begins alike.

    Raises LookupFailedError for ids and roles that are no plain words.
    """
    for name in (game_id, role):
        if not _NAME.fullmatch(name):
            raise LookupFailedError(
                f"found the name {name!r} in the archive, expected letters, digits, _ and - only"
            )
    short = game_id[:_SHORT]
    if sum(other.startswith(short) for other in games) > 1:
        short = game_id
    return f"{short}-{role}"


def extension(game: Mapping[str, Any]) -> str:
    """Of the game's dialect. Raises LookupFailedError for a dialect without files."""
    if game["dialect"] not in EXTENSIONS:
        raise LookupFailedError(
            f"game {game['game_id']}: found dialect {game['dialect']!r}, expected one of "
            f"{', '.join(EXTENSIONS)}"
        )
    return EXTENSIONS[game["dialect"]]
