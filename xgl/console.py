"""The console that every table, panel and line of this project is printed on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

import rich.console
from rich.segment import Segment

from xgl.escaping import visible_lines


class Console(rich.console.Console):
    """Text is shown, never obeyed: neither markup in it nor control characters and direction
    marks have an effect. Rich's own styles and movements have theirs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False} | options)

    @property
    def file(self) -> IO[str]:
        """Where styles are written: what stands behind a :class:`~xgl.streams.VisibleStream`."""
        return getattr(super().file, "rich_proxied_file", super().file)

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def on_broken_pipe(self) -> None:
        """The reader of our output has left, as `head` does: the command goes on without."""
        with suppress(OSError), open(os.devnull, "wb") as null:  # OSError: not a file of the system
            os.dup2(null.fileno(), self.file.fileno())

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Every text of a renderable passes here before its line is cut to the width."""
        for segment in super().render(*arguments, **options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)
