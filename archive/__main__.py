"""python -m archive COMMAND: shows and exports the contents of an archive."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from archive.cli.command import CommandResult, Subcommand
from archive.cli.table import COMMANDS
from archive.errors import ArchiveError
from archive.views.tables import to_json
from xgl.console import Console
from xgl.errors import ConfigError, missing_package
from xgl.escaping import visible
from xgl.streams import Completion, prepare_streams
from xgl.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, or 2 if verification found faults or after a user's error (one
    sentence on stderr)."""
    prepare_streams()
    arguments = _parser().parse_args(argv)
    command: Subcommand = arguments.command
    try:
        result = command.run(arguments)
        _print(result, as_json=getattr(arguments, "json", False))
        sys.stdout.flush()
    except (ArchiveError, ConfigError) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (message := missing_package(error)) is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has closed the pipe, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result.exit_code


def _print(result: CommandResult, *, as_json: bool) -> None:
    if as_json:
        print(to_json(result.value))
    else:
        result.show(result.value, Console())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m archive", description=__doc__)
    parser.add_argument("--version", action="version", version=f"xent-evo {__version__}")
    parser.add_argument(
        "--completion", action=Completion, help="print a script for bash, zsh or tcsh"
    )
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
