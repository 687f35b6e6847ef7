"""``inspect``: runs, scope, verdicts and decisions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, console, opened
from archive.views.inspection import gather, show
from archive.views.tables import to_json

HELP = "show runs, scope, verdicts and decisions"


def arguments(parser: ArgumentParser) -> None:
    """RUN."""
    add_run(parser, optional=True)
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the state of a run."""
    with opened(arguments) as archive:
        state = gather(archive, arguments.run_id)
    if arguments.json:
        print(to_json(state))
    else:
        show(state, console())
