"""Fig. 6.1 drawn: the space, what a scope covers of it, and its games by generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from evo.toy.growths import Growth
from evo.toy.world import frontier, reach
from xgl.diagram.shapes import Box, Circle, Drawing, Label, Line, Point, Polygon, Shape

SIDE = 330.0
"""Of one unit square."""
LEFT, TOP, RIGHT, BELOW = 44.0, 16.0, 16.0, 84.0
ACROSS = 2
"""Panels in a row."""
COVERED, UNCOVERED, INK, FAINT = "#d5e6f3", "#f2b8ae", "#222", "#8a8f98"
RAMP = ((255, 222, 120), (245, 140, 60), (190, 45, 90), (60, 15, 95))
"""Colours from the first generation to the last."""


def figure(growths: Sequence[Growth]) -> Drawing:
    """One panel for each growth, in rows, and a legend beneath. ``growths`` must not be empty."""
    last = max(growth.generations for growth in growths)
    wide, high = LEFT + SIDE + RIGHT, TOP + SIDE + BELOW - 44
    across, down = min(ACROSS, len(growths)), -(-len(growths) // ACROSS)
    shapes: list[Shape] = []
    for place, growth in enumerate(growths):
        row, column = divmod(place, ACROSS)
        shapes += _Panel(column * wide, row * high, last).shapes(growth)
    shapes += _legend(LEFT, down * high + 20, last)
    title = "Scope growth on the toy model: what the last scope covers, games by generation"
    return Drawing(max(across * wide, 720.0), down * high + 44, title, tuple(shapes))


class _Panel:
    """One unit square whose corner (0, 0) is drawn at the lower left."""

    def __init__(self, x: float, y: float, last: int) -> None:
        self.x, self.y, self.last = x + LEFT, y + TOP, last

    def at(self, x: float, y: float) -> Point:
        return self.x + SIDE * x, self.y + SIDE * (1 - y)

    def shapes(self, growth: Growth) -> Iterator[Shape]:
        yield from self._regions(growth)
        yield from self._axes()
        yield from self._descent(growth)
        yield from self._games(growth)
        yield from self._words(growth)

    def _regions(self, growth: Growth) -> Iterator[Shape]:
        steps = np.linspace(0, 1, 161)
        angles = np.arctan2((1 - steps) ** 2, steps**2)  # as dense at the tips as between them
        edge = frontier(angles)
        covered = np.minimum(edge, reach(growth.skills, angles, 1 - growth.setting.alpha2))
        for far, fill in ((edge, UNCOVERED), (covered, COVERED)):
            rim = zip(far * np.cos(angles), far * np.sin(angles), strict=True)
            points = (self.at(0, 0), *(self.at(float(x), float(y)) for x, y in rim))
            yield Polygon(points, fill, "none")
        curve = zip(edge * np.cos(angles), edge * np.sin(angles), strict=True)
        yield Line(tuple(self.at(float(x), float(y)) for x, y in curve), INK, width=1.0)

    def _axes(self) -> Iterator[Shape]:
        yield Line((self.at(0, 1), self.at(0, 0), self.at(1, 0)), INK, width=1.0)
        for tick in (0.0, 0.5, 1.0):
            (x, y), (left, height) = self.at(tick, 0), self.at(0, tick)
            yield Line(((x, y), (x, y + 4)), INK, width=1.0)
            yield Line(((left, height), (left - 4, height)), INK, width=1.0)
            yield Label(x, y + 14, f"{tick:g}", 11, INK, centred=True)
            yield Label(left - 18, height, f"{tick:g}", 11, INK, centred=True)
        yield Label(*self.at(0.75, -14 / SIDE), "skill 1", 11, FAINT, centred=True)
        yield Label(*self.at(0.02, 1.0), "skill 2", 11, FAINT)

    def _descent(self, growth: Growth) -> Iterator[Shape]:
        for member in growth.members:
            if member.parent is not None:
                ends = self.at(*member.parent.skills), self.at(*member.game.skills)
                yield Line(ends, FAINT, width=0.6)

    def _games(self, growth: Growth) -> Iterator[Shape]:
        for member in growth.members:
            fill = colour(member.generation, self.last)
            yield Circle(*self.at(*member.game.skills), 3.4, fill, INK, mark="game")
        for member in growth.members:
            if member.parent is None:
                yield Circle(*self.at(*member.game.skills), 7.0, "none", INK, mark="start")

    def _words(self, growth: Growth) -> Iterator[Shape]:
        x, y = self.at(0.34, 0.93)
        yield Label(x, y, growth.title, 13, INK, bold=True)
        texts = (
            f"{growth.covered:.2%} covered (seed {growth.seed})",
            f"{len(growth.members)} games, {growth.generations} generations",
        )
        for line, text in enumerate(texts, start=1):
            yield Label(x, y + 19 * line, text, 12, INK)


def _legend(x: float, y: float, last: int) -> Iterator[Shape]:
    yield Box(x, y - 7, 14, 14, FAINT, COVERED, 0)
    yield Label(x + 22, y, "covered at 1 − α2", 12, INK)
    yield Box(x + 172, y - 7, 14, 14, FAINT, UNCOVERED, 0)
    yield Label(x + 194, y, "not covered", 12, INK)
    yield Circle(x + 306, y, 7.0, "none", INK)
    yield Label(x + 320, y, "start", 12, INK)
    yield Label(x + 390, y, "generation 0", 12, INK)
    edges = np.linspace(x + 486, x + 606, last + 2)
    for generation, (left, right) in enumerate(pairwise(edges)):
        fill = colour(generation, last)
        yield Box(float(left), y - 7, float(right - left), 14, fill, fill, 0)
    yield Label(x + 614, y, str(last), 12, INK)


def colour(generation: int, last: int) -> str:
    """The ramp's colour for a generation from 0 to ``last``."""
    place = generation / max(last, 1) * (len(RAMP) - 1)
    stops = np.arange(len(RAMP))
    mixed = [round(float(np.interp(place, stops, channel))) for channel in zip(*RAMP, strict=True)]
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
