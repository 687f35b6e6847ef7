"""The command line of the language.

Exit codes: 0 success, also when a person leaves a game; 1 ``check`` or ``format --check`` found
something; 2 an error of the user, in one sentence (a program's errors as the parser's full
listing), never as a traceback. A round of ``--moves`` without moves of the role is such an error
if there is no person to make them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from xgl.cli.commands import COMMANDS
from xgl.errors import MAX_MESSAGE, XGLError, excerpt, missing_package
from xgl.streams import Completion, prepare_streams
from xgl.version import __version__


class _Parser(argparse.ArgumentParser):
    """Prints the user's error as one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {excerpt(message)}; `{self.prog} --help` tells more\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    prepare_streams()
    arguments = _parser().parse_args(argv)
    try:
        code = arguments.command(arguments)
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("", file=sys.stderr)
        return 130
    except XGLError as error:
        print(f"error: {excerpt(str(error), MAX_MESSAGE)}", file=sys.stderr)
    except ModuleNotFoundError as error:
        if (message := missing_package(error)) is None:
            raise
        print(f"error: {message}", file=sys.stderr)
    except OSError as error:
        place = f"{excerpt(str(error.filename))}: " if error.filename is not None else ""
        print(f"error: {place}{error.strerror}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m xgl", description="Xent games in XGL.")
    parser.add_argument("--version", action="version", version=f"xent-evo {__version__}")
    parser.add_argument(
        "--completion", action=Completion, help="print a script for bash, zsh or tcsh"
    )
    words = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        word = words.add_parser(command.name, help=command.help, description=command.help)
        command.declare(word)
        word.set_defaults(command=command.run)
    return parser
