"""Learning curves drawn: one panel a game, one line a fine-tune.

A step sees a few maps, so its mean score is mostly their luck: it is drawn thin, and the running
mean of nine steps bold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archive.charts.plot import Plot, canvas, polyline, running_mean, series, text
from xgl.diagram.svg import Element

WIDTH, HEIGHT, TOP = 250.0, 180.0, 48.0
LEFT, STEP = 52.0, 322.0
"""Of the first panel's plot, and from one to the next."""
WINDOW = 9
"""Steps of the running mean."""
Curves = Mapping[str, Sequence[Sequence[float]]]
"""Mean score (bits) at each step, by game, one sequence for each fine-tune."""


def figure(curves: Curves) -> Element:
    """Panels side by side, each with scales of its own."""
    shapes: list[Element] = []
    for place, (name, lines) in enumerate(curves.items()):
        shapes += _panel(place * STEP + LEFT, name, [line for line in lines if line])
    title = (
        "Learning curves: mean score of each training step in bits, thin, and over nine steps, "
        "bold; a colour for each training seed"
    )
    return canvas((len(curves) * STEP, TOP + HEIGHT + 46), title, *shapes, class_="learning")


def _panel(left: float, name: str, lines: Sequence[Sequence[float]]) -> Iterator[Element]:
    values = [value for line in lines for value in line] or [0.0]
    margin = 0.05 * (max(values) - min(values)) or 1.0
    steps = max((len(line) for line in lines), default=1)
    ends = min(values) - margin, max(values) + margin
    plot = Plot.box((left, TOP), (WIDTH, HEIGHT), (1, max(steps, 2)), ends, "x")
    yield text(left, 16, name, "heading")
    yield from plot.grid("step", "bits", 4, 5)
    for place, line in enumerate(lines):
        colour = f"series {series(place)}"
        for heights, class_ in ((line, f"{colour} thin"), (running_mean(line, WINDOW), colour)):
            places = plot.places(range(1, len(line) + 1), heights)
            yield polyline(places if len(places) > 1 else places * 2, class_)
