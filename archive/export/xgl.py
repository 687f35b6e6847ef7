"""The newest scope as a folder of game files, one for each (game, role)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archive.disk import writing
from archive.errors import LookupFailedError, WriteError
from archive.query import Member, find_run, games, newest_scope
from archive.store import Archive

EXTENSIONS: Mapping[str, str] = {"xent": ".xent", "paper": ".xgl"}
_SHORT = 12
# Ids and roles become file names: only what cannot lead out of the folder is let through.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def export_xgl(archive: Archive, run_id: str | None, folder: str | Path) -> list[Path]:
    """Writes one game file for each member of the newest scope and returns their paths.

    `run_id` may be shortened; None means the last touched run. Each file opens with comment
    lines: game id, role, generation, gamma, parent and metadata. The folder appears complete or
    not at all.

    Raises WriteError when `folder` exists and is not empty, or cannot be written, and
    LookupFailedError when run, scope or game is not archived, or a game has a dialect without
    files.
    """
    folder = Path(folder)
    _require_free(folder)
    generation, members = newest_scope(archive, find_run(archive, run_id).run_id)
    by_id = games(archive, (member.game_id for member in members))
    files: dict[str, str] = {}
    for member in members:
        game = by_id[member.game_id]
        files[_file_name(member, game, by_id)] = _header(member, generation, game) + game["code"]
    _write_folder(folder, files)
    return [folder / name for name in files]


def _require_free(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder} is in use: found a file, expected an absent or empty folder")
    if folder.is_dir() and (found := next(folder.iterdir(), None)):
        raise WriteError(f"{folder} is in use: found {found.name}, expected an empty folder")


def _file_name(member: Member, game: Mapping[str, Any], games: Mapping[str, object]) -> str:
    for name in (member.game_id, member.role):
        if not _NAME.fullmatch(name):
            raise LookupFailedError(
                f"found the name {name!r} in the archive, expected letters, digits, _ and - only"
            )
    if game["dialect"] not in EXTENSIONS:
        raise LookupFailedError(
            f"game {member.game_id}: found dialect {game['dialect']!r}, expected one of "
            f"{', '.join(EXTENSIONS)}"
        )
    short = member.game_id[:_SHORT]
    if sum(other.startswith(short) for other in games) > 1:
        short = member.game_id
    return f"{short}-{member.role}{EXTENSIONS[game['dialect']]}"


def _header(member: Member, generation: int, game: Mapping[str, Any]) -> str:
    gamma = "none (initial scope)" if member.gamma is None else f"{member.gamma:.6g}"
    facts = {
        "game_id": member.game_id,
        "role": member.role,
        "generation": f"{generation} (accepted in {member.accepted_in})",
        "gamma": gamma,
        "parent": member.parent_game_id or "none (initial scope)",
        "metadata": game["metadata_json"],
    }
    # A line break inside a value would end the comment and begin an instruction.
    return "".join(f"# {key}: {' '.join(value.splitlines())}\n" for key, value in facts.items())


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        try:
            for name, text in files.items():
                (aside / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
            # Renaming a folder replaces an empty one and refuses one that filled up meanwhile.
            os.rename(aside, folder)
        except BaseException:
            shutil.rmtree(aside)
            raise
