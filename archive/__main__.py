"""python -m archive COMMAND: looks into an archive and takes things out of it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from archive.cli import COMMANDS, commands
from archive.errors import ArchiveError
from archive.views.tables import visible


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 2 after a user's error, told in one sentence on stderr, and
    where verification found faults."""
    argv = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser(argv).parse_args(argv)
    try:
        code = arguments.command(arguments)
        sys.stdout.flush()
    except ArchiveError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # as with `| head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return int(code or 0)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Knows the command that is called, or all of them where help is wanted."""
    called = [name for name in argv[:1] if name in COMMANDS]
    parser = argparse.ArgumentParser(prog="python -m archive", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in commands(called or COMMANDS).items():
        one = subparsers.add_parser(name, help=command.HELP, description=command.__doc__)
        command.arguments(one)
        one.set_defaults(command=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
