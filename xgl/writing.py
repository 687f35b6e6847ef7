"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"


def create(path: Path) -> BinaryIO:
    """A new file, open to write, in place of one that a killed writer left or of a link: what a
    link leads to is not touched. Raises OSError."""
    path.unlink(missing_ok=True)
    return path.open("xb")


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Writes `path` so that it holds all of `content`, or is as it was before. Raises OSError."""
    aside = path.with_name(path.name + TEMPORARY)
    try:
        with create(aside) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes a text to a file that a user names: whole, with the permissions of the file that was
    there, whatever link leads to it; or to a device or a pipe. Raises OSError that names it."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()
        mode = target.stat().st_mode if target.exists() else None
        write_whole(target, text.encode())
        if mode is not None:
            target.chmod(mode)
    except OSError as error:
        error.filename = str(path)
        raise


def flush_folder(folder: Path) -> None:
    """Makes the names in `folder` survive a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
