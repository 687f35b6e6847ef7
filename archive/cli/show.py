"""``show``: all that is known of one game."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, console, opened
from archive.views.game import gather, show
from archive.views.tables import to_json

HELP = "show one game: program, proposals, fine-tunings, decisions, plays"


def arguments(parser: ArgumentParser) -> None:
    """RUN and GAME."""
    add_run(parser, optional=True)
    parser.add_argument("game", metavar="GAME", help="its id; may be short")
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the game, over all runs of the archive."""
    with opened(arguments) as archive:
        sheet = gather(archive, arguments.game)
    if arguments.json:
        print(to_json(sheet))
    else:
        show(sheet, console())
