"""Arguments that commands have in common."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rich.console import Console

from archive.query import locate
from archive.store import Archive


def add_run(parser: ArgumentParser) -> None:
    """RUN, and which run of its archive is meant."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or its archive folder")
    parser.add_argument("--run-id", metavar="ID", help="default: the last run; may be short")


def add_json(parser: ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="for programs")


def opened(arguments: Namespace) -> Archive:
    """The archive that RUN names, to read. Raises ArchiveError."""
    return Archive.open(locate(arguments.run))


def console() -> Console:
    """Where tables for people go; text of games is never read as markup."""
    return Console(markup=False, highlight=False)
