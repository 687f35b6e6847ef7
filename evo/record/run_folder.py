"""Run folders: creation, the archive in them, the events of the run; a folder that a killed run
left empty may be used again."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from archive import SCHEMA_VERSION, Archive, ArchiveError, RunEvent
from archive.run import read_settings
from archive.store.archive import MARKER, strays
from evo.config.schema import AnyRun
from xgl import files
from xgl.errors import ConfigError
from xgl.escaping import visible_lines
from xgl.files import user_path
from xgl.version import __version__

BEGIN_EVENTS = (RunEvent.CREATED, RunEvent.RESUMED)


@dataclass(frozen=True)
class RunIdentity:
    """Columns of the table ``runs`` that identify a run, without its events."""

    run_id: str
    seed: int
    config_json: str
    config_hash: str

    @classmethod
    def of(cls, config: AnyRun, name: str, archive: Archive, **facts: str) -> RunIdentity:
        """A new run is called after its folder's ``name``; one that goes on keeps its id. ``facts``
        stand beside the archived settings."""
        ids, science = archive.rows("runs", ["run_id"]), config.science_hash()
        run_id = str(ids[0]["run_id"]) if ids else f"{name}-{science}"
        settings = json.dumps(asdict(config) | facts, sort_keys=True)
        return cls(run_id, config.seed, settings, science)


def check_new(folder: Path) -> None:
    """Raises :class:`ConfigError` if the folder is in use."""
    if folder.exists() and not _never_begun(folder):
        raise _in_use(folder)


def open_archive(folder: Path, resumed: bool) -> Archive:
    """The archive of a run, held by its one writer.

    :func:`check_new` ran before the archive was locked, so a new run checks again here that the
    folder is free. Raises :class:`ConfigError` and :class:`archive.ArchiveError`.
    """
    path = folder / "archive"
    archive = Archive.open(path, "a") if (path / MARKER).exists() else Archive.create(path)
    if not resumed and archive.count("runs"):
        archive.close()
        raise _in_use(folder)
    return archive


def stored_config(folder: str) -> tuple[dict[str, Any], bool]:
    """The configuration with which a run was last begun, and whether this user wrote it; its folder
    is where it lies now. Raises :class:`ConfigError` and :class:`archive.ArchiveError`."""
    path = user_path(folder)
    if path.name in ("", ".."):
        path = path.resolve()
    if path.name == "archive" and (path / MARKER).is_file():
        path = path.resolve().parent  # the run's archive, where the run is meant
    with Archive.open(path / "archive") as archive:
        rows = [row for row in archive.rows("runs") if row["event"] in BEGIN_EVENTS]
    if not rows:
        raise ConfigError(
            f"resume: {folder} holds no run, expected one that has begun; if it was ended while it "
            "started, give its first command again"
        )
    config = read_settings(rows[-1]["config_json"])
    if not isinstance(config.get("archive"), dict):
        raise ConfigError(f"resume: {folder} holds no settings, expected those that it began with")
    config["archive"]["root"], config["name"] = str(path.parent), path.name
    return config, files.wrote(rows[-1]["config_json"])


def run_row(identity: RunIdentity, event: RunEvent) -> dict[str, Any]:
    """A row of the table ``runs``: what happened to a run, now."""
    return {
        **vars(identity),
        "event": event,
        "at": datetime.now(UTC),
        "schema_version": SCHEMA_VERSION,
        "code_version": __version__,
    }


def record(archive: Archive, identity: RunIdentity, event: RunEvent) -> None:
    """Commit what happened to a run; raises :class:`archive.ArchiveError`."""
    if event in BEGIN_EVENTS:  # first: a run that is killed after its commit must be known as ours
        files.remember(identity.config_json)
    archive.commit({"runs": [run_row(identity, event)]})


LOG, CONFIG = "run.log", "config.yaml"
"""Files next to the archive, for people: the log, and the composed configuration."""


@contextmanager
def log_to_folder(folder: Path) -> Iterator[None]:
    """Within the context the run's log lines also go to ``run.log``, each with its time."""
    log = logging.getLogger("evo")
    file = _LogFile(folder / LOG, delay=True, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handlers: list[logging.Handler] = [file]
    if not log.hasHandlers() and logging.lastResort:
        handlers.append(logging.lastResort)  # warnings go to a person, as without a file
    level = log.level
    log.setLevel(logging.INFO)
    for handler in handlers:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.setLevel(level)
        for handler in handlers:
            log.removeHandler(handler)
        file.close()


class _LogFile(logging.FileHandler):
    """A log file to be read on a terminal; the run goes on if it cannot be written, for example on
    a full disk. What a link leads to is not touched."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return open(os.open(self.baseFilename, flags, 0o666), "a", encoding=self.encoding)

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Say nothing."""


def _in_use(folder: Path) -> ConfigError:
    return ConfigError(
        f"name: {folder} exists already, expected a new name, or resume={folder} to go on with it"
    )


def _never_begun(folder: Path) -> bool:
    """Whether a run was killed after it made its folder and before its first commit."""
    own_names = {"archive", LOG, CONFIG, CONFIG + files.TEMPORARY}
    if not folder.is_dir() or not {path.name for path in folder.iterdir()} <= own_names:
        return False
    archive = folder / "archive"
    if not (archive / MARKER).exists():
        return not archive.exists() or (archive.is_dir() and not strays(archive))
    with suppress(ArchiveError), Archive.open(archive) as reader:
        return reader.count("runs") == 0
    return False
