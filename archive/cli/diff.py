"""``diff``: two runs side by side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack

from archive.cli.arguments import add_json, console
from archive.query import locate
from archive.store.archive import Archive
from archive.views.difference import gather, show
from archive.views.tables import to_json

HELP = "show what differs between two runs: settings, scopes, verdicts"


def arguments(parser: ArgumentParser) -> None:
    """RUN and RUN."""
    for name in ("first", "second"):
        parser.add_argument(
            name, metavar="RUN", help="a run folder; with --in, the id of a run, may be short"
        )
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="an archive of several runs")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the difference."""
    named = (arguments.first, arguments.second)
    folders = named if arguments.folder is None else (arguments.folder, arguments.folder)
    ids = (None, None) if arguments.folder is None else named
    with ExitStack() as stack:
        first, second = (stack.enter_context(Archive.open(locate(each))) for each in folders)
        found = gather(first, second, *ids)
    if arguments.json:
        print(to_json(found))
    else:
        show(found, console())
