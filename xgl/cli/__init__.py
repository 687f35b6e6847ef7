"""The command line of the language.

Exit codes: 0 all is well, also where a person leaves a game; 1 ``check`` or ``format --check``
found something; 2 the user's error, told in one sentence (a program's errors as the parser's full
listing), never as a traceback: also a round of ``--moves`` without the moves of the role, where
nobody is there to make them.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from xgl.cli import commands
from xgl.errors import MAX_MESSAGE, XGLError, excerpt
from xgl.language.dialects import DIALECTS

_MOST_DIGITS = 600
"""Python may be set to read no more."""
_GAME = "a .xgl or .xent file, a game of the library, or - for standard input"


class _Parser(argparse.ArgumentParser):
    """Tells the user's error in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {excerpt(message)}; `{self.prog} --help` tells more\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows no ▇ shows ? instead
            stream.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    try:
        code = arguments.command(arguments)
        if sys.stdout is not None:  # nor is there one where the caller has closed it
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
    except OSError as error:
        place = f"{excerpt(str(error.filename))}: " if error.filename is not None else ""
        print(f"error: {place}{error.strerror}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m xgl", description="Xent games in XGL.")
    adding = parser.add_subparsers(required=True, metavar="COMMAND")
    check = _add(adding, "check", "problems and static facts of programs", commands.check, "+")
    check.add_argument("--json", action="store_true", help="all facts, for programs")
    layout = _add(adding, "format", "one spelling for each line; keeps comments", commands.format_)
    layout.add_argument("--write", action="store_true", help="write it back to the file")
    layout.add_argument("--check", action="store_true", help="only say whether it would change")
    _add(
        adding,
        "canonical",
        "the text that players are shown, and the game's id",
        commands.canonical,
    )
    diagram = _add(adding, "diagram", "the game as a picture (SVG)", commands.diagram)
    diagram.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    _add_play(adding)
    games = adding.add_parser("games", help="list the library")
    games.set_defaults(command=commands.games)
    return parser


def _add(
    adding: argparse._SubParsersAction[_Parser],
    name: str,
    said: str,
    command: object,
    count: str | None = None,
) -> argparse.ArgumentParser:
    sub = adding.add_parser(name, help=said, description=said)
    sub.add_argument("game", metavar="GAME", nargs=count, help=_GAME)
    dialects = tuple(DIALECTS)
    sub.add_argument("--dialect", choices=dialects, help="default: by the suffix, else paper")
    sub.set_defaults(command=command)
    return sub


def _add_play(adding: argparse._SubParsersAction[_Parser]) -> None:
    play = _add(adding, "play", "play a game in the terminal", commands.play)
    play.add_argument("--judge", default="embedded", help="embedded (default), smollm2, a folder")
    play.add_argument("--role", metavar="PLAYER", help="default: black, or who is asked first")
    play.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the map")
    play.add_argument("--rounds", type=_positive, metavar="N", help="on the same map; default 1")
    seat = play.add_mutually_exclusive_group()
    seat.add_argument("--moves", metavar="FILE", help="JSON: moves instead of asking for them")
    seat.add_argument("--chat", metavar="MODEL", help="a model behind an OpenAI-compatible API")
    play.add_argument("--base-url", metavar="URL", help="of that API; default: OpenAI's")
    play.add_argument("--key-variable", metavar="NAME", help="environment variable with its key")
    play.add_argument("--json", action="store_true", help="the outcome, for programs")


def _natural(text: str) -> int:
    return _at_least(0, text)


def _positive(text: str) -> int:
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(
            f"found {excerpt(text, 40)!r}; expected a whole number from {least} on"
        )
    return int(text)
