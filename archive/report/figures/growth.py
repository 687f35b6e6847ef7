"""How the scope grew: one bar for each generation."""

from __future__ import annotations

from collections.abc import Sequence

from archive.charts.axes import Scale, canvas, el, line, text
from archive.charts.markup import Element
from archive.report.facts import Generation
from archive.report.words import counted

HEIGHT, TOP, BELOW, LEFT = 170.0, 26.0, 40.0, 8.0
BAR, GAP = 46.0, 18.0


def growth(generations: Sequence[Generation]) -> Element:
    """Games known before, and new ones on top of them, by generation."""
    wide = BAR + GAP if len(generations) <= 12 else 26.0
    bar = wide - GAP if len(generations) <= 12 else 20.0
    largest = max((each.size for each in generations), default=1)
    base = TOP + HEIGHT - BELOW
    height = Scale(0, max(largest, 1), 0, HEIGHT - BELOW)
    shapes: list[Element] = []
    for place, each in enumerate(generations):
        x = LEFT + place * wide
        old, new = height(each.size - each.new), height(each.new)
        said = f"Generation {each.number}: {counted(each.size, 'game')}, {each.new} new"
        shapes.append(
            el(
                "g",
                el("title", said),
                el("rect", x=x, y=base - old, width=bar, height=old, class_="old"),
                el("rect", x=x, y=base - old - new, width=bar, height=new, class_="new"),
                text(x + bar / 2, base - old - new - 7, f"{each.size:,}", "value", "middle"),
                text(x + bar / 2, base + 17, str(each.number), "tick", "middle"),
                class_="mark",
            )
        )
    right = LEFT + len(generations) * wide
    shapes.append(line(0, base, right, base, "rule"))
    shapes.append(text(LEFT, base + 35, "generation", "axis"))
    title = "Size of the scope by generation: " + "; ".join(
        f"generation {each.number}, {counted(each.size, 'game')}" for each in generations
    )
    return canvas(max(right, 150), TOP + HEIGHT, title, *shapes, class_="growth")
