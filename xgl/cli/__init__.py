"""The command line of the language.

Exit codes: 0 success, also when a person leaves a game; 1 ``check`` found something; 2 an error of
the user, in one sentence (a program's errors as the parser's full listing), never as a traceback. A
round of ``--moves`` without moves of the role is such an error if there is no person to make them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xgl.cli.commands import COMMANDS
from xgl.command_line import parse
from xgl.streams import exit_code, prepare_streams

ABOUT = "Xent games: programs by which a language model pays players in bits."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    prepare_streams()
    return exit_code(lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    options = vars(parse("python -m xgl", ABOUT, COMMANDS, argv))
    return int(options.pop("command")(**options))
