"""No command writes more than a megabyte for one game, whatever the game is."""

from __future__ import annotations

from typing import IO, Any

from xgl.errors import XGLError

MAX_OUTPUT = 1_000_000
"""Bytes for one game, or for one round of it."""


MAX_LINES = 3_000
"""Of the screen, for one round."""


class OutputError(XGLError):
    """More to write than anybody can read."""


def bounded(text: str, count: int = 1) -> str:
    """``text``, the output for ``count`` games; raises :class:`OutputError` for a longer one."""
    size, most = len(text.encode(errors="replace")), count * MAX_OUTPUT
    if size > most:
        raise OutputError(f"the output has {size:,} bytes; at most {most:,} are written")
    return text


class BoundedScreen:
    """A text file that takes so many lines for each of ``count`` rounds; all else is its own."""

    def __init__(self, file: IO[str], count: int) -> None:
        self._file, self._lines, self._most = file, 0, count * MAX_LINES

    def write(self, text: str) -> int:
        """Raises :class:`OutputError`."""
        self._lines += text.count("\n")
        if self._lines > self._most:
            raise OutputError(f"the game has more to show than {self._most:,} lines of the screen")
        return self._file.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
