"""Commands that write files: a page, an export, another archive."""

from __future__ import annotations

import math
from argparse import Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING

from archive.cli.command import CommandResult, open_run, parsed
from archive.errors import ArchiveError
from archive.run import Run
from archive.store.archive import Archive
from archive.text import listed, number, plural
from xgl.paths import user_path

if TYPE_CHECKING:
    from archive.export import Options


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
    eta = None if arguments.eta is None else _eta(arguments.eta)
    maps = None if arguments.maps is None else _count(arguments.maps)
    with open_run(arguments) as run:
        return _lines(*EXPORTS[arguments.format](run, arguments, eta, maps))


def _xgl(run: Run, arguments: Namespace, eta: float | None, _: int | None) -> list[str]:
    from archive.export import export_xgl

    files = export_xgl(run, arguments.folder, eta)
    return [f"{plural(len(files), 'game')} written to {arguments.folder}"]


def _measure(run: Run, arguments: Namespace, eta: float | None, maps: int | None) -> list[str]:
    from archive.export import export_xent

    options = _options(arguments, eta, maps)
    measure = export_xent(run, arguments.folder, options)
    delta = "" if measure.selection.delta is None else f", Δ = {number(measure.selection.delta, 3)}"
    members = plural(len(measure.members), "game")
    return [f"{members}{delta} written to {arguments.folder}; see its README.md"]


def _dataset(run: Run, arguments: Namespace, eta: float | None, maps: int | None) -> list[str]:
    from archive.export import export_dataset

    folder = arguments.folder
    dataset = export_dataset(run, folder, eta, **_count_option(maps), judge=arguments.judge)
    rows = listed([f"{rows} {split}" for split, rows in dataset.rows.items()])
    return [
        f"{rows} prompts written to {folder}; see its README.md",
        *(
            f"left out: {task.game_id} ({task.role}): {why}"
            for task, why in dataset.left_out.items()
        ),
    ]


def _verifiers(run: Run, arguments: Namespace, eta: float | None, maps: int | None) -> list[str]:
    from archive.export import export_verifiers

    folder = arguments.folder
    environment = export_verifiers(run, folder, eta, **_count_option(maps), judge=arguments.judge)
    rows = listed([f"{rows} {split}" for split, rows in environment.rows.items()])
    return [f"{rows} tasks written to {folder} as {environment.name}; see its README.md"]


def _moves(run: Run, arguments: Namespace, eta: float | None, maps: int | None) -> list[str]:
    from archive.export import export_moves

    folder, kind = arguments.folder, arguments.format
    rows = export_moves(run, folder, kind, eta, **_count_option(maps))
    return [f"{rows} rows written to {folder}; see its README.md"]


def _peft(run: Run, arguments: Namespace, eta: float | None, _: int | None) -> list[str]:
    from archive.export import export_peft

    result = export_peft(run, arguments.folder, eta)
    without = f"; {plural(result.without, 'game')} without a fine-tune" if result.without else ""
    return [f"{plural(len(result.names), 'adapter')} written to {arguments.folder}{without}"]


EXPORTS = {
    "xgl": _xgl,
    "xent": _measure,
    "inspect": _measure,
    "dataset": _dataset,
    "verifiers": _verifiers,
    "sft": _moves,
    "dpo": _moves,
    "peft": _peft,
}
"""Formats of an export by name, which are the choices of ``--format`` in the same order."""


def _count_option(maps: int | None) -> dict[str, int]:
    return {} if maps is None else {"count": maps}


def _options(arguments: Namespace, eta: float | None, maps: int | None) -> Options:
    from archive.export import Options

    return Options(
        eta=eta,
        definition=arguments.definition,
        skip_unplayable=arguments.skip_unplayable,
        allow_inexact=arguments.allow_inexact,
        with_judge=arguments.with_judge,
        judge=arguments.judge,
        scores=not arguments.no_scores,
        inspect=arguments.format == "inspect",
        ceiling=_whole("--ceiling", arguments.ceiling),
        playable=None if arguments.playable is None else _whole("--playable", arguments.playable),
        draw=_whole("--draw", arguments.draw),
        **({} if maps is None else {"maps": maps}),
    )


def _eta(text: str) -> float:
    return parsed("--eta", text, "a number above 0, such as 0.3", lambda eta: 0 < eta < math.inf)


def _whole(name: str, text: str) -> int:
    expected = "a whole number from 0 up"
    return int(parsed(name, text, expected, lambda n: n >= 0 and n == int(n)))


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArchiveError(f"--maps: found {text}, expected a whole number from 1 up")
    return int(text)
