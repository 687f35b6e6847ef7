"""python -m archive inspect | export: looks into an archive and takes games out of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from archive.errors import ArchiveError
from archive.export import export_xgl
from archive.inspection import gather, show, to_json
from archive.query import locate
from archive.store import Archive


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, or 2 after a user's error, told in one sentence on stderr."""
    arguments = _parser().parse_args(argv)
    try:
        with Archive.open(locate(arguments.run)) as archive:
            arguments.command(archive, arguments)
    except ArchiveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m archive", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    inspect = commands.add_parser("inspect", help="show runs, scope, verdicts and decisions")
    inspect.add_argument("--json", action="store_true", help="for programs")
    inspect.set_defaults(command=_inspect)
    export = commands.add_parser("export", help="write the games of the newest scope to a folder")
    export.set_defaults(command=_export)
    for command in (inspect, export):
        command.add_argument("run", metavar="RUN", help="a run folder, or its archive folder")
        command.add_argument("--run-id", metavar="ID", help="default: the last run; may be short")
    export.add_argument("folder", metavar="FOLDER", help="absent, or empty")
    return parser


def _inspect(archive: Archive, arguments: argparse.Namespace) -> None:
    state = gather(archive, arguments.run_id)
    if arguments.json:
        print(to_json(state))
    else:
        show(state, Console(markup=False, highlight=False))


def _export(archive: Archive, arguments: argparse.Namespace) -> None:
    files = export_xgl(archive, arguments.run_id, arguments.folder)
    print(f"{len(files)} games written to {arguments.folder}")


if __name__ == "__main__":
    sys.exit(main())
