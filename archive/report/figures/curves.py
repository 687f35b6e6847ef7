"""Curves: games of a cover by η, and mean scores while training."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from archive.charts.plot import (
    Plot,
    canvas,
    circle,
    mark,
    polyline,
    running_mean,
    series,
    text,
)
from archive.report.from_archive import CoverStep
from archive.text import listed, plural
from xgl.diagram.shapes import Point
from xgl.diagram.svg import Element

MOST_NAMES = 8
"""Most members that a tooltip names."""
HEIGHT = 352.0
"""Height of the learning curves of several games."""
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
    title = f"Games of the smallest cover of {plural(games, 'game')} by η, up to {steps[-1].eta:g}"
    return canvas((460, 260), title, *shapes, class_="covers")


def _cover_in_words(step: CoverStep, names: Sequence[str]) -> str:
    members = [names[place] for place in step.members[:MOST_NAMES]]
    more = len(step.members) - len(members)
    members += [f"{more} more"] if more else []
    least = "" if step.exact else f"; at least {step.least} are needed"
    return f"η = {step.eta:g}: {plural(len(step.members), 'game')} ({listed(members)}){least}"


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


def learning_curves(
    games: Mapping[str, Sequence[Sequence[float]]], others: Sequence[Sequence[float]] = ()
) -> Element | None:
    """Running means of mean scores by step: those of ``games`` in colours, each named at its end,
    before ``others``, thin and nameless. None without a curve of two steps.

    The frame is made for ``games``; parts of others beyond it are left out, and counted.
    """
    named = [(name, _smooth(c)) for name, curves in games.items() for c in curves if len(c) > 1]
    thin = [_smooth(curve) for curve in others if len(curve) > 1]
    if not named and not thin:
        return None
    low, high = _frame([values for _, (_, values) in named], [values for _, values in thin])
    last = max(float(steps[-1]) for steps, _ in [*thin, *(curve for _, curve in named)])
    plot = Plot.box((52, 40), (480, 260), (1, last), (low, high), "x")
    inside = [(values >= low) & (values <= high) for _, values in thin]
    classes = dict(zip(games, map(series, count()), strict=False))
    shapes = [
        *plot.grid("gradient step", "mean score, bits"),
        *(
            polyline(plot.places(steps[part], values[part]), "other thin")
            for (steps, values), part in zip(thin, inside, strict=True)
        ),
        *(
            mark(name, polyline(plot.places(*curve), f"series {classes[name]}"))
            for name, curve in named
        ),
        *_end_names({name: plot.place(*(each[-1] for each in c)) for name, c in named}, classes),
    ]
    if leaving := sum(not part.all() for part in inside):
        shapes.append(
            text(532, 24, f"{leaving} of {len(thin)} others leave the frame", "tick", "end")
        )
    title = f"Learning curves of {plural(len(named) + len(thin), 'fine-tune')}: bits by step"
    return canvas((700, HEIGHT), title, *shapes, class_="curves")


def _frame(
    named: Sequence[NDArray[np.float64]], others: Sequence[NDArray[np.float64]]
) -> tuple[float, float]:
    """The scores in view: others may exceed the range of ``named`` by that range on each side."""
    whole = np.concatenate([*named, *others])
    low, high = float(whole.min()), float(whole.max())
    if named:
        least, most = float(np.min(np.concatenate(named))), float(np.max(np.concatenate(named)))
        reach = max(most - least, 1.0)
        low, high = max(low, least - reach), min(high, most + reach)
    return low, high if high > low else low + 1


def _smooth(curve: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps and running means of a curve, thinned."""
    steps, values = downsample(curve, POINTS)
    return steps, running_mean(values, max(2, len(values) // 6))


def _end_names(ends: Mapping[str, Point], classes: Mapping[str, str]) -> Iterator[Element]:
    """Names at the ends of curves, without overlap; as many as the figure has room for."""
    lowest = -math.inf
    for name, (x, y) in sorted(ends.items(), key=lambda item: item[1][1]):
        lowest = max(y + 4, lowest + 15)
        if lowest > HEIGHT - 4:
            return
        yield text(x + 8, lowest, name, f"name solid {classes[name]}")


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
