"""Tools that draw every chart: scales, axes, marks and their styles.

Charts are SVG trees (``xgl.diagram.svg``). Colours are classes, which ``charts.css`` gives for
light and dark screens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from xgl.diagram.sheet import cells, shorten
from xgl.diagram.svg import NAMESPACE, Element, Point, el, file_text, points

SERIES = 6
"""Colours of series: the classes s0 to s5."""


@dataclass(frozen=True, slots=True)
class LinearScale:
    """A linear scale from ``low``..``high`` to pixels ``start``..``end``; values beyond are kept
    at the edge. ``whole``: the values are counts, and so are its ticks."""

    low: float
    high: float
    start: float
    end: float
    whole: bool = False

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """About ``count`` round numbers within the scale."""
        rough = (self.high - self.low) / count or 1.0
        power = 10.0 ** math.floor(math.log10(rough))
        # the smallest of these that is not below the rough one
        step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough * (1 - 1e-9))
        if self.whole:
            step = math.ceil(step)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step + 0.0 for k in range(first, last + 1)]


class Plot:
    """A rectangle with two scales: ``x`` to the right, ``y`` upwards."""

    def __init__(
        self,
        corner: Point,
        size: tuple[float, float],
        xs: tuple[float, float],
        ys: tuple[float, float],
        counts: str = "",
    ) -> None:
        """Top left ``corner`` and ``size`` are in pixels, for values ``xs`` and ``ys`` (low, high);
        ``counts`` names the axes, x or y, of whole numbers."""
        (left, top), (width, height) = corner, size
        self.x = LinearScale(*xs, left, left + width, "x" in counts)
        self.y = LinearScale(*ys, top + height, top, "y" in counts)

    def place(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)

    def grid(
        self, x_label: str, y_label: str, x_ticks: int = 5, y_ticks: int = 5
    ) -> Iterator[Element]:
        """Both axes: grid lines, their numbers, and labels below and at the top left."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        for tick in self.x.ticks(x_ticks):
            x = self.x(tick)
            yield line(x, top, x, bottom, "grid")
            yield text(x, bottom + 17, plain(tick), "tick", "middle")
        yield text((left + right) / 2, bottom + 36, x_label, "axis", "middle")
        for tick in self.y.ticks(y_ticks):
            y = self.y(tick)
            yield line(left, y, right, y, "grid")
            yield text(left - 7, y + 4, plain(tick), "tick", "end")
        if y_label:
            yield text(max(left - 38, 4), top - 11, y_label, "axis")


def canvas(
    size: tuple[float, float], title: str, *shapes: Element, class_: str = "", role: str = "img"
) -> Element:
    """An SVG with a title for screen readers; ``role``: ``group`` if links in it can be reached."""
    w, h = map(round, size)
    kind, box = f"figure {class_}".strip(), f"0 0 {w} {h}"
    return el(
        "svg", *shapes, class_=kind, viewBox=box, width=w, height=h, role=role, aria_label=title
    )


def text(x: float, y: float, words: str, class_: str = "", anchor: str | None = None) -> Element:
    """A line of text; ``anchor`` as SVG's text-anchor."""
    return el("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polyline(corners: Iterable[Point], class_: str) -> Element:
    """A line through all places."""
    return el("polyline", points=points(corners), class_=class_)


def key(x: float, y: float, words: str, class_: str) -> Iterator[Element]:
    """A sample of a line, and its meaning."""
    yield line(x, y, x + 24, y, class_)
    yield text(x + 32, y + 4, words)


class Panel(NamedTuple):
    """A plot of ``curves``, each its values x and y and its class; ``levels``: lines across."""

    title: str
    labels: tuple[str, str]
    curves: Sequence[tuple[Sequence[float], Sequence[float], str]]
    levels: Sequence[float] = ()


def panels(
    title: str, every: Sequence[Panel], legend: Mapping[str, str], across: int, alike: bool = False
) -> Element:
    """Plots of lines, ``across`` in a row, and beneath what the classes in ``legend`` mean, by
    their names; ``alike``: all have the same y axis."""
    shapes: list[Element] = []
    ys = [[*each.levels, *(y for _, own, _ in each.curves for y in own)] for each in every]
    common = [y for own in ys for y in own]
    for place, (panel, own) in enumerate(zip(every, ys, strict=True)):
        left, top = 52 + place % across * 340.0, 44 + place // across * 270.0
        xs, within = [x for each, _, _ in panel.curves for x in each], common if alike else own
        plot = Plot((left, top), (270, 170), _ends(xs), _ends(within), "x")
        heading = text(left, top - 26, shorten(panel.title, 42), "heading")  # of 340 pixels
        shapes += [heading, *plot.grid(*panel.labels, 4, 4)]
        shapes += [
            line(plot.x.start, plot.y(level), plot.x.end, plot.y(level), "rule")
            for level in panel.levels
        ]
        shapes += [polyline(map(plot.place, x, y), class_) for x, y, class_ in panel.curves]
    below = -(-len(every) // across) * 270.0
    for row, (name, class_) in enumerate(legend.items()):
        shapes += key(52, below + 18 * row, name, class_)
    width = max(across * 340.0, *(96 + 7.5 * cells(name) for name in legend), 0)
    return canvas((width, below + 18 * len(legend)), title, *shapes, class_="panels")


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def series(index: int) -> str:
    """The class of the series at this place: a colour, dotted from the seventh on."""
    return f"s{index % SERIES}" + " again" * (index // SERIES % 2)


def plain(value: float) -> str:
    """A tick's number, all of it, with a real minus sign."""
    return format(value, ",.12g").replace("-", "−")


# -- charts as separate files, and the styles that they share with the report ----------------------

_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_DECLARED = re.compile(r"--([\w-]+): ([^;]+);")
_DARK = "@media screen and (prefers-color-scheme: dark)"


def style_sheet() -> str:
    """The styles of all charts; its variables are declared first for light, then for dark."""
    return (files("archive.charts") / "charts.css").read_text(encoding="utf-8").strip()


def document(figure: Element) -> str:
    """A figure as an SVG file, on paper of its own and ending in a newline; its styles have no
    variables, which programs other than browsers do not read."""
    declarations, rules = style_sheet().split("/* rules */")
    light, dark = (dict(_DECLARED.findall(part)) for part in declarations.split(_DARK))
    light_rules, dark_rules = (
        _VARIABLE.sub(lambda name, scheme=scheme: scheme[name[1]], rules)  # type: ignore[misc]
        for scheme in (light, light | dark)
    )
    root = el(
        "svg",
        el("title", str(figure.attributes["aria_label"])),
        el("style", f"{light_rules}\n{_DARK} {{{dark_rules}}}"),
        el("rect", class_="paper", width="100%", height="100%"),
        *figure.children,
        xmlns=NAMESPACE,
        **figure.attributes,
    )
    return file_text(root)
