"""A leaderboard: each model's rating as a dot with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator

from archive.charts.plot import Plot, canvas, circle, line, mark, series, text
from archive.report.wording import signed
from archive.statistics.measure_ratings import MeasureRatings, ModelRating
from xgl.diagram.svg import Element

ROW, TOP, LEFT, WIDTH = 30.0, 34.0, 190.0, 280.0
COLUMNS = (("mass", 530.0), ("P(first)", 605.0), ("mean narms", 695.0))
"""Right ends of the numbers beside the dots."""


def leaderboard(found: MeasureRatings) -> Element:
    """A row for each model, best first; further right is better."""
    height = ROW * len(found.models)
    values = [v for m in found.models for v in (m.rating.value, m.rating.low, m.rating.high)]
    known = [value for value in values if math.isfinite(value)]
    ends = min([-0.05, *known]), max([0.0, *known])
    plot = Plot.box((LEFT, TOP), (WIDTH, height), ends, (0, 1))
    shapes = [*plot.x_axis("rating: what a model gains against the equilibrium, 0 for the best", 4)]
    shapes += [text(x, TOP - 12, label, "tick", "end") for label, x in COLUMNS]
    for row, model in enumerate(found.models):
        shapes += _row(model, plot, TOP + ROW * (row + 0.5))
    title = "ratings: " + "; ".join(
        f"{each.rank}. {each.model}, {signed(each.rating.value, 2)}" for each in found.models
    )
    return canvas((700, TOP + height + 46), title, *shapes, class_="leaderboard")


def _row(model: ModelRating, plot: Plot, y: float) -> Iterator[Element]:
    name = model.model if len(model.model) <= 20 else f"{model.model[:9]}…{model.model[-10:]}"
    yield text(LEFT - 12, y + 4, f"{model.rank}. {name}", "name", "end")
    yield line(plot.x.start, y, plot.x.end, y, "grid")
    shapes = [circle(plot.x(model.rating.value), y, 5, f"solid {series(0)}")]
    spread = ""
    if math.isfinite(model.rating.low):
        shapes.insert(0, line(plot.x(model.rating.low), y, plot.x(model.rating.high), y, "rule"))
        spread = f", from {signed(model.rating.low, 2)} to {signed(model.rating.high, 2)}"
    yield mark(f"{model.model}: {signed(model.rating.value, 3)}{spread}", *shapes)
    for (_, x), value in zip(COLUMNS, (model.mass, model.first, model.narms), strict=True):
        shown = "–" if math.isnan(value) else f"{value:.2f}".replace("-", "−")
        yield text(x, y + 4, shown, "tick", "end")
