"""Parts of every command line: standard streams, and a script for completion in a shell."""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import Any

SCRIPTS = {"python -m xgl": "xgl", "python -m archive": "xent-archive"}
"""Installed commands, by the module that each runs."""


def prepare_streams() -> None:
    """Replace streams that the caller has closed, and let no character end a command.

    A closed input reads as empty and a closed output takes everything. Bytes that are no text and
    characters that a terminal cannot show become ``?`` or U+FFFD.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class Completion(argparse.Action):
    """``--completion SHELL``: print a script by which the shell completes the command, and end.

    It completes the installed command, ``xgl`` or ``xent-archive``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, metavar="SHELL")

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, __: Any = None) -> None:
        import shtab  # only here: every command pays for what is loaded at its start

        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--completion: found {shell!r}, expected bash")
        parser.prog = SCRIPTS.get(parser.prog, parser.prog)
        print(shtab.complete(parser, shell))
        parser.exit()
