"""The newest scope as a folder of game files, one for each (game, role)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archive.export.selection import choose, extension, game_name
from archive.run import Run
from archive.schema import ScopeRow
from archive.store.disk import require_free, write_folder
from xgl.escaping import comment, visible_lines
from xgl.paths import user_path


def export_xgl(run: Run, folder: str | Path, eta: float | None = None) -> list[Path]:
    """Writes one game file for each member of the newest scope, or of its cover at `eta`, and
    returns their paths.

    Each file opens with comment lines: game id, role, scope, generation, gamma, parent and
    metadata. The folder appears complete or not at all.

    Raises WriteError when `folder` exists and is not empty, or cannot be written, and
    LookupFailedError when run, scope or game is not archived, or a game has a dialect without
    files, ExportError for an η out of reach.
    """
    folder = user_path(folder)
    require_free(folder)
    scope_number, scope = run.newest_scope
    selection = choose(run, eta).covers
    members = [member for member in scope if member.task_id in selection]
    by_id = run.games(member.game_id for member in members)
    files: dict[str, str] = {}
    for member in members:
        game = by_id[member.game_id]
        name = game_name(member.task_id, by_id) + extension(game)
        files[name] = _header(member, scope_number, game) + visible_lines(game["code"])

    def fill(aside: Path) -> None:
        for name, text in files.items():
            (aside / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")

    write_folder(folder, fill)
    return [folder / name for name in files]


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
    return "".join(f"# {key}: {comment(value)}\n" for key, value in facts.items())
