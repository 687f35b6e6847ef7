"""Learning curves drawn: one panel a game, one line a fine-tune.

A step sees a few maps, so its mean score is mostly their luck: it is drawn thin, and the running
mean of nine steps bold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xgl.diagram.shapes import Drawing, Label, Line, Shape

WIDE, HIGH = 250.0, 180.0
LEFT, TOP, RIGHT, BELOW = 48.0, 30.0, 14.0, 40.0
INK, FAINT = "#222", "#c9ced6"
COLOURS = ("#1f6fb2", "#c2571a", "#4a8f3c", "#8a4fa3", "#a03048", "#5b6470")
WINDOW = 9
"""Steps of the running mean."""
Curves = Mapping[str, Sequence[Sequence[float]]]
"""Mean score (bits) at each step, by game, one sequence for each fine-tune."""


def figure(curves: Curves) -> Drawing:
    """Side by side, on scales of their own."""
    shapes: list[Shape] = []
    for place, (name, lines) in enumerate(curves.items()):
        shapes += _panel(place * (LEFT + WIDE + RIGHT) + LEFT, name, lines)
    width = len(curves) * (LEFT + WIDE + RIGHT)
    title = (
        "Learning curves: mean score of each training step in bits, thin, and over nine steps, "
        "bold; a colour for each training seed"
    )
    return Drawing(width, TOP + HIGH + BELOW, title, tuple(shapes))


def _panel(x: float, name: str, lines: Sequence[Sequence[float]]) -> Iterator[Shape]:
    drawn = [list(line) for line in lines if line]
    values = [value for line in drawn for value in line] or [0.0]
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 1.0
    low, high = low - margin, high + margin
    steps = max((len(line) for line in drawn), default=1)

    def at(step: float, value: float) -> tuple[float, float]:
        across = step / max(steps - 1, 1)
        return x + WIDE * across, TOP + HIGH * (high - value) / (high - low)

    yield Label(x, TOP - 14, name, 13, INK, bold=True)
    for value in (low + margin, (low + high) / 2, high - margin):
        yield Line((at(0, value), (x + WIDE, at(0, value)[1])), FAINT, width=0.6)
        yield Label(x - 40, at(0, value)[1], f"{value:.1f}", 11, INK)
    yield Line(((x, TOP), (x, TOP + HIGH), (x + WIDE, TOP + HIGH)), INK, width=1.0)
    yield Label(x, TOP + HIGH + 14, "1", 11, INK)
    yield Label(x + WIDE - 14, TOP + HIGH + 14, str(steps), 11, INK)
    yield Label(x + WIDE / 2, TOP + HIGH + 14, "step", 11, INK, centred=True)
    for line, colour in zip(drawn, COLOURS * len(drawn), strict=False):
        for values, shade, width in ((line, _pale(colour), 0.8), (smooth(line), colour, 2.0)):
            points = tuple(at(step, value) for step, value in enumerate(values))
            yield Line(points if len(points) > 1 else points * 2, shade, width=width)


def smooth(line: Sequence[float]) -> list[float]:
    """The running mean of ``WINDOW`` steps around each, of those that there are at the ends."""
    half = WINDOW // 2
    return [
        float(np.mean(line[max(0, step - half) : step + half + 1])) for step in range(len(line))
    ]


def _pale(colour: str) -> str:
    """Two thirds of the way to white."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{(part + 2 * 255) // 3:02x}" for part in parts)
