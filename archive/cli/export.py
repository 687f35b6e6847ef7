"""``export``: games as files, as a measure for the authors' package, or as prompts to train on."""

from __future__ import annotations

import math
from argparse import SUPPRESS, ArgumentParser, Namespace

from archive.cli.arguments import add_run, opened
from archive.errors import ExportError
from archive.export import Options, export_dataset, export_xent, export_xgl
from archive.schema import Definition
from archive.store.archive import Archive

HELP = "write the games of the newest scope, or of a cover of it, to a folder"
FORMATS = ("xgl", "xent", "dataset")


def arguments(parser: ArgumentParser) -> None:
    """RUN, FOLDER and what to write there."""
    add_run(parser)
    parser.add_argument("folder", metavar="FOLDER", help="absent, or empty")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="xgl",
        help="game files (default), a measure for the authors' package, or prompts to train on",
    )
    parser.add_argument("--eta", metavar="η", help="games of the smallest η-cover; default: all")
    parser.add_argument(
        "--maps", metavar="N", help="of a game, at most; default: 20 (dataset: 256)"
    )
    measure = parser.add_argument_group("--format xent")
    measure.add_argument(
        "--allow-inexact", action="store_true", help="also games that mean nearly the same there"
    )
    measure.add_argument(
        "--definition",
        type=Definition,
        choices=[*Definition],
        help="value of the cover; default: the run's",
    )
    measure.add_argument(
        "--skip-unplayable", action="store_true", help="cover without games of no defined value"
    )
    measure.add_argument(
        "--with-judge",
        action="store_true",
        default=None,
        help="the judge's weights into the folder, however large; default: up to 64 MiB",
    )
    measure.add_argument("--without-judge", dest="with_judge", action="store_false", help=SUPPRESS)
    measure.add_argument(
        "--no-scores",
        action="store_true",
        help="load no judge, and do not measure how far scores moved",
    )


def run(arguments: Namespace) -> None:
    """Writes the folder."""
    eta = None if arguments.eta is None else _eta(arguments.eta)
    maps = None if arguments.maps is None else _count(arguments.maps)
    with opened(arguments) as archive:
        if arguments.format == "xgl":
            files = export_xgl(archive, arguments.run_id, arguments.folder, eta)
            print(f"{len(files)} games written to {arguments.folder}")
        elif arguments.format == "dataset":
            _dataset(archive, arguments, eta, maps)
        else:
            _measure(archive, arguments, eta, maps)


def _measure(archive: Archive, arguments: Namespace, eta: float | None, maps: int | None) -> None:
    options = Options(
        eta=eta,
        definition=arguments.definition,
        skip_unplayable=arguments.skip_unplayable,
        allow_inexact=arguments.allow_inexact,
        with_judge=arguments.with_judge,
        compare=not arguments.no_scores,
    )
    if maps is not None:
        options = Options(**{**vars(options), "maps": maps})
    made = export_xent(archive, arguments.run_id, arguments.folder, options)
    delta = "" if made.chosen.delta is None else f", Δ = {made.chosen.delta:.3f}"
    count = len(made.members)
    print(f"{_counted(count, 'game')}{delta} written to {arguments.folder}; see its README.md")


def _dataset(archive: Archive, arguments: Namespace, eta: float | None, maps: int | None) -> None:
    more = {} if maps is None else {"count": maps}
    made = export_dataset(archive, arguments.run_id, arguments.folder, eta, **more)
    rows = " and ".join(f"{count} {split}" for split, count in made.rows.items())
    print(f"{rows} prompts written to {arguments.folder}; see its README.md")
    for (game_id, role), why in made.left_out.items():
        print(f"left out: {game_id} ({role}): {why}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _eta(text: str) -> float:
    try:
        eta = float(text)
    except ValueError:
        eta = math.nan
    if not 0 < eta < math.inf:
        raise ExportError(f"--eta: found {text}, expected a number above 0, such as 0.3")
    return eta


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ExportError(f"--maps: found {text}, expected a whole number from 1 up")
    return int(text)
