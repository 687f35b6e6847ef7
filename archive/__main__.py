"""python -m archive COMMAND: reads and exports what a run found.

The commands: their arguments, a function for each, and a table of them. Each imports what it needs
when it runs, to start fast."""

from __future__ import annotations

import gc
import math
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from typing import Any, NamedTuple

from archive.errors import ArchiveError, ExportError, LookupFailedError, RatingError
from archive.export.folder import FORMATS, Options, export as write_export
from archive.run import Run, newest_run
from archive.store.archive import Archive
from archive.text import number
from archive.views.tables import to_json
from xgl.command_line import Argument, Commands, count, flag, numeric, parse
from xgl.console import Console
from xgl.files import user_path
from xgl.streams import exit_code, prepare_streams


class CommandResult(NamedTuple):
    """The result of a command: ``--json`` prints ``value``, ``show`` prints it for people."""

    value: Any
    show: Callable[[Any, Console], object]
    exit_code: int = 0


RUN = (
    Argument(
        "run",
        "a run folder, or an archive folder; default: the last in runs/, here or above",
        metavar="RUN",
        nargs="?",
    ),
    Argument("--run-id", "default: the last run; may be short", metavar="ID"),
)
"""RUN, and which run of its archive is meant; without RUN the one last written to of ./runs."""
GAME = Argument("game", "its id, may be short, or its name in the report", metavar="GAME")
JSON = flag("--json", "for programs")


def columns(name: str, help: str) -> Argument:
    """An argument whose value is names of columns with commas between them."""
    parts = re.compile(r"\s*,\s*").split
    return Argument(name, help, type=parts, default=(), metavar="COLUMNS")


def open_archive(arguments: Namespace) -> Archive:
    """The archive that RUN names, to read. Raises ArchiveError."""
    return Archive.open(arguments.run or newest_run())


@contextmanager
def open_run(arguments: Namespace) -> Iterator[Run]:
    """The run that RUN and ``--run-id`` name, to read. Raises ArchiveError."""
    with open_archive(arguments) as archive:
        yield Run(archive, arguments.run_id)


LARGE_TABLE = 20_000
"""Models² × tasks above which a table has no intervals unless they are asked for."""


def inspect(arguments: Namespace) -> CommandResult:
    """What a run found: its known games (the scope), and what was decided on each proposal."""
    from archive.views.inspection import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run), show)


def show(arguments: Namespace) -> CommandResult:
    """Everything that the archive holds about one game, over all runs."""
    from archive.views.inspection import gather_game, show_game

    if arguments.run is None and (user_path(arguments.game) / "archive").is_dir():
        raise LookupFailedError(f"{arguments.game}: found a run, expected GAME after it")
    with open_run(arguments) as run:
        return CommandResult(gather_game(run.archive, *run.find_game(arguments.game)), show_game)


def matrix(arguments: Namespace) -> CommandResult:
    """Who teaches whom: what training on one game gains on another, with intervals."""
    from archive.views.matrix import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run, arguments.all), show)


def components(arguments: Namespace) -> CommandResult:
    """The games that each game teaches, at once or by way of others (components, Definition 54)."""
    from archive.views.matrix import gather_components, show_components

    with open_run(arguments) as run:
        return CommandResult(gather_components(run, arguments.alpha), show_components)


def cover(arguments: Namespace) -> CommandResult:
    """The fewest games of a run that teach all games of its newest scope, the known games."""
    from archive.statistics.covers import CoverQuestion
    from archive.views.cover import gather, show

    with open_run(arguments) as run:
        finetuned, skip = arguments.source == "finetuned", arguments.skip_unplayable
        answer = gather(run, CoverQuestion(arguments.eta, *run.deciding_value, finetuned, skip))
        rows = run.games(game_id for game_id, _ in answer["cover"]["members"])
    programs = {game_id: row["code"] for game_id, row in rows.items()}
    return CommandResult(answer, lambda _, console: show(answer, programs, console))


def decisions(arguments: Namespace) -> CommandResult:
    """All decisions of a run, or one traced back to its plays."""
    from archive.views.decisions import explain, show_list, show_why

    with open_run(arguments) as run:
        if not run.decisions:
            run.newest_scope  # noqa: B018 – raises for a run of another kind
        if arguments.why is None:
            return CommandResult(run.decisions, show_list)
        return CommandResult(explain(run, arguments.why), show_why)


def ratings(arguments: Namespace) -> CommandResult:
    """A leaderboard that copies of a task do not change, of a measure or of any table of scores
    (docs/explanation/ratings.md)."""
    from archive.ratings.preferences import Preference
    from archive.statistics.outcome_table import TableChoice, read_block
    from archive.statistics.ratings import RatingQuestion, measure_block, rate_block
    from archive.views.ratings import as_json, show

    if bool(arguments.runs) == bool(arguments.table):
        found = "both" if arguments.table else "neither"
        raise RatingError(f"ratings: found {found}, expected runs, or --table FILE")
    question, count = RatingQuestion(Preference(arguments.preference)), arguments.resamples
    if arguments.table:
        choice = TableChoice(arguments.model, arguments.task, arguments.score, arguments.tasks)
        block = read_block(user_path(arguments.table), question.preference, choice)
        if count is None and len(block.models) ** 2 * len(block.tasks) > LARGE_TABLE:
            count = 0
    else:
        with ExitStack() as stack:
            archives = [stack.enter_context(Archive.open(run)) for run in arguments.runs]
            block = measure_block(archives, question.preference)
            runs = (run for archive in archives for run in Run.all(archive))
            seed = next(r.config.get("seed", 0) for r in runs if "digest" in r.config)
            question = question._replace(seed=seed % 2**31)  # as in the run
    if count is not None:
        question = question._replace(resamples=count)
    ratings = rate_block(block, question)
    return CommandResult(as_json(ratings), lambda _, console: show(ratings, console))


def verify(arguments: Namespace) -> CommandResult:
    """Whether every file, number and decision agrees with the plays. Exit code 2 if not."""
    from archive.verification import verify
    from archive.views.inspection import show_verification

    with open_archive(arguments) as archive:
        verification = verify(archive)
    return CommandResult(verification, show_verification, 2 if verification.faults else 0)


# -- commands that write files ---------------------------------------------------------------------


def _lines(*lines: str) -> CommandResult:
    return CommandResult(None, lambda _value, _console: print("\n".join(lines)))


def report(arguments: Namespace) -> CommandResult:
    """A run as one page to read in a browser."""
    from archive.report.page import write_report

    path = user_path(arguments.output)
    with ExitStack() as stack:
        run = stack.enter_context(open_run(arguments))
        models = [stack.enter_context(Archive.open(name)) for name in arguments.measured]
        for model in models:
            if not model.count("measures"):
                found = f"--measured: found no normalised score in {model.folder}"
                raise LookupFailedError(f"{found}, expected a run of +experiment=measure")
        size = write_report(run, path, force=arguments.force, measured_archives=models)
    return _lines(f"{path} written ({number(size / 1e6, 1)} MB); open it in a browser")


def export(arguments: Namespace) -> CommandResult:
    """Games as files, as a measure for an evaluation, or as rows and environments to train on."""
    names = [field.name for field in fields(Options)]
    options = Options(**{name: getattr(arguments, name) for name in names})
    if arguments.run is None and (user_path(arguments.folder) / "archive").is_dir():
        raise ExportError(f"{arguments.folder}: found a run, expected FOLDER after it")
    with open_run(arguments) as run:
        return _lines(*write_export(run, arguments.folder, options))


_ALPHA = numeric(
    "--alpha",
    "the share of a game's own gain from which on another teaches it, above 0",
    "a number above 0",
    lambda alpha: alpha > 0,
    required=True,
    metavar="A",
)
_COVER = (
    numeric(
        "--eta",
        "how much of each game's own gain the cover must teach; default: 0.3",
        "a number from 0 up",
        lambda eta: 0 <= eta < math.inf,
        metavar="η",
        default=0.3,
    ),
    Argument(
        "--from",
        "which games may be members: those of the scope (default), or all fine-tuned ones",
        dest="source",
        choices=("scope", "finetuned"),
        default="scope",
    ),
    flag("--skip-unplayable", "leave out games that nothing was shown to teach"),
)
_REPORT = (
    Argument("-o --output", "default: report.html", metavar="FILE.html", default="report.html"),
    Argument(
        "--measured",
        "also show the models of a run of +experiment=measure; may be given again",
        metavar="RUN",
        action="append",
        default=[],
    ),
    flag("--force", "replace an existing file"),
)
_EXPORT = (
    Argument("folder", "a new or empty folder", metavar="FOLDER"),
    Argument(
        "--format",
        "game files (default); a measure for the authors' package, or for Inspect; prompts to "
        "train on; an environment of verifiers; archived moves for SFT or DPO; adapters for PEFT",
        choices=tuple(FORMATS),
        default="xgl",
    ),
    numeric(
        "--eta",
        "the fewest games that teach the others this share of their gain; default: all",
        "a number above 0, such as 0.3",
        lambda eta: 0 < eta < math.inf,
        metavar="η",
    ),
    count("--maps", "of a game, at most; default: 20, rows to train on 256, measured runs all", 1),
    Argument(
        "--judge", "the run's judge, to be named where another user began the run", metavar="MODEL"
    ),
    flag("--allow-inexact", "also games that are nearly the same in the authors' engine"),
    flag("--skip-unplayable", "leave out games that nothing was shown to teach"),
    flag(
        "--with-judge",
        "copy the judge's weights, of any size, to the folder; default: up to 64 MiB, or with "
        "--no-scores none",
    ),
    Argument(
        "--no-scores",
        "load no judge, and do not score the best known moves",
        dest="scores",
        action="store_false",
    ),
    count("--playable", "of a measure: so many games, drawn from all learned ones", 0),
    numeric(
        "--discriminating",
        "of the measure of a measured run: the fewest games that rank its players as all do, with "
        "no mean narms off by more than this share; default: all games",
        "a share from 0 to 1, such as 0.1",
        lambda share: 0 <= share <= 1,
        metavar="SHARE",
    ),
)
_RATINGS = (
    Argument("runs", "runs of +experiment=measure on one measure", metavar="RUN", nargs="*"),
    Argument(
        "--preference",
        "who scored more on a map (default), or by how much, as a share of the base player's "
        "progress",
        choices=("win", "margin"),
        default="win",
    ),
    Argument(
        "--table",
        "instead of runs: scores of models on tasks, as CSV, JSONL or Parquet",
        metavar="FILE",
    ),
    Argument("--model", "the column of the model", metavar="COLUMN"),
    columns("--task", "the column of the task, or several"),
    Argument("--score", "the column of the score", metavar="COLUMN"),
    columns("--tasks", "columns that are the tasks"),
    count(
        "--resamples",
        "of maps, or of a table's tasks; 0: no intervals; default: 200, and 0 for large tables",
        0,
    ),
)

COMMANDS: Commands = {
    inspect: (*RUN, JSON),
    show: (*RUN, GAME, JSON),
    matrix: (*RUN, flag("--all", "all trained games (default: the newest scope)"), JSON),
    components: (*RUN, _ALPHA, JSON),
    cover: (*RUN, JSON, *_COVER),
    decisions: (*RUN, Argument("--why", "a game: explain its decision", metavar="GAME"), JSON),
    report: (*RUN, *_REPORT),
    ratings: (*_RATINGS, JSON),
    export: (*RUN, *_EXPORT),
    verify: (RUN[0], JSON),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, or 2 if verification found faults or after a user's error (one
    sentence on stderr)."""
    prepare_streams()
    return exit_code(lambda: _run(argv), ArchiveError)


def _run(argv: Sequence[str] | None) -> int:
    about = (__doc__ or "").partition("\n")[0]
    arguments = parse("python -m archive", about, COMMANDS, argv)
    result: CommandResult = arguments.command(arguments)
    if getattr(arguments, "json", False):
        print(to_json(result.value))
    else:
        result.show(result.value, Console())
    return result.exit_code


def command_line() -> int:
    """:func:`main` in a process of its own."""
    # Imports make many long-lived objects; searching them for garbage took a seventh of the time of
    # a report.
    gc.set_threshold(50_000, 20, 100)
    return main()


if __name__ == "__main__":
    sys.exit(command_line())
