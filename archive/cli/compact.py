"""``compact``: many small files into one for each table; the commit log stays."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json
from archive.query import locate
from archive.schema import TABLES
from archive.store.archive import Archive
from archive.views.tables import to_json, visible

HELP = "put each table into one file, keeping the history of its commits"


def arguments(parser: ArgumentParser) -> None:
    """RUN."""
    parser.add_argument("run", metavar="RUN", help="a run folder, or an archive folder")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Rewrites the files."""
    with Archive.open(locate(arguments.run), "a") as archive:
        before = sum(len(archive.files(name)) for name in TABLES)
        commit = archive.compact()
        after = sum(len(archive.files(name)) for name in TABLES)
        found = {"folder": str(archive.folder), "files_before": before, "files_after": after}
    if arguments.json:
        print(to_json({**found, "commit": None if commit is None else commit.number}))
    elif commit is None:
        print(visible(f"{found['folder']}: each table is one file already"))
    else:
        print(visible(f"{found['folder']}: {before} files became {after}"))
