"""The report as a file."""

from __future__ import annotations

import os
from pathlib import Path

from archive.errors import WriteError
from archive.store.disk import write_whole, writing


def require_free(path: Path, force: bool) -> None:
    """Raises WriteError where ``path`` may not be written, before any work is done."""
    if path.is_dir():
        raise WriteError(f"{path} is a folder: expected the name of a file, such as report.html")
    if path.exists() and not force:
        raise WriteError(f"{path} exists: found a file, expected a new name, or --force")
    folder = path.parent
    if not folder.is_dir():
        raise WriteError(f"{path} could not be written: found no folder {folder}")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise WriteError(f"{path} could not be written: found no permission to write there")


def write(path: Path, text: str) -> None:
    """Writes the file, whole or not at all. Raises WriteError."""
    with writing(path):
        write_whole(path, text.encode())
