"""Classes of shades for values and bits, with legends; charts.css and report.css colour them."""

from __future__ import annotations

import math

from archive.charts.plot import canvas, rect, text
from archive.schema import Definition
from xgl.diagram.svg import Element, el

DARKEST = 9
"""Classes of values: q0 (no transfer) to q9 (all of it, or more)."""
LEVELS = (0.25, 0.75, 1.5, 3.0, 5.0)
"""Bits from which a token has the next shade."""


def value_shade(value: float) -> str:
    """The class of a value: ``neg`` below −0.05, else q0 to q9 in tenths.

    >>> value_shade(-0.2), value_shade(0.0), value_shade(0.44), value_shade(1.3)
    ('neg', 'q0', 'q4', 'q9')
    """
    if value < -0.05:
        return "neg"
    return f"q{min(DARKEST, max(0, math.floor(value * 10)))}"


def value_legend(definition: Definition) -> Element:
    """What the shades of the heat map mean."""
    shapes = [text(0, 16, definition.symbol, "axis")]
    ramp = [(f"q{k}", ".5" if k == 5 else "") for k in range(1, DARKEST)]
    x = 18.0
    for class_, label in [("neg", "below 0"), ("q0", "0"), *ramp, ("q9", "1")]:
        shapes.append(_sample(x, class_))
        if label:
            shapes.append(text(x + 10, 36, label, "tick", "middle"))
        x += 44 if class_ == "neg" else 20
    for class_, label in (("undefined", "not defined"), ("unmeasured", "not measured")):
        x += 16
        shapes += [_sample(x, class_), text(x + 27, 16, label, "tick")]
        x += 28 + 7 * len(label)
    return canvas((x + 8, 42), "Legend of the heat map", *shapes, class_="matrix legend")


def _sample(x: float, class_: str) -> Element:
    return el("g", rect(x, 4, 20, 16, "", rx=2), class_=f"cell {class_}")


def token_shade(bits: float | None) -> str:
    """``g1`` to ``g5`` where a token gains, ``l1`` to ``l5`` where it costs, else nothing.

    >>> token_shade(0.1), token_shade(2.0), token_shade(-9.0), token_shade(None)
    ('', 'g3', 'l5', '')
    """
    level = sum(abs(bits or 0.0) >= least for least in LEVELS)
    return f"{'g' if (bits or 0.0) > 0 else 'l'}{level}" if level else ""


def token_legend() -> Element:
    """What the shades of tokens mean."""
    keys = [f"l{k}" for k in (5, 4, 3, 2, 1)] + [""] + [f"g{k}" for k in (1, 2, 3, 4, 5)]
    labels = {0: "−5 bits", 5: "0", 10: "+5 bits"}
    shapes = [text(0, 15, "costs", "axis")]
    for index, class_ in enumerate(keys):
        x = 44 + index * 22
        shapes.append(rect(x, 3, 22, 15, f"token {class_}".strip()))
        if index in labels:
            shapes.append(text(x + 11, 33, labels[index], "tick", "middle"))
    shapes.append(text(44 + 11 * 22 + 8, 15, "gains", "axis"))
    title = "Legend: shade of a token by the bits that it adds to the reward"
    return canvas((340, 38), title, *shapes, class_="heatlegend")
