"""Which candidates passed: value to the parent against γ, with the two thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archive.charts.plot import Plot, canvas, circle, line, mark, rect, text
from archive.report.contents import DecidedCandidate, RunThresholds
from archive.statistics.intervals import Interval
from archive.text import bounds, plural
from xgl.diagram.shapes import Point
from xgl.diagram.svg import Element, el

LEFT, TOP, WIDTH, HEIGHT = 44.0, 28.0, 402.0, 322.0
MOST_NAMES = 12
"""Most accepted games that are labelled with their names."""
CROWD = 60
"""With more accepted games than this, points are small and have no error bars."""
MANY = 400
"""Beyond this many refusals they are one mark without tooltips or whiskers."""


def thresholds(
    candidates: Sequence[DecidedCandidate], limits: RunThresholds, names: Sequence[str]
) -> Element:
    """A point for each candidate that has both values; in the corner are those that pass."""
    letter = limits.definition.symbol
    xs = _range([c.value for c in candidates], limits.alpha1)
    ys = _range([c.gamma for c in candidates], 1 - limits.alpha2)
    plot = Plot.box((LEFT, TOP), (WIDTH, HEIGHT), xs, ys)
    edge, limit = plot.place(limits.alpha1, 1 - limits.alpha2)
    right, bottom = LEFT + WIDTH, TOP + HEIGHT
    shapes = [
        rect(edge, limit, right - edge, bottom - limit, "region"),
        *plot.grid(
            f"{letter}: how much of its parent it teaches →",
            "γ: how much of it the scope teaches already",
        ),
        line(edge, TOP, edge, bottom, "limit"),
        line(LEFT, limit, right, limit, "limit"),
        text(edge + 5, TOP + 13, f"α1 = {limits.alpha1:g}", "limitname"),
        text(LEFT + 4, limit - 6, f"1 − α2 = {1 - limits.alpha2:g}", "limitname"),
        *_points(candidates, plot, letter, names),
    ]
    title = (
        f"{plural(len(candidates), 'candidate')} by {letter} and γ; accepted are those with "
        f"{letter} at least {limits.alpha1:g} and γ at most {1 - limits.alpha2:g}"
    )
    return canvas((460, 400), title, *shapes, class_="thresholds")


def _range(values: Sequence[Interval], limit: float) -> tuple[float, float]:
    """A range that shows 0 to 1, the threshold and most values, but no outlier's far end."""
    known_values = [interval.value for interval in values if interval.value is not None]
    low = max(min([0.0, limit, *known_values]), -0.6)
    high = min(max([1.0, limit, *known_values]), 1.6)
    return low - 0.05, high + 0.05


def _points(
    candidates: Sequence[DecidedCandidate], plot: Plot, letter: str, names: Sequence[str]
) -> Iterator[Element]:
    refusals = [candidate for candidate in candidates if candidate.place is None]
    if len(refusals) > MANY:
        spots = (_middle(candidate, plot) for candidate in refusals)
        yield el("path", d="".join(f"M{x:.1f},{y:.1f}h0" for x, y in spots), class_="refused many")
    else:
        for candidate in refusals:
            yield _point(candidate, plot, letter, names)
    acceptances = [candidate for candidate in candidates if candidate.place is not None]
    for candidate in acceptances:
        yield _point(candidate, plot, letter, names, small=len(acceptances) > CROWD)
    if len(acceptances) <= MOST_NAMES:
        yield from _names(acceptances, plot, names)


def _middle(candidate: DecidedCandidate, plot: Plot) -> Point:
    return plot.place(candidate.value.value or 0.0, candidate.gamma.value or 0.0)


def _names(
    acceptances: Sequence[DecidedCandidate], plot: Plot, names: Sequence[str]
) -> Iterator[Element]:
    """Names next to the accepted points, where they do not overlap."""
    positions: list[Point] = []
    for candidate in sorted(acceptances, key=lambda candidate: candidate.gamma.value or 0.0):
        x, y = _middle(candidate, plot)
        left, up, name = x + 8, y + 15, names[candidate.place or 0]
        if left + 8 * len(name) > plot.x.end:
            left -= 16 + 8 * len(name)
        if all(abs(up - other) > 14 or abs(left - first) > 90 for first, other in positions):
            positions.append((left, up))
            yield text(left, up, name, "name")


def _point(
    candidate: DecidedCandidate, plot: Plot, letter: str, names: Sequence[str], small: bool = False
) -> Element:
    x, y = _middle(candidate, plot)
    name = f"{candidate.game_id[:8]}" if candidate.place is None else names[candidate.place]
    label = (
        f"{name}, {candidate.verdict} ({candidate.reason}): {letter} {bounds(candidate.value)}, "
        f"γ {bounds(candidate.gamma)}"
    )
    # an infinite bound ends where the figure ends
    whiskers = [
        line(plot.x(candidate.value.low), y, plot.x(candidate.value.high), y, "whisker"),
        line(x, plot.y(candidate.gamma.low), x, plot.y(candidate.gamma.high), "whisker"),
    ]
    dot = circle(x, y, 2.5 if small else 5, "dot")
    marks = [*([] if small else whiskers), dot]
    if candidate.place is None:
        return mark(label, *marks, class_=str(candidate.verdict))
    title = el("title", label)
    link = f"#game-{candidate.place}"
    return el("a", title, *marks, class_="mark accepted", href=link, aria_label=label)
