"""``merge``: several archives into a new one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from archive.cli.arguments import add_json
from archive.query import locate
from archive.store.merging import merge
from archive.views.tables import counted, to_json, visible

HELP = "put the runs of several archives into a new one"


def arguments(parser: ArgumentParser) -> None:
    """RUN … and FOLDER."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folders, or archive folders")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="absent, or empty")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Writes the folder."""
    found = merge([locate(each) for each in arguments.runs], arguments.folder)
    if arguments.json:
        print(to_json(found))
        return
    games, rows = counted(found.rows["games"], "game"), sum(found.rows.values())
    runs = counted(len(found.runs), "run")
    print(visible(f"{runs}, {games}, {rows:,} rows written to {found.folder}"))
