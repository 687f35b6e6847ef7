"""The curve of a sweep: how many games it takes, and with confidence, as η rises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archive.statistics.covers import Cover
from archive.statistics.scope_cover import SweepStep
from xgl.diagram.shapes import Circle, Drawing, Label, Line, Point, Shape

WIDTH, HEIGHT = 420.0, 260.0
"""Of the plot within its margins."""
LEFT, TOP, RIGHT, BELOW = 52.0, 44.0, 24.0, 48.0
INK, FAINT, POINTS, SIMULTANEOUS = "#222", "#d9dce1", "#2b6ca3", "#c2543d"


def curve(steps: Sequence[SweepStep], confidence: float) -> Drawing:
    """Games against η; a curve ends where no cover exists. ``steps`` must not be empty."""
    covers = [cover for step in steps for cover in (step.cover, step.simultaneous) if cover]
    most = max((len(cover.members) for cover in covers), default=1)
    plot = _Plot(steps[-1].eta or 1.0, most)
    shapes: list[Shape] = [*plot.axes()]
    shapes += plot.series([(step.eta, step.cover) for step in steps], POINTS, "")
    shapes += plot.series([(step.eta, step.simultaneous) for step in steps], SIMULTANEOUS, "5 3")
    shapes += _legend(f"with {confidence:.0%} confidence")
    title = "Games of the smallest cover by η"
    return Drawing(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BELOW, title, tuple(shapes))


class _Plot:
    """η to the right from 0 to ``last``, games upwards from 0 to ``most``."""

    def __init__(self, last: float, most: int) -> None:
        self.last, self.most = last, most

    def at(self, eta: float, games: float) -> Point:
        return LEFT + WIDTH * eta / self.last, TOP + HEIGHT * (1 - games / self.most)

    def axes(self) -> Iterator[Shape]:
        step = max(1, -(-self.most // 6))
        for games in range(0, self.most + 1, step):
            (left, y), (right, _) = self.at(0, games), self.at(self.last, games)
            yield Line(((left, y), (right, y)), FAINT, width=1.0)
            yield Label(left - 18, y, str(games), 11, INK, centred=True)
        for tick in range(6):
            x, y = self.at(self.last * tick / 5, 0)
            yield Line(((x, y), (x, y + 4)), INK, width=1.0)
            yield Label(x, y + 15, f"{self.last * tick / 5:g}", 11, INK, centred=True)
        yield Line((self.at(0, self.most), self.at(0, 0), self.at(self.last, 0)), INK, width=1.0)
        yield Label(LEFT + WIDTH / 2, TOP + HEIGHT + 34, "η", 12, INK, centred=True)

    def series(
        self, covers: Sequence[tuple[float, Cover | None]], stroke: str, dash: str
    ) -> Iterator[Shape]:
        """A staircase: between two η the larger cover does for both."""
        points: list[Point] = []
        for eta, cover in covers:
            if cover is None:
                break
            place = self.at(eta, len(cover.members))
            if points:
                points.append((points[-1][0], place[1]))
            points.append(place)
        if points:
            yield Line(tuple(points), stroke, dash, 1.8, mark="curve")
            yield Circle(*points[-1], 3.0, stroke, stroke)


def _legend(words: str) -> Iterator[Shape]:
    for x, text, stroke, dash in (
        (LEFT, "point estimates", POINTS, ""),
        (LEFT + 180, words, SIMULTANEOUS, "5 3"),
    ):
        yield Line(((x, 20), (x + 24, 20)), stroke, dash, 1.8)
        yield Label(x + 32, 20, text, 12, INK)
