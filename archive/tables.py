"""Tables for people, of text that strangers wrote."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def heading(title: str) -> Text:
    """A title with a blank line above."""
    return Text(f"\n{title}", style="bold")


def table(title: str, *columns: str) -> Table:
    """An empty table; long cells are folded."""
    made = Table(title=heading(title), title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def add(to: Table, *cells: object) -> None:
    """A row of cells as :func:`safe` text."""
    to.add_row(*(safe(str(cell)) for cell in cells))


def counted(count: int, noun: str) -> str:
    """The count with its noun, in the plural where there is not one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def safe(text: str) -> Text:
    """Text without markup and without control characters: games are written by strangers."""
    lines = text.split("\n")
    return Text("\n".join("".join(map(_visible, line)) for line in lines))


def _visible(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]
