"""Curves: games of a cover by what is asked of it, and mean scores while training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archive.charts.plot import Plot, canvas, circle, mark, polyline, running_mean
from archive.report.scope_covers import CoverStep
from archive.report.wording import counted, listed
from xgl.diagram.svg import Element

NAMED = 8
"""Members that a tooltip names."""
POINTS = 60
"""Points that a learning curve is drawn with at most."""


def cover_curve(steps: Sequence[CoverStep], names: Sequence[str], games: int) -> Element:
    """Games of the smallest cover found at each η, as a staircase."""
    most = max(2, *(len(step.members) for step in steps))
    plot = Plot.box((44, 28), (400, 184), (0, 1), (0, most), "y")
    values = [(step.eta, float(len(step.members))) for step in steps]
    shapes = [
        *plot.grid(
            "η: how much of each game must be covered →", "games needed", y_ticks=min(5, most)
        ),
        polyline(plot.stairs([(0.0, values[0][1]), *values]), "steps"),
    ]
    for step, value in zip(steps, values, strict=True):
        spot = circle(*plot.place(*value), 4, "spot" if step.exact else "spot open")
        shapes.append(mark(_cover_in_words(step, names), spot))
    title = f"Games of the smallest cover of {counted(games, 'game')} by η, up to {steps[-1].eta:g}"
    return canvas((460, 260), title, *shapes, class_="covers")


def _cover_in_words(step: CoverStep, names: Sequence[str]) -> str:
    members = [names[place] for place in step.members[:NAMED]]
    more = len(step.members) - len(members)
    members += [f"{more} more"] if more else []
    least = "" if step.exact else f"; at least {step.least} are needed"
    return f"η = {step.eta:g}: {counted(len(step.members), 'game')} ({listed(members)}){least}"


def learning_curve(curve: Sequence[float]) -> Element | None:
    """Bits by step: each step's mean, and a running mean over it; None of less than two steps."""
    if len(curve) < 2:
        return None
    steps, values = thinned(curve, POINTS)
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
    steps, values = thinned(curve, 24)
    smooth = running_mean(values, 3)
    ends = float(smooth.min()), float(smooth.max())
    plot = Plot.box((1, 3), (70, 14), (1, len(curve)), ends)
    title = f"score from {curve[0]:.1f} to {curve[-1]:.1f} bits while training"
    return canvas((72, 20), title, polyline(plot.places(steps, smooth), "smooth"), class_="spark")


def thinned(curve: Sequence[float], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps and means, float64 (k,) each, of at most ``most`` stretches of the curve."""
    values = np.asarray(curve, float)
    parts = np.array_split(np.arange(len(values)), min(most, len(values)))
    steps = np.array([part.mean() + 1 for part in parts])
    return steps, np.array([values[part].mean() for part in parts])
