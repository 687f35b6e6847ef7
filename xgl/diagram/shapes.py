"""Shapes of a drawing; coordinates in pixels, y downwards."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

Point = tuple[float, float]
CELL = 0.61
"""Width of a monospaced character, in font sizes."""


@dataclass(frozen=True, slots=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: str
    stroke: str
    mark: str = ""
    """Its meaning: the class in the SVG."""
    order: int = 0
    """The instruction it belongs to, from 1; 0: none."""


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    fill: str
    stroke: str
    mark: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A polyline; ``dash`` as in SVG's stroke-dasharray, empty for a solid one."""

    points: tuple[Point, ...]
    stroke: str
    dash: str = ""
    width: float = 1.4
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    stroke: str
    fill: str = "none"
    radius: float = 6
    mark: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Label:
    """One line of monospaced text; ``y`` is its middle, ``x`` its start (or its centre)."""

    x: float
    y: float
    text: str
    size: float = 12
    fill: str = "#222"
    centred: bool = False
    bold: bool = False

    @property
    def width(self) -> float:
        return cells(self.text) * self.size * CELL

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        left = self.x - self.width / 2 if self.centred else self.x
        return left, self.y - self.size / 2, left + self.width, self.y + self.size / 2


Shape = Circle | Polygon | Line | Rectangle | Label


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes in the order in which they are painted."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


def cells(text: str) -> int:
    """Columns of a monospaced font: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def plain(text: str) -> str:
    """``text`` as one line: white space and unprintable characters become single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shorten(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` columns, with an ellipsis where it was cut."""
    return text if cells(text) <= columns else _head(text, columns - 1).rstrip() + "…"


def wrap(text: str, columns: int) -> list[str]:
    """Lines of at most ``columns`` columns, broken at spaces where there are any."""
    lines: list[list[str]] = [[]]
    width_used = -1  # the first piece of a line has no space before it
    for piece in _pieces(text, columns):
        width = cells(piece)
        if width_used >= 0 and width_used + 1 + width > columns:
            lines.append([])
            width_used = -1
        lines[-1].append(piece)
        width_used += 1 + width
    return [" ".join(line) for line in lines]


def _pieces(text: str, columns: int) -> Iterator[str]:
    """The words of a text, those that are too long in parts."""
    for word in text.split():
        rest = word
        while rest:
            head = _head(rest, columns)
            yield head
            rest = rest[len(head) :]


def _head(text: str, columns: int) -> str:
    width = 0
    for end, character in enumerate(text):
        width += _cell(character)
        if width > columns:
            return text[: max(end, 1)]
    return text
