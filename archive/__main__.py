"""python -m archive COMMAND: reads and exports what a run found."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from archive.cli import COMMANDS, Subcommand
from archive.errors import ArchiveError
from archive.views.tables import to_json
from xgl.console import Console
from xgl.streams import exit_code, prepare_streams
from xgl.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, or 2 if verification found faults or after a user's error (one
    sentence on stderr)."""
    prepare_streams()
    return exit_code(lambda: _run(argv), ArchiveError)


def _run(argv: Sequence[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    command: Subcommand = arguments.command
    result = command.run(arguments)
    if getattr(arguments, "json", False):
        print(to_json(result.value))
    else:
        result.show(result.value, Console())
    return result.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m archive", description=__doc__)
    parser.add_argument("--version", action="version", version=f"xent-evo {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.declare(subparsers)
    return parser


def command_line() -> int:
    """:func:`main` in a process of its own."""
    # Imports make many long-lived objects; searching them for garbage took a seventh of the time of
    # a report.
    gc.set_threshold(50_000, 20, 100)
    return main()


if __name__ == "__main__":
    sys.exit(command_line())
