"""Files that are whole or absent: written aside, flushed to the disk, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archive.errors import WriteError

TEMPORARY = ".tmp"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError inside the block into a WriteError that names `path`."""
    try:
        yield
    except OSError as error:
        found = error.strerror or str(error)
        raise WriteError(f"{path} could not be written: found '{found}'") from error


def flush_folder(folder: Path) -> None:
    """Makes the names in `folder` survive a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Makes `folder`, durably, in an existing parent, unless it is there. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir()
        flush_folder(folder.parent)


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Writes `path` so that it holds all of `content` or does not appear at all. Raises OSError."""
    aside = path.with_name(path.name + TEMPORARY)
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    flush_folder(path.parent)
