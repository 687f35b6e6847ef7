"""``samplers``: what each meta-sampler proposed, how far it came and what it cost."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from archive.cli.arguments import add_json, add_run, console, opened
from archive.views.samplers import SamplerReport, Spread, sampler_reports

HELP = "show what each meta-sampler proposed: funnel, cost, similarity"


def arguments(parser: ArgumentParser) -> None:
    """RUN."""
    add_run(parser)
    add_json(parser)


def run(arguments: Namespace) -> None:
    """Prints a funnel, a cost and a similarity for each meta-sampler of a run."""
    with opened(arguments) as archive:
        reports = sampler_reports(archive, arguments.run_id)
    if arguments.json:
        print(json.dumps([asdict(report) for report in reports], indent=2, allow_nan=False))
        return
    screen = console()
    for table in (_funnel(reports), _cost(reports), _spread(reports)):
        screen.print(table)


def _funnel(reports: Sequence[SamplerReport]) -> Table:
    steps = ("proposals", "valid", "new", "candidates", "feasible", "playable", "accepted")
    table = _table("How far proposals came", "sampler", *steps)
    for report in reports:
        table.add_row(Text(report.sampler), *(str(getattr(report.funnel, step)) for step in steps))
    return table


def _cost(reports: Sequence[SamplerReport]) -> Table:
    table = _table("Cost", "sampler", "its tokens", "seconds", "dollars", "player tokens after it")
    for each in reports:
        spent = f"{each.tokens:,}", f"{each.seconds:,.1f}", f"{each.dollars:.4f}"
        table.add_row(Text(each.sampler), *spent, f"{each.judged_tokens:,}")
    return table


def _spread(reports: Sequence[SamplerReport]) -> Table:
    names = ("mean", "std", "min", "q25", "median", "q75", "max")
    table = _table("Highest similarity to another game; edits to the nearest known", "", *names)
    for each in reports:
        table.add_row(Text(f"{each.sampler}, similarity"), *_cells(each.similarity, names, 3))
        table.add_row(Text(f"{each.sampler}, edits"), *_cells(each.distance, names, 1))
    return table


def _cells(spread: Spread | None, names: Sequence[str], digits: int) -> list[str]:
    return ["–" if spread is None else f"{getattr(spread, name):.{digits}f}" for name in names]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table
