"""Commands that write files: a page, an export, another archive."""

from __future__ import annotations

import math
from argparse import Namespace
from contextlib import ExitStack

from archive.cli.command import CommandResult, open_run, parsed
from archive.errors import ArchiveError
from archive.export.folder import Options
from archive.export.folder import export as write_export
from archive.store.archive import Archive
from archive.text import number
from xgl.paths import user_path


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
    options = Options(
        format=arguments.format,
        eta=None if arguments.eta is None else _eta(arguments.eta),
        maps=None if arguments.maps is None else _count(arguments.maps),
        judge=arguments.judge,
        definition=arguments.definition,
        skip_unplayable=arguments.skip_unplayable,
        allow_inexact=arguments.allow_inexact,
        with_judge=arguments.with_judge,
        scores=not arguments.no_scores,
        ceiling=_whole("--ceiling", arguments.ceiling),
        playable=None if arguments.playable is None else _whole("--playable", arguments.playable),
        draw=_whole("--draw", arguments.draw),
    )
    with open_run(arguments) as run:
        return _lines(*write_export(run, arguments.folder, options))


def _eta(text: str) -> float:
    return parsed("--eta", text, "a number above 0, such as 0.3", lambda eta: 0 < eta < math.inf)


def _whole(name: str, text: str) -> int:
    expected = "a whole number from 0 up"
    return int(parsed(name, text, expected, lambda n: n >= 0 and n == int(n)))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArchiveError(f"--maps: found {text}, expected a whole number from 1 up")
    return int(text)
