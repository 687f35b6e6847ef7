"""How many games a cover needs, by what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence

from archive.charts.axes import Scale, across, canvas, el, polyline, text, upwards
from archive.charts.markup import Element
from archive.report.covers import CoverStep
from archive.report.words import counted, listed

WIDTH, HEIGHT = 460.0, 260.0
LEFT, RIGHT, TOP, BELOW = 44.0, 16.0, 28.0, 48.0
NAMED = 8
"""Members that a tooltip names."""


def cover_curve(steps: Sequence[CoverStep], names: Sequence[str], games: int) -> Element:
    """Games of the smallest cover found at each η, as a staircase."""
    x = Scale(0, 1, LEFT, WIDTH - RIGHT)
    most = max(len(step.members) for step in steps)
    y = Scale(0, max(most, 2), HEIGHT - BELOW, TOP)
    points: list[tuple[float, float]] = []
    for step in steps:
        at = (x(step.eta), y(len(step.members)))
        points += [(points[-1][0], at[1]), at] if points else [(x(0), at[1]), at]
    shapes = [
        *across(x, TOP, HEIGHT - BELOW, "η: how much of each game must be covered →"),
        *upwards(y, LEFT, WIDTH - RIGHT, min(5, max(most, 2))),
        text(LEFT - 34, 14, "games needed", "axis"),
        polyline(points, "steps"),
    ]
    for step in steps:
        members = [names[place] for place in step.members[:NAMED]]
        more = len(step.members) - len(members)
        said = (
            f"η = {step.eta:g}: {counted(len(step.members), 'game')}"
            f" ({listed([*members, f'{more} more'] if more else members)})"
            + ("" if step.exact else f"; at least {step.least} are needed")
        )
        spot = el(
            "circle",
            cx=x(step.eta),
            cy=y(len(step.members)),
            r=4,
            class_="spot" if step.exact else "spot open",
        )
        shapes.append(el("g", el("title", said), spot, class_="mark"))
    title = f"Games of the smallest cover of {counted(games, 'game')} by η, up to {steps[-1].eta:g}"
    return canvas(WIDTH, HEIGHT, title, *shapes, class_="covers")
