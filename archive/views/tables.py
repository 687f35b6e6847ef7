"""What commands print: tables for people, JSON for programs, how far they have come, and never a
control character.

Games, reasons and ids are written by strangers: terminal escapes, direction marks and markup are
shown, not obeyed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial
from itertools import count
from string import ascii_uppercase
from typing import Any, Literal

import rich.console
from rich.table import Table
from rich.text import Text

from archive.run import Row
from archive.schema import Definition, TaskId
from archive.statistics.programs import Rows, program_tables
from archive.statistics.rule import bounds_of
from archive.text import Estimate, cell, interval, signed
from xgl.escaping import json_text, visible, visible_lines

LABEL = 14
"""Characters of the longest name of a player in a table of 80 columns."""

LEGEND = (
    "How to read it: a scope is the set of known games; a parent is the known game that a game "
    "helps; a generation counts the games from an initial one. Helps parent (C): of what training "
    "on the parent gains there, the share that training on this game gains. Known already (γ): of "
    "what training on this game gains, the largest share that training on a known game gives. "
    "About the map: what is lost when the same moves are scored on other texts. A fixed rule (a "
    "script) plays without training. Selection and acceptance: plays that choose games, and fresh "
    "ones that confirm them. [a, b]: bounds."
)
"""The words of tables about one run, below them."""


def plain_text(text: str) -> Text:
    """Lines without markup and without control characters."""
    return Text(visible_lines(text))


def heading(title: str) -> Text:
    return Text(f"\n{visible(title)}", style="bold")


def table(
    title: str, *columns: str, rows: Iterable[Iterable[object]] = (), numbers: bool = False
) -> Table:
    """A table with the cells of these rows, and numbers in all columns but the first, or none; ids
    and texts fold rather than vanish."""
    view = Table(title=heading(title), title_justify="left")
    for index, column in enumerate(columns):
        side: Literal["left", "right"] = "right" if numbers and index else "left"
        view.add_column(plain_text(column), justify=side, overflow="fold")
    for cells in rows:
        add(view, *cells)
    return view


def add(table: Table, *cells: object) -> None:
    table.add_row(*(plain_text(str(cell)) for cell in cells))


def terminal_tables(rows: Mapping[str, Rows]) -> list[Table]:
    """Every table of games that are programs; none where the run has no such game."""
    views = []
    for part in program_tables(rows):
        view = table(part.title, *part.columns, rows=(map(cell, cells) for cells in part.rows))
        view.caption, view.caption_justify = plain_text(part.note), "left"
        views.append(view)
    return views


def short(key: str | None) -> str:
    """An id, or the key of a game in a role, as tables show it; – for None."""
    game_id, *role = (key or "–").split(":")
    return ":".join([game_id[:8], *role])


def labels(names: Iterable[str]) -> dict[str, str]:
    """A label of each player for tables: its name or, if that is long, a letter of its own."""
    names = list(names)
    letters = (f"{letter}{n or ''}" for n in count() for letter in ascii_uppercase)
    free = (each for each in letters if each not in names)
    return {name: name if len(name) <= LABEL else next(free) for name in names}


def show_labels(labels: Mapping[str, str], console: rich.console.Console) -> None:
    """The names that letters stand for, one a line, each whole."""
    for name, label in labels.items():
        if name != label:
            console.print(f"{label}: {name}", soft_wrap=True)


def program(code: str) -> str:
    return "\n".join(f"      {line}" for line in code.split("\n") if line)


def stacked(estimate: Estimate) -> str:
    """An interval in a narrow column: the value above its bounds."""
    return interval(estimate).replace(" [", "\n[")


def gains_tables(rows: Sequence[Row], names: Mapping[TaskId, str]) -> Iterator[Table]:
    """What curricula gain on held-out programs: a table for each kind of gain, of the rows of
    :func:`~archive.statistics.curricula.gains_rows`."""
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        means = [row for row in own if row["game_id"] is None]
        heads = (f"{row['curriculum']} ({row['games']})" for row in means)
        about = f"{kind} gain on held-out programs, bits (95 % over plays and seeds; * above 0)"
        view = table(about, "program", *heads, numbers=True)
        for task, name in names.items():
            add(view, name, *(_gain(row["gain"]) for row in own if TaskId.of(row) == task))
        add(view, "mean", *(_gain(row["gain"]) for row in means))
        leads = (_gain(row["lead"]) if row["lead"] else "" for row in means)
        add(view, f"lead of {means[0]['curriculum']}", *leads)
        yield view


def _gain(estimate: Estimate) -> str:
    """The mean of gains with its interval; a star where that is above 0."""
    star = " *" if estimate.low is not None and estimate.low > 0 else ""
    return f"{interval(estimate, partial(signed, digits=2))}{star}"


def judged(row: Row) -> tuple[str, str, str]:
    """Of a row of ``decisions``, with bounds: the value on the parent that decided, γ, and the lead
    over every script."""
    names = (Definition(row["definition"]).column, "gamma", "beyond_scripts")
    value, gamma, lead = (stacked(bounds_of(row, name)) for name in names)
    return value, gamma, lead


def finite(number: float | None) -> float | None:
    """A number for programs; None where it is undefined or unbounded."""
    return number if number is not None and math.isfinite(number) else None


def to_json(value: Any) -> str:
    """Indented JSON; times in ISO 8601, infinities as "inf" and "-inf", NaN as null, and everything
    that a terminal could obey escaped."""
    return json_text(_plain(value), 2)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
