"""What figures have in common: scales, axes, canvases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archive.charts.markup import Element, el


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from ``low``..``high`` to pixels ``start``..``end``; values beyond are kept
    at the edge."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Round numbers within the scale."""
        step = nice_step((self.high - self.low) / max(wanted, 1))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step + 0.0 for k in range(first, last + 1)]


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 × a power of ten that is not below ``rough``."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))


def canvas(width: float, height: float, title: str, *shapes: Element, class_: str = "") -> Element:
    """An SVG whose title is what a screen reader says of it."""
    return el(
        "svg",
        *shapes,
        class_=f"figure {class_}".strip(),
        viewBox=f"0 0 {round(width)} {round(height)}",
        width=round(width),
        height=round(height),
        role="img",
        aria_label=title,
    )


def text(x: float, y: float, said: str, class_: str = "", anchor: str | None = None) -> Element:
    """A line of text; ``anchor`` as SVG's text-anchor."""
    return el("text", said, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polyline(points: Sequence[tuple[float, float]], class_: str) -> Element:
    return el("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def across(
    scale: Scale, top: float, bottom: float, label: str, wanted: int = 5
) -> Iterator[Element]:
    """A horizontal axis at ``bottom`` with grid lines up to ``top``."""
    for tick in scale.ticks(wanted):
        x = scale(tick)
        yield line(x, top, x, bottom, "grid")
        yield text(x, bottom + 17, plain(tick), "tick", "middle")
    yield text((scale.start + scale.end) / 2, bottom + 36, label, "axis", "middle")


def upwards(scale: Scale, left: float, right: float, wanted: int = 5) -> Iterator[Element]:
    """A vertical axis at ``left`` with grid lines to ``right``."""
    for tick in scale.ticks(wanted):
        y = scale(tick)
        yield line(left, y, right, y, "grid")
        yield text(left - 7, y + 4, plain(tick), "tick", "end")


def plain(value: float) -> str:
    """A number as an axis says it, with a minus sign that is one."""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")
