"""The newest scope as a folder of game files, one for each (game, role)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from archive.export.folder import Files, Options
from archive.export.selection import choose, extension, game_name
from archive.run import Run
from archive.schema import ScopeRow
from archive.text import plural
from xgl.errors import MetadataError
from xgl.escaping import comment, visible_lines
from xgl.language.canonical import own_metadata, read_metadata


def contents(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """One game file for each member of the newest scope, or of its cover at η.

    Each file opens with comment lines: game id, role, scope, generation, gamma, parent and
    metadata, then a header with the metadata of its own. Raises LookupFailedError for a game of a
    dialect without files.
    """
    scope_number, scope = run.newest_scope
    selection = choose(run, options.eta).covers
    members = [member for member in scope if member.task_id in selection]
    by_id = run.games(member.game_id for member in members)
    files: Files = {}
    for member in members:
        game = by_id[member.game_id]
        text = _header(member, scope_number, game) + visible_lines(game["code"])
        files[game_name(member.task_id, by_id) + extension(game)] = text.rstrip("\n") + "\n"
    return files, [f"{plural(len(files), 'game')} written to {{folder}}"]


def _header(member: ScopeRow, scope_number: int, game: Mapping[str, Any]) -> str:
    gamma = "none (initial scope)" if member.gamma is None else f"{member.gamma:.6g}"
    facts = {
        "game_id": member.game_id,
        "role": member.role,
        "scope": str(scope_number),
        "generation": str(member.generation),
        "gamma": gamma,
        "parent": member.parent_game_id or "none (initial scope)",
        "metadata": game["metadata_json"],
    }
    # A line break inside a value would end the comment and begin an instruction.
    head = [f"# {key}: {comment(value)}" for key, value in facts.items()]
    with suppress(MetadataError):  # the line above shows them as they are
        head += own_metadata(read_metadata(game["metadata_json"]))
    return "".join(f"{line}\n" for line in head)
