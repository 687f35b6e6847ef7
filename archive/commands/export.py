"""``export``: the games of the newest scope as files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.commands.common import add_run, opened
from archive.export import export_xgl

HELP = "write the games of the newest scope to a folder"


def arguments(parser: ArgumentParser) -> None:
    """RUN and FOLDER."""
    add_run(parser)
    parser.add_argument("folder", metavar="FOLDER", help="absent, or empty")


def run(arguments: Namespace) -> None:
    """Writes the folder."""
    with opened(arguments) as archive:
        files = export_xgl(archive, arguments.run_id, arguments.folder)
    print(f"{len(files)} games written to {arguments.folder}")
