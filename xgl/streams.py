"""Standard streams as every command line needs them."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """Stand in for streams that the caller has closed, and let no character end a command.

    A closed input reads as empty and a closed output takes everything. Bytes that are no text and
    characters that a terminal does not know become ``?`` or U+FFFD.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
