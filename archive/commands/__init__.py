"""The commands of ``python -m archive``, a module each: ``HELP``, ``arguments`` and ``run``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Protocol

from archive.commands import export, inspect, samplers


class Command(Protocol):
    """What a command's module offers; it is called by the module's name."""

    HELP: str

    def arguments(self, parser: ArgumentParser) -> None:
        """Declares its arguments."""
        ...

    def run(self, arguments: Namespace) -> None:
        """Runs it; raises ArchiveError for what a user can mend."""
        ...


COMMANDS: dict[str, Command] = {
    "inspect": inspect,
    "export": export,
    "samplers": samplers,
}
