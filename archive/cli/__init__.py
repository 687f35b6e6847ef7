"""The commands of ``python -m archive``, a module each: ``HELP``, ``arguments`` and ``run``.

A module is imported when its command is called for: what one needs does not slow the others.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from importlib import import_module
from typing import Protocol, cast


class Command(Protocol):
    """What a command's module offers; it is called by the module's name."""

    HELP: str

    def arguments(self, parser: ArgumentParser) -> None:
        """Declares its arguments."""
        ...

    def run(self, arguments: Namespace) -> int | None:
        """Runs it; returns an exit code other than 0, if any. Raises ArchiveError for what a
        user can mend."""
        ...


COMMANDS = (
    "inspect",
    "show",
    "lineage",
    "matrix",
    "components",
    "cover",
    "decisions",
    "diff",
    "report",
    "samplers",
    "export",
    "verify",
    "merge",
    "compact",
)


def commands(names: Iterable[str] = COMMANDS) -> dict[str, Command]:
    """The modules of these commands, imported."""
    return {name: cast(Command, import_module(f"archive.cli.{name}")) for name in names}
