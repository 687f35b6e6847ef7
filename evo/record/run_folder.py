"""Run folders: new ones, those that a killed run never began, and the archive within."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from archive import Archive, ArchiveError, RunEvent
from archive.store.archive import MARKER, strays
from xgl.errors import ConfigError

RESUME = "resume="
BEGUN = (RunEvent.CREATED, RunEvent.RESUMED)


def resumed_folders(arguments: Sequence[str]) -> list[str]:
    """What ``resume=…`` names on a command line."""
    return [each.removeprefix(RESUME) for each in arguments if each.startswith(RESUME)]


def check_new(folder: Path) -> None:
    """Raises :class:`ConfigError` where the folder is in use."""
    if folder.exists() and not _never_begun(folder):
        raise _in_use(folder)


def open_archive(folder: Path, resumed: bool) -> Archive:
    """The archive of a run, held by its one writer.

    That a new run's folder is free was seen before the lock, so it is looked at again. Raises
    :class:`ConfigError` and :class:`archive.ArchiveError`.
    """
    path = folder / "archive"
    archive = Archive.open(path, "a") if (path / MARKER).exists() else Archive.create(path)
    if not resumed and archive.count("runs"):
        archive.close()
        raise _in_use(folder)
    return archive


def stored_config(folder: str) -> tuple[Path, dict[str, Any]]:
    """A run's folder and the configuration with which it was last begun.

    Raises :class:`ConfigError` and :class:`archive.ArchiveError`.
    """
    path = Path(folder)
    if path.name in ("", ".."):
        path = path.resolve()
    with Archive.open(path / "archive") as archive:
        rows = [row for row in archive.rows("runs") if row["event"] in BEGUN]
    if not rows:
        raise ConfigError(f"resume: {folder} holds no run")
    if len(known := {row["run_id"] for row in rows}) > 1:
        raise ConfigError(
            f"resume: {folder} holds {len(known)} runs, expected one: a merged archive is for "
            "reading"
        )
    stored: dict[str, Any] = json.loads(rows[-1]["config_json"])
    stored["archive"]["root"], stored["name"] = str(path.parent), path.name
    return path, stored


def _in_use(folder: Path) -> ConfigError:
    return ConfigError(
        f"name: {folder} exists already, expected a new name, or resume={folder} to go on with it"
    )


def _never_begun(folder: Path) -> bool:
    """Whether a run was killed between making its folder and saying that it began."""
    if not folder.is_dir() or not {path.name for path in folder.iterdir()} <= {"archive"}:
        return False
    archive = folder / "archive"
    if not (archive / MARKER).exists():
        return not archive.exists() or (archive.is_dir() and not strays(archive))
    with suppress(ArchiveError), Archive.open(archive) as opened:
        return opened.count("runs") == 0
    return False
