"""Learning curves drawn: one panel a game, one line a fine-tune."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xgl.diagram.shapes import Drawing, Label, Line, Shape

WIDE, HIGH = 250.0, 180.0
LEFT, TOP, RIGHT, BELOW = 48.0, 30.0, 14.0, 40.0
INK, FAINT = "#222", "#c9ced6"
COLOURS = ("#1f6fb2", "#c2571a", "#4a8f3c", "#8a4fa3", "#a03048", "#5b6470")
Curves = Mapping[str, Sequence[Sequence[float]]]
"""Mean score (bits) at each step, by game, one sequence for each fine-tune."""


def figure(curves: Curves) -> Drawing:
    """Side by side, on scales of their own."""
    shapes: list[Shape] = []
    for place, (name, lines) in enumerate(curves.items()):
        shapes += _panel(place * (LEFT + WIDE + RIGHT) + LEFT, name, lines)
    width = len(curves) * (LEFT + WIDE + RIGHT)
    title = "Learning curves: mean score of each training step, one line a training seed"
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
        points = tuple(at(step, value) for step, value in enumerate(line))
        yield Line(points if len(points) > 1 else points * 2, colour, width=1.6)
