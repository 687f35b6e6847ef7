"""The type of a command, and the arguments that several commands share."""

from __future__ import annotations

import inspect
import math
from argparse import SUPPRESS, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from archive.errors import ArchiveError
from archive.run import Run, newest_run
from archive.schema import GainKind
from archive.statistics.intervals import CONFIDENCE
from archive.store.archive import Archive

if TYPE_CHECKING:
    from rich.console import Console


class Printer(Protocol):
    """Prints a result for people."""

    def __call__(self, result: Any, console: Console, /) -> None: ...


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: ``--json`` prints ``value``, ``show`` prints it for people."""

    value: Any
    show: Printer
    exit_code: int = 0


class Argument:
    """One argument: its name or names with a space between them, its help and what else
    :meth:`argparse.ArgumentParser.add_argument` takes. ``group`` heads it in the command's help."""

    def __init__(
        self, names: str, help: str = SUPPRESS, *, group: str | None = None, **options: Any
    ) -> None:
        self.names, self.group, self.options = names.split(), group, {"help": help, **options}


def flag(name: str, help: str, *, group: str | None = None) -> Argument:
    """An argument without a value: True if it is given, else False."""
    return Argument(name, help, group=group, action="store_true")


def choice(
    name: str, help: str, kind: type[StrEnum], *, group: str | None = None, **options: Any
) -> Argument:
    """An argument whose value is a member of an enum."""
    members = {str(member): member for member in kind}
    options |= {"choices": list(members), "type": lambda text: members.get(text, text)}
    return Argument(name, help, group=group, **options)


@dataclass(frozen=True)
class Subcommand:
    """``run`` takes the parsed arguments and returns the result. Its name is the command's, the
    first sentence of its docstring the command's help, the whole of it its description. Raises
    ArchiveError for what a user can correct."""

    run: Callable[[Namespace], CommandResult]
    arguments: tuple[Argument, ...]

    def declare(self, subparsers: Any) -> None:
        """Add a parser of the command."""
        name, text = self.run.__name__, inspect.getdoc(self.run) or ""
        first = text.partition(". ")[0].rstrip(".")
        parser = subparsers.add_parser(name, help=first, description=text)
        parser.set_defaults(command=self)
        groups: dict[str | None, Any] = {None: parser}
        for argument in self.arguments:
            if argument.group not in groups:
                groups[argument.group] = parser.add_argument_group(argument.group)
            groups[argument.group].add_argument(*argument.names, **argument.options)


def probability(text: str) -> float:
    """A one-sided confidence; raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.5 <= value < 1:
        raise ArgumentTypeError(f"found {text!r}, expected a number from 0.5 to below 1")
    return value


_RUN_ID = Argument("--run-id", "default: the last run; may be short", metavar="ID")
ARCHIVE = Argument("run", "a run folder, or an archive folder", metavar="RUN")
RUN = (ARCHIVE, _RUN_ID)
"""RUN, and which run of its archive is meant."""
OPTIONAL_RUN = (
    Argument(
        "run",
        "a run folder, or an archive folder; default: the last in runs/, here or above",
        metavar="RUN",
        nargs="?",
    ),
    _RUN_ID,
)
"""The same; without RUN it is the run last written to of those in ./runs."""
GAME = Argument("game", "its id, may be short, or its name in the report", metavar="GAME")
JSON = flag("--json", "for programs")
GAIN = "all of a gain, or what is lost when moves are scored on other maps; default: the run's"
SAMPLE = (
    flag("--all", "all games that were trained on (default: the newest scope)"),
    choice("--gain", GAIN, GainKind),
    Argument(
        "--confidence",
        "of each one-sided bound, from 0.5 (default: 0.95)",
        metavar="P",
        type=probability,
        default=CONFIDENCE,
    ),
)
"""Which games are compared, by which gain, and the confidence of bounds."""


def open_archive(arguments: Namespace) -> Archive:
    """The archive that RUN names, to read. Raises ArchiveError."""
    return Archive.open(arguments.run or newest_run())


@contextmanager
def open_run(arguments: Namespace) -> Iterator[Run]:
    """The run that RUN and ``--run-id`` name, to read. Raises ArchiveError."""
    with open_archive(arguments) as archive:
        yield Run(archive, arguments.run_id)


def parsed(name: str, text: str, expected: str, accepts: Callable[[float], bool]) -> float:
    """The value of the argument ``name``, given as ``text``. Raises ArchiveError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not accepts(value):
        raise ArchiveError(f"{name}: found {text}, expected {expected}")
    return value
