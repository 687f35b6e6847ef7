"""The commands. Each imports what it needs when it runs, to start fast."""

from __future__ import annotations

import math
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from archive.cli.command import CommandResult, open_archive, open_run, parsed
from archive.errors import RatingError
from archive.export.folder import Options
from archive.export.folder import export as write_export
from archive.schema import GainKind
from archive.store.archive import Archive
from archive.text import number
from xgl.paths import user_path

if TYPE_CHECKING:
    from archive.statistics.outcome_table import TableChoice

LARGE_TABLE = 20_000
"""Models² × tasks above which a table has no intervals unless they are asked for."""


def inspect(arguments: Namespace) -> CommandResult:
    """What a run found: its known games (the scope), and what was decided on each proposal."""
    from archive.views.inspection import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run), show)


def show(arguments: Namespace) -> CommandResult:
    """Everything that the archive holds about one game, over all runs."""
    from archive.views.game import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run.archive, run.find_game(arguments.game)), show)


def lineage(arguments: Namespace) -> CommandResult:
    """The ancestors and descendants of a game."""
    from archive.views.game import gather_lineage, show_lineage

    with open_run(arguments) as run:
        return CommandResult(gather_lineage(run, arguments.game), show_lineage)


def matrix(arguments: Namespace) -> CommandResult:
    """Who teaches whom: what training on one game gains on another, with intervals."""
    from archive.views.matrix import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run, *_sample(arguments)), show)


def components(arguments: Namespace) -> CommandResult:
    """The games that each game teaches, at once or by way of others (components, Definition 54)."""
    from archive.views.matrix import gather_components, show_components

    with open_run(arguments) as run:
        question = arguments.alpha, arguments.definition, *_sample(arguments)
        return CommandResult(gather_components(run, *question), show_components)


def _sample(arguments: Namespace) -> tuple[bool, GainKind | None, float]:
    """Which games are compared, by which gain, and the confidence of bounds."""
    return arguments.all, arguments.gain, arguments.confidence


def cover(arguments: Namespace) -> CommandResult:
    """The fewest games of a run that teach all games of its newest scope, the known games."""
    from archive.statistics.covers import CoverQuestion, scope_cover, sweep
    from archive.views.cover import as_json, show

    eta = parsed("--eta", arguments.eta, "a number from 0 up", lambda eta: 0 <= eta < math.inf)
    confidence = parsed(
        "--confidence",
        arguments.confidence,
        "a number between 0.5 and 1",
        lambda share: 0.5 < share < 1,
    )
    with open_run(arguments) as run:
        scope = [member.task_id for member in run.newest_scope[1]]
        definition, gain = run.deciding_value
        question = CoverQuestion(
            eta,
            arguments.definition or definition,
            arguments.gain or gain,
            arguments.source == "finetuned",
            confidence,
            arguments.skip_unplayable,
        )
        answer = scope_cover(run, scope, question)
        codes = run.games(task_id.game_id for task_id in answer.matrix.sources)
    steps = sweep(answer) if arguments.sweep else []
    programs = {game_id: row["code"] for game_id, row in codes.items()}
    return CommandResult(
        as_json(answer, run.run_id, steps),
        lambda _, console: show(answer, programs, steps, console),
    )


def decisions(arguments: Namespace) -> CommandResult:
    """All decisions of a run, or one traced back to its plays."""
    from archive.views.decisions import decision_rows, explain, show_list, show_why

    with open_run(arguments) as run:
        if arguments.why is None:
            return CommandResult(decision_rows(run, arguments.verdict), show_list)
        return CommandResult(explain(run, arguments.why), show_why)


def samplers(arguments: Namespace) -> CommandResult:
    """What each meta-sampler (which proposes games) proposed, how far it came, and its cost."""
    from archive.views.samplers import gather, show

    with open_run(arguments) as run:
        return CommandResult(gather(run), show)


def ratings(arguments: Namespace) -> CommandResult:
    """A leaderboard that copies of a task do not change, of a measure or of any table of scores
    (docs/explanation/ratings.md)."""
    from archive.ratings.preferences import Preference
    from archive.report.page import require_free, write_ratings
    from archive.statistics.outcome_table import read_block
    from archive.statistics.paired_scores import read_paired_scores
    from archive.statistics.ratings import (
        RatingQuestion,
        measure_block,
        rate_block,
        useful_workers,
    )
    from archive.views.ratings import as_json, show
    from archive.views.tables import resampling

    if bool(arguments.runs) == bool(arguments.table):
        found = "both" if arguments.table else "neither"
        raise RatingError(f"ratings: found {found}, expected runs, or --table FILE")
    if arguments.output:
        require_free(user_path(arguments.output), arguments.force)
    preference = Preference(arguments.preference)
    if arguments.table:
        block = read_block(user_path(arguments.table), preference, _table_choice(arguments))
    else:
        with ExitStack() as stack:
            archives = [stack.enter_context(Archive.open(run)) for run in arguments.runs]
            block = measure_block(read_paired_scores(archives), preference)
    size = len(block.models), len(block.tasks)
    question = RatingQuestion(
        Preference.JUDGED if block.mean_of == "win rate" else preference,
        parsed("--confidence", arguments.confidence, "between 0.5 and 1", lambda p: 0.5 < p < 1),
        resamples(arguments, *size),
    )
    workers = useful_workers(*size, question.resamples)
    if arguments.workers is not None:
        workers = _count("--workers", arguments.workers, 1)
    with resampling() as progress:
        ratings = rate_block(block, question, workers, progress)
    if arguments.output:
        title = Path(arguments.table).name if arguments.table else "Models of a measure"
        write_ratings(ratings, title, arguments.output, force=arguments.force)
    return CommandResult(as_json(ratings), lambda _, console: show(ratings, console))


def _table_choice(arguments: Namespace) -> TableChoice:
    from archive.statistics.outcome_table import TableChoice

    task, tasks = (
        tuple(part.strip() for part in text.split(",")) if text else ()
        for text in (arguments.task, arguments.tasks)
    )
    return TableChoice(arguments.model, task, arguments.score, tasks, arguments.missing)


def resamples(arguments: Namespace, models: int, tasks: int) -> int:
    """The number asked for; by default as many as in a run, and none of a large table, which would
    take minutes."""
    from archive.statistics.ratings import RatingQuestion

    if arguments.resamples is not None:
        return _count("--resamples", arguments.resamples, 0)
    return 0 if arguments.table and models**2 * tasks > LARGE_TABLE else RatingQuestion.resamples


def _count(name: str, text: str, least: int) -> int:
    """A whole number of at least ``least``. Raises ArchiveError."""
    expected = f"a whole number from {least} up"
    return int(parsed(name, text, expected, lambda n: n >= least and n == int(n)))


def verify(arguments: Namespace) -> CommandResult:
    """Whether every file, number and decision agrees with the plays. Exit code 2 if not."""
    from archive.verification import verify
    from archive.views.inspection import show_verification

    with open_archive(arguments) as archive:
        verification = verify(archive)
    return CommandResult(verification, show_verification, 2 if verification.faults else 0)


# -- commands that write files ---------------------------------------------------------------------


def _lines(*lines: str, value: object = None) -> CommandResult:
    """A result that is shown as these lines."""
    return CommandResult(value, lambda _value, _console: print("\n".join(lines)))


def report(arguments: Namespace) -> CommandResult:
    """A run as one page to read in a browser."""
    from archive.report.page import write_report

    path = user_path(arguments.output)
    with ExitStack() as stack:
        run = stack.enter_context(open_run(arguments))
        models = [stack.enter_context(Archive.open(name)) for name in arguments.measured]
        size = write_report(
            run,
            path,
            force=arguments.force,
            judge=not arguments.no_judge and (arguments.judge or True),
            measured_archives=models,
        )
    return _lines(f"{path} written ({number(size / 1e6, 1)} MB); open it in a browser")


def export(arguments: Namespace) -> CommandResult:
    """Games as files, as a measure for an evaluation, or as rows and environments to train on."""
    playable = arguments.playable
    options = Options(
        format=arguments.format,
        eta=None if arguments.eta is None else _eta(arguments.eta),
        maps=None if arguments.maps is None else _count("--maps", arguments.maps, 1),
        judge=arguments.judge,
        definition=arguments.definition,
        skip_unplayable=arguments.skip_unplayable,
        allow_inexact=arguments.allow_inexact,
        with_judge=arguments.with_judge,
        scores=not arguments.no_scores,
        ceiling=_count("--ceiling", arguments.ceiling, 0),
        playable=None if playable is None else _count("--playable", playable, 0),
        draw=_count("--draw", arguments.draw, 0),
        discriminating=_tolerance(arguments.discriminating),
    )
    with open_run(arguments) as run:
        return _lines(*write_export(run, arguments.folder, options))


def _tolerance(text: str | None) -> float | None:
    between = "a share from 0 to 1, such as 0.1"
    if text is None:
        return None
    return parsed("--discriminating", text, between, lambda share: 0 <= share <= 1)


def _eta(text: str) -> float:
    return parsed("--eta", text, "a number above 0, such as 0.3", lambda eta: 0 < eta < math.inf)
