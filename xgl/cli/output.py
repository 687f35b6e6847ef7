"""No command writes more than a megabyte for one game, whatever the game is."""

from __future__ import annotations

from typing import IO, Any

from xgl.errors import XGLError

MAX_OUTPUT = 1_000_000
"""Bytes for one game, or for one round of it."""


class OutputError(XGLError):
    """More to write than anybody can read."""


def bounded(text: str, count: int = 1) -> str:
    """``text``, the output for ``count`` games; raises :class:`OutputError` for a longer one."""
    _check(len(text.encode(errors="replace")), count)
    return text


def _check(size: int, count: int) -> None:
    if size > count * MAX_OUTPUT:
        found = f"the output has {size:,} bytes or more"
        raise OutputError(f"{found}; at most {count * MAX_OUTPUT:,} are written")


class BoundedFile:
    """A screen that takes half as many bytes for each of ``count`` rounds, as it is slow; all else
    is the file's own."""

    def __init__(self, file: IO[str], count: int) -> None:
        self._file, self._count, self._size = file, count, 0

    def write(self, text: str) -> int:
        """Raises :class:`OutputError`."""
        self._size += 2 * len(text.encode(errors="replace"))
        _check(self._size, self._count)
        return self._file.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
