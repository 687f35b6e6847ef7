"""Bars that stand in a table's cells."""

from __future__ import annotations

from archive.charts.axes import el
from archive.charts.markup import Element


def share_bar(share: float, class_: str = "") -> Element:
    """A bar as long as a share (0 to 1) of its cell; the number beside it says the same."""
    width = max(0.0, min(1.0, share)) * 100
    return el(
        "svg",
        el("rect", x=0, y=0, width=100, height=10, class_="track"),
        el("rect", x=0, y=0, width=width, height=10, class_=f"fill {class_}".strip()),
        class_="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
