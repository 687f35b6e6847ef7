"""python -m archive COMMAND: looks into an archive and takes things out of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from archive.commands import COMMANDS
from archive.errors import ArchiveError
from archive.presentation import visible


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 2 after a user's error, told in one sentence on stderr."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except ArchiveError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m archive", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        one = commands.add_parser(name, help=command.HELP, description=command.__doc__)
        command.arguments(one)
        one.set_defaults(command=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
