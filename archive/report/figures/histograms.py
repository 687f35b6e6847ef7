"""Histograms one above the other on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archive.charts.axes import Scale, across, canvas, el, line, text
from archive.charts.markup import Element
from archive.report.figures.thresholds import bounds
from archive.report.measures import GameScores
from archive.report.words import counted

WIDTH, ROW = 700.0, 76.0
LEFT, RIGHT, TOP, BELOW = 150.0, 170.0, 14.0, 46.0
BINS = 24


def histograms(samples: Sequence[GameScores], label: str, earlier: bool = False) -> Element:
    """A row for each sample: its bars, its median as a line, and its numbers beside it.

    ``earlier``: all but the last row are in the quiet colour. ``samples`` must not be empty.
    """
    values = [value for sample in samples for value in sample.values]
    low, high = min([0.0, *values]), max([1.0, *values])
    edges = np.linspace(low, high, BINS + 1)
    x = Scale(low, high, LEFT, WIDTH - RIGHT)
    bottom = TOP + ROW * len(samples)
    most = max(int(np.histogram(sample.values, edges)[0].max()) for sample in samples)
    shapes = [*across(x, TOP, bottom, label)]
    for row, sample in enumerate(samples):
        quiet = earlier and row < len(samples) - 1
        shapes += _row(sample, edges, x, TOP + ROW * (row + 1), most, quiet)
    title = f"{label}: " + "; ".join(
        f"{sample.name}, median {sample.measure.median.value:.2f} over "
        f"{counted(len(sample.values), 'game')}"
        for sample in samples
    )
    return canvas(WIDTH, bottom + BELOW, title, *shapes, class_="histograms")


def _row(
    sample: GameScores, edges: np.ndarray, x: Scale, base: float, most: int, quiet: bool
) -> list[Element]:
    height = Scale(0, most, 0, ROW - 26)
    counts, _ = np.histogram(sample.values, edges)
    shapes: list[Element] = [line(LEFT, base, WIDTH - RIGHT, base, "grid")]
    for count, first, end in zip(counts, edges[:-1], edges[1:], strict=True):
        if count:
            tall = height(int(count))
            bar = el(
                "rect",
                x=x(float(first)) + 0.5,
                y=base - tall,
                width=x(float(end)) - x(float(first)) - 1,
                height=tall,
                class_="column earlier" if quiet else "column",
            )
            said = f"{counted(int(count), 'game')} from {first:.2f} to {end:.2f}"
            shapes.append(el("g", el("title", f"{sample.name}: {said}"), bar, class_="mark"))
    middle = x(sample.measure.median.value or 0.0)
    shapes += [
        line(middle, base - ROW + 22, middle, base, "rule"),
        text(LEFT - 12, base - 16, _short(sample.name), "name", "end"),
        text(LEFT - 12, base, counted(len(sample.values), "game"), "tick", "end"),
    ]
    for place, said in enumerate(reversed(_numbers(sample))):
        shapes.append(text(WIDTH - RIGHT + 12, base - 15 * place, said, "tick"))
    return shapes


def _numbers(sample: GameScores) -> list[str]:
    """Mean and median with their bounds, quantiles, and how far it moved."""
    measure = sample.measure
    low, high = (measure.quantiles[level].value or 0.0 for level in (0.1, 0.9))
    said = [
        f"mean {bounds(measure.mean)}",
        f"median {bounds(measure.median)}",
        f"10–90 %: {low:.2f} to {high:.2f}",
    ]
    return said if sample.moved is None else [*said, f"moved by {sample.moved:.2f}"]


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:9]}…{name[-10:]}"
