"""Arguments that commands have in common."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from rich.console import Console

from archive.query import locate, newest_run
from archive.schema import GainKind
from archive.store.archive import Archive

if TYPE_CHECKING:
    from archive.views.matrix import Choice


def add_run(parser: ArgumentParser, optional: bool = False) -> None:
    """RUN, and which run of its archive is meant; where RUN may be left out, it is the run last
    written to of those in ./runs."""
    help_text = "a run folder, or an archive folder"
    if optional:
        help_text += "; default: the last run in ./runs"
        parser.add_argument("run", metavar="RUN", nargs="?", help=help_text)
    else:
        parser.add_argument("run", metavar="RUN", help=help_text)
    parser.add_argument("--run-id", metavar="ID", help="default: the last run; may be short")


def add_sample(parser: ArgumentParser) -> None:
    """Which games are compared, by which gain, and how sure bounds are."""
    parser.add_argument(
        "--all", action="store_true", help="all fine-tuned games (default: the newest scope)"
    )
    parser.add_argument("--gain", type=GainKind, choices=[*GainKind], help="default: the run's")
    parser.add_argument(
        "--confidence",
        type=probability,
        default=0.95,
        metavar="P",
        help="of each one-sided bound, from 0.5 (default: 0.95)",
    )


def choice(arguments: Namespace) -> Choice:
    """What `add_run` and `add_sample` declared."""
    from archive.views.matrix import Choice  # needs scipy, which other commands do without

    asked = (arguments.run_id, arguments.all, arguments.gain, arguments.confidence)
    return Choice(*asked)


def probability(text: str) -> float:
    """A one-sided confidence; raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.5 <= value < 1:
        raise ArgumentTypeError(f"found {text!r}, expected a number from 0.5 to below 1")
    return value


def add_json(parser: ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="for programs")


def opened(arguments: Namespace) -> Archive:
    """The archive that RUN names, to read. Raises ArchiveError."""
    return Archive.open(locate(arguments.run or newest_run()))


def console() -> Console:
    """Where tables for people go; text of games is never read as markup."""
    return Console(markup=False, highlight=False)
