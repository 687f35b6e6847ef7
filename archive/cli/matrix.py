"""``matrix``: gains, C and V between games, with intervals."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, add_sample, choice, console, opened
from archive.views.matrix import gather, show
from archive.views.tables import to_json

HELP = "show gains, C and V between games, with intervals"


def arguments(parser: ArgumentParser) -> None:
    """RUN, and which games and gains."""
    add_run(parser, optional=True)
    add_sample(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the matrix."""
    with opened(arguments) as archive:
        matrix = gather(archive, choice(arguments))
    if arguments.json:
        print(to_json(matrix))
    else:
        show(matrix, console())
