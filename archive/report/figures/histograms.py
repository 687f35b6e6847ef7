"""Histograms one above the other on one scale, and bars within a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from archive.charts.plot import Plot, canvas, line, mark, rect, text
from archive.report.player_measures import GameScores
from archive.report.wording import bounds, counted
from xgl.diagram.svg import Element, el

ROW = 76.0
"""Height of a histogram."""
LEFT, WIDTH, TOP = 150.0, 380.0, 14.0
BINS = 24


def share_bar(share: float, class_: str = "") -> Element:
    """A bar as long as a share (0 to 1) of its cell; the number beside it says the same."""
    return el(
        "svg",
        rect(0, 0, 100, 10, "track"),
        rect(0, 0, max(0.0, min(1.0, share)) * 100, 10, f"fill {class_}".strip()),
        class_="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def histograms(samples: Sequence[GameScores], label: str, earlier: bool = False) -> Element:
    """A row for each sample: its bars, its median as a line, and its numbers beside it.

    ``earlier``: all but the last row are in the quiet colour. ``samples`` must not be empty.
    """
    values = [value for sample in samples for value in sample.values]
    ends = min([0.0, *values]), max([1.0, *values])
    edges = np.linspace(*ends, BINS + 1)
    most = max(int(np.histogram(sample.values, edges)[0].max()) for sample in samples)
    height = ROW * len(samples)
    shapes = [*Plot.box((LEFT, TOP), (WIDTH, height), ends, (0, 1)).x_axis(label)]
    for row, sample in enumerate(samples):
        top = TOP + ROW * row
        plot = Plot.box((LEFT, top + 26), (WIDTH, ROW - 26), ends, (0, most))
        quiet = earlier and row < len(samples) - 1
        shapes += _bars(sample, edges, plot, "column earlier" if quiet else "column")
        shapes += _numbers(sample, plot)
    title = f"{label}: " + "; ".join(
        f"{sample.name}, median {sample.measure.median.value:.2f} over "
        f"{counted(len(sample.values), 'game')}"
        for sample in samples
    )
    return canvas((700, TOP + height + 46), title, *shapes, class_="histograms")


def _bars(sample: GameScores, edges: np.ndarray, plot: Plot, class_: str) -> Iterator[Element]:
    counts, _ = np.histogram(sample.values, edges)
    base = plot.y(0)
    yield line(plot.x.start, base, plot.x.end, base, "grid")
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            (left, top), right = plot.place(low, count), plot.x(high)
            bar = rect(left + 0.5, top, right - left - 1, base - top, class_)
            games = f"{counted(count, 'game')} from {low:.2f} to {high:.2f}"
            yield mark(f"{sample.name}: {games}", bar)


def _numbers(sample: GameScores, plot: Plot) -> Iterator[Element]:
    """The median as a line; name and size on the left; mean and median with their bounds,
    quantiles, and how far the sample moved on the right."""
    measure, base = sample.measure, plot.y(0)
    middle = plot.x(measure.median.value or 0.0)
    yield line(middle, base - ROW + 22, middle, base, "rule")
    name = sample.name if len(sample.name) <= 20 else f"{sample.name[:9]}…{sample.name[-10:]}"
    yield text(LEFT - 12, base - 16, name, "name", "end")
    yield text(LEFT - 12, base, counted(len(sample.values), "game"), "tick", "end")
    low, high = (measure.quantiles[level].value or 0.0 for level in (0.1, 0.9))
    lines = [
        f"mean {bounds(measure.mean)}",
        f"median {bounds(measure.median)}",
        f"10–90 %: {low:.2f} to {high:.2f}",
    ]
    if sample.moved is not None:
        lines.append(f"moved by {sample.moved:.2f}")
    for place, words in enumerate(reversed(lines)):
        yield text(plot.x.end + 12, base - 15 * place, words, "tick")
