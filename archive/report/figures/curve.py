"""Learning curves: the mean score at each step of a fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archive.charts.axes import Scale, across, canvas, polyline, text, upwards
from archive.charts.markup import Element

WIDTH, HEIGHT = 400.0, 190.0
LEFT, RIGHT, TOP, BELOW = 46.0, 12.0, 24.0, 44.0
POINTS = 60
"""Points that a curve is drawn with at most."""


def learning_curve(curve: Sequence[float]) -> Element | None:
    """Bits by step: each step's mean, and a running mean over it; None of less than two steps."""
    if len(curve) < 2:
        return None
    steps, values = thinned(curve, POINTS)
    x = Scale(1, len(curve), LEFT, WIDTH - RIGHT)
    low, high = float(values.min()), float(values.max())
    y = Scale(low, high if high > low else low + 1, HEIGHT - BELOW, TOP)
    smooth = running_mean(values, max(2, len(values) // 6))
    title = (
        f"Learning curve over {len(curve)} steps: mean score from {curve[0]:.1f} to "
        f"{curve[-1]:.1f} bits"
    )
    shapes = [
        *across(x, TOP, HEIGHT - BELOW, "gradient step", 4),
        *upwards(y, LEFT, WIDTH - RIGHT, 4),
        text(LEFT - 38, 13, "mean score, bits", "axis"),
        polyline([(x(s), y(v)) for s, v in zip(steps, values, strict=True)], "raw"),
        polyline([(x(s), y(v)) for s, v in zip(steps, smooth, strict=True)], "smooth"),
    ]
    return canvas(WIDTH, HEIGHT, title, *shapes, class_="curve")


def spark(curve: Sequence[float]) -> Element | None:
    """The curve as a word-sized figure."""
    if len(curve) < 2:
        return None
    steps, values = thinned(curve, 24)
    smooth = running_mean(values, 3)
    x = Scale(1, len(curve), 1, 71)
    y = Scale(float(smooth.min()), float(smooth.max()), 17, 3)
    points = [(x(s), y(v)) for s, v in zip(steps, smooth, strict=True)]
    said = f"score from {curve[0]:.1f} to {curve[-1]:.1f} bits while training"
    return canvas(72, 20, said, polyline(points, "smooth"), class_="spark")


def thinned(curve: Sequence[float], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps (k,) and means (k,) of at most ``most`` stretches of the curve."""
    values = np.asarray(curve, float)
    parts = np.array_split(np.arange(len(values)), min(most, len(values)))
    steps = np.array([part.mean() + 1 for part in parts])
    return steps, np.array([values[part].mean() for part in parts])


def running_mean(values: np.ndarray, reach: int) -> np.ndarray:
    """Means over windows of ``reach``, shorter at the ends; as many as there are values."""
    window = np.ones(reach)
    return np.convolve(values, window, "same") / np.convolve(np.ones(len(values)), window, "same")
