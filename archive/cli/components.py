"""``components``: what is reached from what by links of value at least α (Def. 54)."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, add_sample, choice, console, opened
from archive.schema import Definition
from archive.views.matrix import gather_components, show_components
from archive.views.tables import to_json

HELP = "show downstream and upstream components at a threshold"


def arguments(parser: ArgumentParser) -> None:
    """RUN, α, and which games and values."""
    add_run(parser, optional=True)
    parser.add_argument(
        "--alpha", type=float, required=True, metavar="A", help="least value of a link, above 0"
    )
    parser.add_argument(
        "--definition",
        type=Definition,
        choices=[*Definition],
        default=Definition.CAPTURED,
        help="C, the captured fraction, or V of Definition 37 (default: captured)",
    )
    add_sample(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints the components."""
    with opened(arguments) as archive:
        asked = (arguments.alpha, arguments.definition)
        found = gather_components(archive, choice(arguments), *asked)
    if arguments.json:
        print(to_json(found))
    else:
        show_components(found, console())
