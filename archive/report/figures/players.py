"""Results of measured players: histograms one above the other on one scale, bars within a table,
and a leaderboard of ratings with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from archive.charts.plot import Plot, canvas, circle, line, mark, rect, series, text
from archive.report.measures import HistogramScores
from archive.statistics.ratings import MeasureRatings, ModelRating
from archive.text import bounds, plural, signed
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


def histograms(samples: Sequence[HistogramScores], label: str, earlier: bool = False) -> Element:
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
        f"{plural(len(sample.values), 'game')}"
        for sample in samples
    )
    return canvas((700, TOP + height + 46), title, *shapes, class_="histograms")


def _bars(sample: HistogramScores, edges: np.ndarray, plot: Plot, class_: str) -> Iterator[Element]:
    counts, _ = np.histogram(sample.values, edges)
    base = plot.y(0)
    yield line(plot.x.start, base, plot.x.end, base, "grid")
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        if count:
            (left, top), right = plot.place(low, count), plot.x(high)
            bar = rect(left + 0.5, top, right - left - 1, base - top, class_)
            games = f"{plural(count, 'game')} from {low:.2f} to {high:.2f}"
            yield mark(f"{sample.name}: {games}", bar)


def _numbers(sample: HistogramScores, plot: Plot) -> Iterator[Element]:
    """The median as a line; name and size on the left; mean and median with their bounds,
    quantiles, and how far the sample moved on the right."""
    measure, base = sample.measure, plot.y(0)
    middle = plot.x(measure.median.value or 0.0)
    yield line(middle, base - ROW + 22, middle, base, "rule")
    name = sample.name if len(sample.name) <= 20 else f"{sample.name[:9]}…{sample.name[-10:]}"
    yield text(LEFT - 12, base - 16, name, "name", "end")
    yield text(LEFT - 12, base, plural(len(sample.values), "game"), "tick", "end")
    low, high = (measure.quantiles[level].value or 0.0 for level in (0.1, 0.9))
    lines = [
        f"mean {bounds(measure.mean)}",
        f"median {bounds(measure.median)}",
        f"10–90 %: {low:.2f} to {high:.2f}",
    ]
    if sample.shift is not None:
        lines.append(f"moved by {sample.shift:.2f}")
    for index, words in enumerate(reversed(lines)):
        yield text(plot.x.end + 12, base - 15 * index, words, "tick")


LINE, HEAD, EDGE, SPAN = 30.0, 34.0, 190.0, 280.0
"""Height of a model, and where the dots of a leaderboard begin and how far they reach."""
COLUMNS = (("mass", 530.0), ("P(first)", 605.0), ("mean", 695.0))
"""Right ends of the numbers next to the dots."""


def leaderboard(ratings: MeasureRatings) -> Element:
    """A row for each model, best first; further right is better."""
    height = LINE * len(ratings.models)
    values = [v for m in ratings.models for v in (m.rating.value, m.rating.low, m.rating.high)]
    finite = [value for value in values if math.isfinite(value)]
    ends = min([-0.05, *finite]), max([0.0, *finite])
    plot = Plot.box((EDGE, HEAD), (SPAN, height), ends, (0, 1))
    shapes = [*plot.x_axis("rating: what a model gains against the equilibrium, 0 for the best", 4)]
    mean = "mean narms" if ratings.mean_of == "narms" else ratings.mean_of
    labels = [*(label for label, _ in COLUMNS[:-1]), mean]
    shapes += [
        text(x, HEAD - 12, label, "tick", "end")
        for label, (_, x) in zip(labels, COLUMNS, strict=True)
    ]
    for row, model in enumerate(ratings.models):
        shapes += _row(model, plot, HEAD + LINE * (row + 0.5))
    title = "ratings: " + "; ".join(
        f"{model.rank}. {model.model}, {signed(model.rating.value, 2)}" for model in ratings.models
    )
    return canvas((700, HEAD + height + 46), title, *shapes, class_="leaderboard")


def _row(model: ModelRating, plot: Plot, y: float) -> Iterator[Element]:
    name = model.model if len(model.model) <= 20 else f"{model.model[:9]}…{model.model[-10:]}"
    yield text(EDGE - 12, y + 4, f"{model.rank}. {name}", "name", "end")
    yield line(plot.x.start, y, plot.x.end, y, "grid")
    shapes = [circle(plot.x(model.rating.value), y, 5, f"solid {series(0)}")]
    spread = ""
    if math.isfinite(model.rating.low):
        shapes.insert(0, line(plot.x(model.rating.low), y, plot.x(model.rating.high), y, "rule"))
        spread = f", from {signed(model.rating.low, 2)} to {signed(model.rating.high, 2)}"
    yield mark(f"{model.model}: {signed(model.rating.value, 3)}{spread}", *shapes)
    for (_, x), value in zip(COLUMNS, (model.mass, model.first, model.mean), strict=True):
        number = "–" if math.isnan(value) else f"{value:.2f}".replace("-", "−")
        yield text(x, y + 4, number, "tick", "end")
