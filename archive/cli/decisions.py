"""``decisions``: all of a run, or one walked back to its plays."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, console, opened
from archive.query import find_run
from archive.schema import Verdict
from archive.views.decisions import listed, show_list, show_why, why
from archive.views.tables import to_json

HELP = "list decisions, or walk one back to the plays that it rests on"


def arguments(parser: ArgumentParser) -> None:
    """RUN, and which decisions."""
    add_run(parser, optional=True)
    parser.add_argument("--why", metavar="GAME", help="its id, may be short: explain its decision")
    parser.add_argument("--verdict", choices=[*Verdict], help="only those")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the list, or the explanation."""
    with opened(arguments) as archive:
        run_id = find_run(archive, arguments.run_id).run_id
        if arguments.why is None:
            rows = listed(archive, run_id, arguments.verdict)
            print(to_json(rows)) if arguments.json else show_list(rows, console())
            return
        found = why(archive, run_id, arguments.why)
    if arguments.json:
        print(to_json(found))
        return
    for each in found:
        show_why(each, console())
