"""Games that are programs, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from archive.statistics.programs import Rows, program_tables
from archive.text import cell
from archive.views.tables import add, table


def terminal_tables(rows: Mapping[str, Rows]) -> list[Table]:
    """Every table of a run; none where the run has no such game."""
    views = []
    for part in program_tables(rows):
        view = table(f"{part.title}\n{part.note}".strip(), *part.columns)
        for cells in part.rows:
            add(view, *map(cell, cells))
        views.append(view)
    return views
