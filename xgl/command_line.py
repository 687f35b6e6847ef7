"""Command lines of several commands: their arguments, and a parser for which a user's error is one
sentence."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import getdoc
from typing import Any, NoReturn

from xgl.errors import ConfigError, excerpt
from xgl.version import __version__


class Argument:
    """One argument: its name or names with a space between them, its help and what else
    :meth:`argparse.ArgumentParser.add_argument` takes."""

    def __init__(self, names: str, help: str = SUPPRESS, **options: Any) -> None:
        self.names, self.options = names.split(), {"help": help, **options}


def flag(name: str, help: str) -> Argument:
    """An argument without a value: True if it is given, else False."""
    return Argument(name, help, action="store_true")


def numeric(
    name: str,
    help: str,
    expected: str,
    accepts: Callable[[float], bool],
    kind: type[float] = float,
    **options: Any,
) -> Argument:
    """An argument whose value is a number that ``accepts`` says."""

    def value(text: str) -> float:
        with suppress(ValueError):
            if accepts(number := kind(text)):
                return number
        raise ArgumentTypeError(f"found {excerpt(text, 40)}, expected {expected}")

    return Argument(name, help, type=value, **options)


def count(name: str, help: str, least: int, **options: Any) -> Argument:
    """An argument whose value is a whole number of at least ``least``."""
    expected = f"a whole number from {least} up"
    return numeric(name, help, expected, lambda n: n >= least, int, metavar="N", **options)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{excerpt(message)}; `{self.prog} --help` tells more")


Commands = Mapping[Callable[..., Any], Sequence[Argument]]
"""The functions of commands with their arguments. A function's name is the command's, the first
sentence of its docstring the command's help, the whole of it its description."""


def parse(
    program: str, description: str, commands: Commands, words: Sequence[str] | None
) -> Namespace:
    """The arguments among ``words``, and as ``command`` the function that they are for. Raises
    :class:`ConfigError`."""
    parser = _Parser(prog=program, description=description)
    parser.add_argument("--version", action="version", version=f"xent-evo {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command, arguments in commands.items():
        text = getdoc(command) or ""
        first = text.partition(". ")[0].rstrip(".")
        subparser = subparsers.add_parser(command.__name__, help=first, description=text)
        subparser.set_defaults(command=command)
        for argument in arguments:
            subparser.add_argument(*argument.names, **argument.options)
    return parser.parse_args(words)
