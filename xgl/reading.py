"""What others wrote, read within bounds: regular files of a bounded size, JSON of bounded depth."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

MOST_BYTES = 64 << 20
"""Bytes of one text file, and of one JSON text."""
MOST_DEPTH = 64
"""Lists and objects within each other in JSON; ours has at most ten."""


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, is longer than ``MOST_BYTES``, or
    is nested more than ``MOST_DEPTH`` deep."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"{len(text):,} characters of JSON, at most {MOST_BYTES:,} are read")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [value]
    for _ in range(MOST_DEPTH):  # iteratively: whoever walks the value may recurse
        level = [
            item
            for each in level
            if isinstance(each, list | dict)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


_TOO_DEEP = f"JSON nested more than {MOST_DEPTH} deep"


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def open_regular(path: Path, most: int = MOST_BYTES, within: Path | None = None) -> BinaryIO:
    """A file, open to read. Raises OSError also for what is no regular file (a pipe or a device
    may never end), for more than ``most`` bytes, and for a path that leads out of the folder
    ``within``."""
    if within is not None and not is_inside(path, within):
        raise OSError(errno.EXDEV, f"leads out of {within}", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= most:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    size = f"has {status.st_size:,} bytes, at most {most:,} are read"
    problem = size if stat.S_ISREG(status.st_mode) else "is no regular file"
    raise OSError(errno.EINVAL, problem, str(path))


def read_bytes(path: Path, most: int = MOST_BYTES, within: Path | None = None) -> bytes:
    """The content of a file. Raises what :func:`open_regular` raises."""
    with open_regular(path, most, within) as file:
        return file.read(most)
