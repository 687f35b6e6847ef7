"""Which candidates passed: value to the parent against γ, with the two thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from archive.charts.axes import Scale, across, canvas, el, line, text, upwards
from archive.charts.markup import Element
from archive.report.facts import Candidate, RunThresholds
from archive.report.words import counted
from archive.statistics.intervals import Interval

WIDTH, HEIGHT = 460.0, 400.0
LEFT, RIGHT, TOP, BELOW = 44.0, 14.0, 28.0, 50.0
NAMED = 12
"""Accepted games that carry their names."""
CROWD = 60
"""Of more accepted games the points are small and have no error bars."""
MANY = 400
"""Beyond this many refusals they are one mark without tooltips or whiskers."""


def thresholds(
    candidates: Sequence[Candidate], held: RunThresholds, names: Sequence[str]
) -> Element:
    """A point for each candidate that has both values; in the corner are those that pass."""
    letter = held.definition.symbol
    x = Scale(*_range([c.value for c in candidates], held.alpha1), LEFT, WIDTH - RIGHT)
    y = Scale(*_range([c.gamma for c in candidates], 1 - held.alpha2), HEIGHT - BELOW, TOP)
    edge, limit = x(held.alpha1), y(1 - held.alpha2)
    shapes = [
        el(
            "rect",
            x=edge,
            y=limit,
            width=WIDTH - RIGHT - edge,
            height=HEIGHT - BELOW - limit,
            class_="region",
        ),
        *across(x, TOP, HEIGHT - BELOW, f"{letter}: how much of its parent it teaches →"),
        *upwards(y, LEFT, WIDTH - RIGHT),
        text(LEFT - 34, 14, "γ: how much of it the scope teaches already", "axis"),
        line(edge, TOP, edge, HEIGHT - BELOW, "limit"),
        line(LEFT, limit, WIDTH - RIGHT, limit, "limit"),
        text(edge + 5, TOP + 13, f"α1 = {held.alpha1:g}", "limitname"),
        text(LEFT + 4, limit - 6, f"1 − α2 = {1 - held.alpha2:g}", "limitname"),
    ]
    shapes += _points(candidates, x, y, letter, names)
    title = (
        f"{counted(len(candidates), 'candidate')} by {letter} and γ; accepted are those with "
        f"{letter} at least {held.alpha1:g} and γ at most {1 - held.alpha2:g}"
    )
    return canvas(WIDTH, HEIGHT, title, *shapes, class_="thresholds")


def _range(values: Sequence[Interval], limit: float) -> tuple[float, float]:
    """A range that shows 0 to 1, the threshold and most values, but no outlier's far end."""
    found = [each.value for each in values if each.value is not None]
    low = max(min([0.0, limit, *found]), -0.6)
    high = min(max([1.0, limit, *found]), 1.6)
    return low - 0.05, high + 0.05


def _points(
    candidates: Sequence[Candidate], x: Scale, y: Scale, letter: str, names: Sequence[str]
) -> Iterator[Element]:
    refused = [each for each in candidates if each.place is None]
    if len(refused) > MANY:
        spots = "".join(
            f"M{x(c.value.value or 0):.1f},{y(c.gamma.value or 0):.1f}h0" for c in refused
        )
        yield el("path", d=spots, class_="refused many")
    else:
        for each in refused:
            yield _point(each, x, y, letter, names)
    passed = [each for each in candidates if each.place is not None]
    for each in passed:
        yield _point(each, x, y, letter, names, crowded=len(passed) > CROWD)
    if len(passed) <= NAMED:
        yield from _names(passed, x, y, names)


def _names(
    passed: Sequence[Candidate], x: Scale, y: Scale, names: Sequence[str]
) -> Iterator[Element]:
    """Names beside the accepted points, where they do not cover each other."""
    taken: list[tuple[float, float]] = []
    for each in sorted(passed, key=lambda each: each.gamma.value or 0.0):
        left, up = x(each.value.value or 0.0) + 8, y(each.gamma.value or 0.0) + 15
        said = names[each.place or 0]
        if left + 8 * len(said) > WIDTH - RIGHT:
            left -= 16 + 8 * len(said)
        if all(abs(up - other) > 14 or abs(left - first) > 90 for first, other in taken):
            taken.append((left, up))
            yield text(left, up, said, "name")


def _point(
    each: Candidate, x: Scale, y: Scale, letter: str, names: Sequence[str], crowded: bool = False
) -> Element:
    across_, up = x(each.value.value or 0.0), y(each.gamma.value or 0.0)
    name = f"{each.game_id[:8]}" if each.place is None else names[each.place]
    said = (
        f"{name}, {each.verdict} ({each.reason}): {letter} {bounds(each.value)}, "
        f"γ {bounds(each.gamma)}"
    )
    whiskers = [
        line(x(_at(each.value.low, x)), up, x(_at(each.value.high, x)), up, "whisker"),
        line(across_, y(_at(each.gamma.low, y)), across_, y(_at(each.gamma.high, y)), "whisker"),
    ]
    dot = el("circle", cx=across_, cy=up, r=2.5 if crowded else 5, class_="dot")
    marks = [el("title", said), *([] if crowded else whiskers), dot]
    if each.place is None:
        return el("g", *marks, class_=f"mark {each.verdict}")
    return el("a", *marks, class_="mark accepted", href=f"#game-{each.place}", aria_label=said)


def _at(bound: float, scale: Scale) -> float:
    """An open bound ends where the figure ends."""
    if math.isinf(bound):
        return scale.low if bound < 0 else scale.high
    return bound


def bounds(interval: Interval) -> str:
    """``0.43 [0.31, 0.55]``, with … for a bound that is open."""
    if interval.value is None:
        return "not defined"
    low, high = (
        "…" if math.isinf(bound) else f"{bound:.2f}" for bound in (interval.low, interval.high)
    )
    return f"{interval.value:.2f} [{low}, {high}]".replace("-", "−")
