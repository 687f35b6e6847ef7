"""Standard streams of every command line, and how a command ends."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from xgl.errors import MAX_MESSAGE, ProgramError, XGLError, excerpt, missing_package
from xgl.escaping import visible

_SPACES = "\n\t" + "".join(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a write; one without a file is then standard output's."""
_BAR = re.compile(r"(?:\r|\n|\x1b\[A)*")
"""How a progress bar of a library begins what it writes."""


class VisibleStream:
    """An output that shows control characters, direction marks and lone surrogates as escapes,
    whoever prints them: ids, names, paths and answers of servers are a stranger's.

    Rich, which writes styles, writes to ``rich_proxied_file``: see :class:`xgl.console.Console`.
    """

    def __init__(self, stream: IO[str], bars: bool = False) -> None:
        self.rich_proxied_file, self._bars = stream, bars

    def write(self, text: str) -> int:
        """Write ``text``; with ``bars``, the movements that a progress bar begins with count."""
        bar = _BAR.match(text) if self._bars else None
        start = bar.end() if bar else 0
        self.rich_proxied_file.write(text[:start] + visible(text[start:], _SPACES))
        return len(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def prepare_streams() -> None:
    """Replace streams that the caller has closed, and let no character end a command or act on a
    terminal.

    A closed input reads as empty and a closed output takes everything. Bytes that are no text and
    characters that a terminal cannot show become ``?`` or U+FFFD.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        if mode == "w" and not isinstance(stream, VisibleStream):
            setattr(sys, name, VisibleStream(stream, name == "stderr"))


def exit_code(command: Callable[[], int], *errors: type[Exception]) -> int:
    """The exit code of a command: 2 after an error of its user, which is one sentence on standard
    error (a program's errors: the parser's listing), never a traceback.

    ``errors``: kinds of such errors beside :class:`XGLError`. Also 2 for a file that cannot be read
    or written and for a package of an extra that is not installed; 130 when interrupted.
    """
    kinds: tuple[type[Exception], ...] = (XGLError, *errors)
    try:
        code = command()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        _discard_output()
        return 0
    except KeyboardInterrupt:
        print("", file=sys.stderr)
        return 130
    except kinds as error:
        message = str(error) if isinstance(error, ProgramError) else visible(str(error))
    except OSError as error:
        unnamed = "standard output" if error.errno in _OF_OUTPUT else "the system"
        place = visible(excerpt(str(error.filename or unnamed)))
        message = f"{place}: {error.strerror or error}"
        _discard_output()
    except ModuleNotFoundError as error:
        if (missing := missing_package(error)) is None:
            raise
        message = missing
    print(f"error: {excerpt(message, MAX_MESSAGE)}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """What is still to be written to standard output, at the latest as Python ends, is lost."""
    with suppress(OSError, ValueError):  # ValueError: it is no file, or closed
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)
