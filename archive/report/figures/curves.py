"""Curves: games of a cover by η, and mean scores while training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archive.charts.plot import (
    Plot,
    canvas,
    circle,
    mark,
    polyline,
    running_mean,
)
from archive.statistics.covers import Cover
from archive.text import listed, plural
from xgl.diagram.svg import Element

MOST_NAMES = 8
"""Most members that a tooltip names."""
POINTS = 60
"""Points that a learning curve is drawn with at most."""


def cover_curve(covers: Sequence[tuple[float, Cover]], names: Sequence[str], games: int) -> Element:
    """Games of the smallest cover found at each η, as a staircase."""
    most = max(2, *(len(cover.members) for _, cover in covers))
    plot = Plot.box((44, 28), (400, 184), (0, 1), (0, most), "y")
    values = [(eta, float(len(cover.members))) for eta, cover in covers]
    shapes = [
        *plot.grid(
            "η: how much of each game must be covered →", "games needed", y_ticks=min(5, most)
        ),
        polyline(plot.stairs([(0.0, values[0][1]), *values]), "steps"),
    ]
    for (eta, cover), value in zip(covers, values, strict=True):
        spot = circle(*plot.place(*value), 4, "spot open" if cover.gap else "spot")
        shapes.append(mark(_cover_in_words(eta, cover, names), spot))
    title = f"Games of the smallest cover of {plural(games, 'game')} by η, up to {covers[-1][0]:g}"
    return canvas((460, 260), title, *shapes, class_="covers")


def _cover_in_words(eta: float, cover: Cover, names: Sequence[str]) -> str:
    members = [names[place] for place in cover.members[:MOST_NAMES]]
    more = len(cover.members) - len(members)
    members += [f"{more} more"] if more else []
    least = f"; at least {cover.least} are needed" if cover.gap else ""
    return f"η = {eta:g}: {plural(len(cover.members), 'game')} ({listed(members)}){least}"


def learning_curve(curve: Sequence[float]) -> Element | None:
    """Bits by step: each step's mean, and a running mean over it; None for less than two steps."""
    if len(curve) < 2:
        return None
    steps, values = downsample(curve, POINTS)
    low, high = float(values.min()), float(values.max())
    plot = Plot.box(
        (46, 24), (342, 122), (1, len(curve)), (low, high if high > low else low + 1), "x"
    )
    smooth = running_mean(values, max(2, len(values) // 6))
    shapes = [
        *plot.grid("gradient step", "mean score, bits", 4, 4),
        polyline(plot.places(steps, values), "raw"),
        polyline(plot.places(steps, smooth), "smooth"),
    ]
    title = (
        f"Learning curve over {len(curve)} steps: mean score from {curve[0]:.1f} to "
        f"{curve[-1]:.1f} bits"
    )
    return canvas((400, 190), title, *shapes, class_="curve")


def spark(curve: Sequence[float]) -> Element | None:
    """The curve as a word-sized figure."""
    if len(curve) < 2:
        return None
    steps, values = downsample(curve, 24)
    smooth = running_mean(values, 3)
    ends = float(smooth.min()), float(smooth.max())
    plot = Plot.box((1, 3), (70, 14), (1, len(curve)), ends)
    title = f"score from {curve[0]:.1f} to {curve[-1]:.1f} bits while training"
    return canvas((72, 20), title, polyline(plot.places(steps, smooth), "smooth"), class_="spark")


def downsample(
    curve: Sequence[float], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps and means, float64 (k,) each, of at most ``most`` stretches of the curve."""
    values = np.asarray(curve, float)
    parts = np.array_split(np.arange(len(values)), min(most, len(values)))
    steps = np.array([part.mean() + 1 for part in parts])
    return steps, np.array([values[part].mean() for part in parts])
