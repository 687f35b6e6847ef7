"""The transfer matrix as a heat map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from archive.charts.axes import canvas, el, text
from archive.charts.markup import Attribute, Element
from archive.report.facts import GameFacts
from archive.report.figures.thresholds import bounds
from archive.report.seriation import blocks, similar_order
from archive.report.words import counted
from archive.schema import Definition
from archive.statistics.transfer_matrix import Cell, TransferMatrix

MOST = 60
"""Rows that are drawn; of more games, stretches of neighbours share a row."""
SHADES = 9
"""Classes q0 (no transfer) to q9 (all of it, or more)."""
TOP = 40.0


def heat_map(matrix: TransferMatrix, games: Sequence[GameFacts], definition: Definition) -> Element:
    """Rows are trained on, columns are played; neighbours teach alike."""
    values = matrix.values(definition)
    order = similar_order(values)
    if len(order) > MOST:
        return _blocks(values[np.ix_(order, order)], definition)
    return _cells(matrix, games, definition, order)


def _cells(
    matrix: TransferMatrix,
    games: Sequence[GameFacts],
    definition: Definition,
    order: Sequence[int],
) -> Element:
    side = 38.0 if len(order) <= 14 else 24.0 if len(order) <= 30 else 16.0
    left = 40.0 + max((len(games[k].name) for k in order), default=0) * 8.2
    by_age = {place: rank for rank, place in enumerate(sorted(order))}
    shapes: list[Element] = []
    for rank, place in enumerate(order):
        y = TOP + rank * side + side / 2 + 4
        label = el(
            "a",
            el("title", games[place].pay),
            text(left - 24, y, games[place].name, "name", "end"),
            text(left - 8, y, str(place + 1), "tick", "end"),
            href=f"#game-{place}",
            class_="mark row",
            data_rank=rank,
            data_age=by_age[place],
        )
        column = text(left + (rank + 0.5) * side, TOP - 8, str(place + 1), "tick", "middle")
        moved: dict[str, Attribute] = {
            **column.attributes,
            "data-rank": rank,
            "data-age": by_age[place],
        }
        shapes += [label, el("text", *column.children, **moved)]
    letter = definition.symbol
    for row, source in enumerate(order):
        for at, target in enumerate(order):
            cell = matrix.cells.get((games[source].task_id, games[target].task_id))
            value = None if cell is None else cell.values.of(definition).value
            said = f"trained on {games[source].name}, playing {games[target].name}: " + told(
                cell, definition, letter
            )
            box = (left + at * side, TOP + row * side, side)
            ranks = (row, at, by_age[source], by_age[target])
            shapes.append(_cell(box, _class(cell, value), said, _short(value, side), ranks))
    width = left + len(order) * side + 8
    title = f"Transfer matrix of {counted(len(order), 'game')}; rows are trained on, columns played"
    shapes.append(text(left, 14, "plays … (numbers are those of the rows)", "axis"))
    shapes.append(text(left - 8, TOP - 8, "trained on", "axis", "end"))
    figure = canvas(
        max(width, left + 270), TOP + len(order) * side + 8, title, *shapes, class_="matrix"
    )
    extra: dict[str, Attribute] = {
        "data-side": side,
        "data-left": left,
        "data-top": TOP,
        "role": "group",
    }
    return el(figure.tag, *figure.children, **{**figure.attributes, **extra})


def told(cell: Cell | None, definition: Definition, letter: str) -> str:
    """A cell in words."""
    if cell is None:
        return "not measured"
    value, gain = cell.values.of(definition), cell.values.gain
    said = f"{letter} = {bounds(value)}" if value.value is not None else f"{letter} is not defined"
    drawn = "plays that also chose games" if cell.selected else "fresh plays"
    amount = "" if gain.value is None else f", gain {gain.value:+.1f} bits".replace("-", "−")
    return f"{said}{amount} ({cell.plays} {drawn})"


def _cell(
    box: tuple[float, float, float],
    class_: str,
    said: str,
    short: str,
    ranks: tuple[int, int, int, int],
) -> Element:
    x, y, side = box
    number = text(x + side / 2, y + side / 2 + 4, short, "in", "middle") if short else None
    row, column, row_age, column_age = ranks
    return el(
        "g",
        el("title", said),
        el("rect", x=x + 1, y=y + 1, width=side - 2, height=side - 2, rx=2),
        number,
        class_=f"mark cell {class_}",
        data_rank=f"{row} {column}",
        data_age=f"{row_age} {column_age}",
    )


def _class(cell: Cell | None, value: float | None) -> str:
    if cell is None:
        return "unmeasured"
    return "undefined" if value is None else shade(value)


def shade(value: float) -> str:
    """The class of a value: ``neg`` below −0.05, else q0 to q9 in tenths.

    >>> shade(-0.2), shade(0.0), shade(0.44), shade(1.3)
    ('neg', 'q0', 'q4', 'q9')
    """
    if value < -0.05:
        return "neg"
    return f"q{min(SHADES, max(0, math.floor(value * 10)))}"


def _short(value: float | None, side: float) -> str:
    if value is None or side < 30:
        return ""
    return (
        f"{value:.2f}".replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else f"{value:.1f}"
    )


def _blocks(values: np.ndarray, definition: Definition) -> Element:
    """Means over stretches of neighbouring games, for more games than a screen has room for."""
    parts = blocks(values, MOST)
    side, left = 11.0, 20.0
    shapes = list(_means(values, parts, side, left, definition.symbol))
    size = len(parts) * side
    shapes.append(text(left, 14, f"{counted(len(values), 'game')} play →", "axis"))
    shapes.append(text(left, TOP - 8, "trained on ↓", "axis"))
    title = f"Transfer matrix of {counted(len(values), 'game')}, in blocks of neighbours"
    return canvas(left + size + 8, TOP + size + 8, title, *shapes, class_="matrix blocks")


def _means(
    values: np.ndarray, parts: Sequence[tuple[int, int]], side: float, left: float, letter: str
) -> Iterator[Element]:
    measured = ~np.isnan(values)
    for row, (top, bottom) in enumerate(parts):
        for column, (first, end) in enumerate(parts):
            block = values[top:bottom, first:end]
            known = block[np.isfinite(block)]
            count = int(measured[top:bottom, first:end].sum())
            if not count:
                continue
            class_ = shade(float(known.mean())) if len(known) else "undefined"
            mean = f"mean {letter} {known.mean():.2f}" if len(known) else f"no defined {letter}"
            said = (
                f"rows {top + 1} to {bottom}, columns {first + 1} to {end}: {mean}; "
                f"{count:,} of {block.size:,} pairs measured"
            )
            x, y = left + column * side, TOP + row * side
            yield el(
                "g",
                el("title", said),
                el("rect", x=x, y=y, width=side - 0.6, height=side - 0.6),
                class_=f"mark cell {class_}",
            )


def legend(definition: Definition) -> Element:
    """What the shades mean."""
    letter = definition.symbol
    shapes: list[Element] = [text(0, 16, f"{letter}", "axis")]
    keys: list[tuple[str, str]] = [("neg", "below 0"), ("q0", "0"), *_ramp(), ("q9", "1")]
    x = 18.0
    for class_, said in keys:
        shapes.append(
            el("g", el("rect", x=x, y=4, width=20, height=16, rx=2), class_=f"cell {class_}")
        )
        if said:
            shapes.append(text(x + 10, 36, said, "tick", "middle"))
        x += 44 if class_ == "neg" else 20
    for class_, said in (("undefined", "not defined"), ("unmeasured", "not measured")):
        x += 16
        shapes.append(
            el("g", el("rect", x=x, y=4, width=20, height=16, rx=2), class_=f"cell {class_}")
        )
        shapes.append(text(x + 27, 16, said, "tick"))
        x += 28 + 7 * len(said)
    return canvas(x + 8, 42, "Legend of the heat map", *shapes, class_="matrix legend")


def _ramp() -> list[tuple[str, str]]:
    return [(f"q{k}", ".5" if k == 5 else "") for k in range(1, 9)]
