"""``report``: a run as one page to read in a browser."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from pathlib import Path

from archive.cli.arguments import add_run, opened
from archive.query import locate
from archive.store.archive import Archive

HELP = "write a run as one self-contained HTML page"


def arguments(parser: ArgumentParser) -> None:
    """RUN, and where the page goes."""
    add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html"
    )
    parser.add_argument(
        "--measured",
        metavar="RUN",
        action="append",
        default=[],
        help="also show the models of a run of +experiment=measure; may be given again",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--no-judge",
        action="store_true",
        help="do not load the run's judge: best plays without bits for each token",
    )


def run(arguments: Namespace) -> None:
    """Writes the page."""
    # templates and statistics are loaded for this command alone
    from archive.report import write_report

    path = Path(arguments.output)
    with ExitStack() as stack:
        archive = stack.enter_context(opened(arguments))
        measured = [stack.enter_context(Archive.open(locate(each))) for each in arguments.measured]
        size = write_report(
            archive,
            arguments.run_id,
            path,
            force=arguments.force,
            judge=not arguments.no_judge,
            measured=measured,
        )
    print(f"{path} written ({size / 1e6:.1f} MB); open it in a browser")
