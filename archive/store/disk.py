"""Atomic files and folders: written under a temporary name, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from archive.errors import WriteError
from xgl.errors import wrong_ending
from xgl.files import flush_folder


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError inside the block into a WriteError that names `path`."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise WriteError(f"{path} could not be written: found '{problem}'") from error


def require_ending(path: Path, *endings: str) -> None:
    """Raises WriteError if the name of a file to be written promises another kind of file."""
    if problem := wrong_ending(path, *endings):
        raise WriteError(problem)


def make_folder(folder: Path) -> None:
    """Makes `folder`, durably, in an existing parent, unless it is there. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir()
        flush_folder(folder.parent)


def require_free(folder: Path) -> None:
    """Raises WriteError unless `folder` is absent or empty, and can be made."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise WriteError(f"{folder} is in use: found a file, expected an absent or empty folder")
    if folder.is_dir() and (entry := next(folder.iterdir(), None)):
        raise WriteError(f"{folder} is in use: found {entry.name}, expected an empty folder")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise WriteError(
            f"{folder} could not be written: found {above}, expected a folder to write in"
        )


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Lets `fill` write into a temporary folder, then renames it to `folder`. Raises WriteError."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        try:
            fill(aside)
            # Renaming a folder replaces an empty one and refuses one that filled up meanwhile.
            os.rename(aside, folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def file_hash(path: Path) -> str:
    """SHA-256 of a file in hex; the file is read in pieces. Raises OSError."""
    content = sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            content.update(part)
    return content.hexdigest()
