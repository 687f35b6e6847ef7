"""Shades for bits of single tokens."""

from __future__ import annotations

from archive.charts.axes import canvas, el, text
from archive.charts.markup import Element

LEVELS = (0.25, 0.75, 1.5, 3.0, 5.0)
"""Bits from which a token has the next shade."""


def heat_class(bits: float | None) -> str:
    """``g1`` to ``g5`` where a token gains, ``l1`` to ``l5`` where it costs, else nothing.

    >>> heat_class(0.1), heat_class(2.0), heat_class(-9.0), heat_class(None)
    ('', 'g3', 'l5', '')
    """
    level = sum(abs(bits or 0.0) >= least for least in LEVELS)
    return f"{'g' if (bits or 0.0) > 0 else 'l'}{level}" if level else ""


def heat_legend() -> Element:
    """What the shades of tokens mean."""
    keys = [f"l{k}" for k in (5, 4, 3, 2, 1)] + [""] + [f"g{k}" for k in (1, 2, 3, 4, 5)]
    said = {0: "−5 bits", 5: "0", 10: "+5 bits"}
    shapes = [text(0, 15, "costs", "axis")]
    for place, class_ in enumerate(keys):
        x = 44 + place * 22
        shapes.append(el("rect", x=x, y=3, width=22, height=15, class_=f"token {class_}".strip()))
        if place in said:
            shapes.append(text(x + 11, 33, said[place], "tick", "middle"))
    shapes.append(text(44 + 11 * 22 + 8, 15, "gains", "axis"))
    title = "Legend: shade of a token by the bits that it adds to the reward"
    return canvas(340, 38, title, *shapes, class_="heatlegend")
