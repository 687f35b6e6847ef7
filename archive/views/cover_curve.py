"""The curve of a sweep: how many games it takes, and with confidence, as η rises."""

from __future__ import annotations

from collections.abc import Sequence

from archive.charts.plot import Plot, canvas, circle, key, polyline, series
from archive.statistics.covers import Cover
from archive.statistics.scope_cover import SweepStep
from xgl.diagram.svg import Element


def sweep_curve(steps: Sequence[SweepStep], confidence: float) -> Element:
    """Games against η as staircases: between two η the larger cover does for both. A curve ends
    where no cover exists. ``steps`` must not be empty."""
    covers = [cover for step in steps for cover in (step.cover, step.simultaneous) if cover]
    most = max((len(cover.members) for cover in covers), default=1)
    plot = Plot.box((52, 60), (420, 260), (0, steps[-1].eta or 1.0), (0, max(most, 2)), "y")
    shapes = list(plot.grid("η", "games", 5, min(6, max(most, 2))))
    for place, dash, words, found in (
        (0, "", "point estimates", [(step.eta, step.cover) for step in steps]),
        (
            1,
            "dashed",
            f"with {confidence:.0%} confidence",
            [(s.eta, s.simultaneous) for s in steps],
        ),
    ):
        class_ = f"series {series(place)} {dash}".rstrip()
        shapes += key(52 + 180 * place, 20, words, class_)
        if values := _reached(found):
            corners = plot.stairs(values)
            shapes.append(polyline(corners, class_))
            shapes.append(circle(*corners[-1], 3, f"solid {series(place)}"))
    return canvas((496, 372), "Games of the smallest cover by η", *shapes, class_="sweep")


def _reached(covers: Sequence[tuple[float, Cover | None]]) -> list[tuple[float, float]]:
    """(η, games) up to the first η that no cover reaches."""
    values = []
    for eta, cover in covers:
        if cover is None:
            break
        values.append((eta, float(len(cover.members))))
    return values
