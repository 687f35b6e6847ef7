"""``lineage``: where a game came from and what came of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, console, opened
from archive.query import find_run
from archive.views.lineage import gather, show
from archive.views.tables import to_json

HELP = "show the ancestors of a game and all that came of it"


def arguments(parser: ArgumentParser) -> None:
    """RUN and GAME."""
    add_run(parser, optional=True)
    parser.add_argument("game", metavar="GAME", help="its id; may be short")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the tree."""
    with opened(arguments) as archive:
        run_id = find_run(archive, arguments.run_id).run_id
        lineage = gather(archive, run_id, arguments.game)
    if arguments.json:
        print(to_json(lineage))
    else:
        show(lineage, console())
