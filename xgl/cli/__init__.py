"""The command line of the language.

Exit codes: 0 success, also when a person leaves a game; 1 ``check`` found something; 2 an error of
the user, in one sentence (a program's errors as the parser's full listing), never as a traceback. A
round of ``--moves`` without moves of the role is such an error if there is no person to make them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from xgl.cli.commands import COMMANDS, EXCLUSIVE
from xgl.errors import excerpt
from xgl.streams import exit_code, prepare_streams
from xgl.version import __version__


class _Parser(argparse.ArgumentParser):
    """Prints the user's error as one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {excerpt(message)}; `{self.prog} --help` tells more\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    prepare_streams()
    options = vars(_parser().parse_args(argv))
    run = options.pop("run")
    return exit_code(lambda: run(**options))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m xgl",
        description="Xent games: programs by which a language model pays players in bits.",
    )
    parser.add_argument("--version", action="version", version=f"xent-evo {__version__}")
    words = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (run, meaning, *arguments) in COMMANDS.items():
        word = words.add_parser(name, help=meaning, description=meaning)
        group: Any = None
        for names, settings in arguments:
            if names[0] in EXCLUSIVE:
                group = group or word.add_mutually_exclusive_group()
            (group if names[0] in EXCLUSIVE else word).add_argument(*names, **settings)
        word.set_defaults(run=run)
    return parser
