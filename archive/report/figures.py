"""Figures of the page: how the scope grew, which game was accepted from which; shades and words of
the transfer matrix and of scored tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count

from archive.charts import canvas, line, text
from archive.report.games import GameFacts
from archive.schema import Definition
from archive.statistics.matrix import Cell
from archive.text import bounds, plural
from xgl.diagram.svg import Element, el

LEFT, TOP = 20.0, 44.0


def lineage(games: Sequence[GameFacts]) -> Element:
    """A forest: columns are generations, a first child is on its parent's row."""
    column, row = 200.0, 42.0
    rows, free = dict[int, int](), count()

    def put(place: int, its_row: int) -> None:
        rows[place] = its_row
        for index, kid in enumerate(games[place].children):
            put(kid, next(free) if index else its_row)

    for game in games:
        if game.parent is None:
            put(game.place, next(free))
    last, bottom = max((game.member.generation for game in games), default=0), next(free) * row
    shapes: list[Element] = []
    for number in range(last + 1):
        x = LEFT + number * column
        shapes.append(line(x, 28, x, TOP + bottom, "grid"))
        shapes.append(text(x - 6, 18, f"generation {number}" if number else "start", "tick"))
    at = {
        g.place: (LEFT + g.member.generation * column, TOP + 18 + rows[g.place] * row)
        for g in games
    }
    for game in games:
        if game.parent is None:
            continue
        (x1, y1), (x2, y2) = at[game.parent], at[game.place]
        turn = min(12.0, abs(y2 - y1), x2 - x1)
        path = f"M{x1:.1f},{y1:.1f}"
        if y1 != y2:
            path += f"V{y2 - turn:.1f}Q{x1:.1f},{y2:.1f} {x1 + turn:.1f},{y2:.1f}"
        shapes.append(el("path", d=f"{path}H{x2:.1f}", class_="edge", data_child=game.place))
    shapes += [_node(game, *at[game.place]) for game in games]
    size = (LEFT + last * column + 190, TOP + 18 + bottom)
    title = f"Descent of {plural(len(games), 'game')}; each is a link to its card"
    return canvas(size, title, *shapes, class_="lineage", role="group")


def _node(game: GameFacts, x: float, y: float) -> Element:
    kind = "start" if game.parent is None else "new"
    generation = f"generation {game.member.generation}" if game.parent is not None else kind
    shown = game.name if len(game.name) <= 21 else f"…{game.name[-20:]}"  # a column's width
    label, name = f"{game.name}, {generation}", text(x + 11, y - 9, shown, "name")
    if game.member.gamma is not None:
        label += f", γ {game.member.gamma:.2f}"
        aside = el("tspan", f" γ {game.member.gamma:.2f}", dx=5, class_="tick")
        name = el("text", *name.children, aside, **name.attributes)
    return el(
        "a",
        el("title", f"{label}: {game.pay}"),
        el("circle", cx=x, cy=y, r=12, class_="hit"),
        el("circle", cx=x, cy=y, r=6.5, class_=f"node {kind}"),
        name,
        href=f"#game-{game.place}",
        class_="mark",
        aria_label=label,
        data_game=game.place,
        data_parent=game.parent,
    )


# -- shades of values and bits, and a value in words -----------------------------------------------

LEVELS = (0.25, 0.75, 1.5, 3.0, 5.0)
"""Bits from which a token has the next shade."""


def value_shade(value: float | None) -> tuple[str, str]:
    """The class of a value and the value in two digits: ``neg`` below −0.05, else q0 to q9 (all
    of it, or more) in tenths.

    >>> value_shade(-0.2), value_shade(0.0), value_shade(0.44), value_shade(1.3), value_shade(None)
    (('neg', '−.20'), ('q0', '.00'), ('q4', '.44'), ('q9', '1.3'), ('undefined', '?'))
    """
    if value is None:
        return "undefined", "?"
    number = f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}".replace("0.", ".", 1)
    shade = "neg" if value < -0.05 else f"q{min(9, max(0, math.floor(value * 10)))}"
    return shade, number.replace("-", "−")


def token_shade(bits: float | None) -> str:
    """``g1`` to ``g5`` where a token gains, ``l1`` to ``l5`` where it costs, else nothing.

    >>> token_shade(0.1), token_shade(2.0), token_shade(-9.0), token_shade(None)
    ('', 'g3', 'l5', '')
    """
    level = sum(abs(bits or 0.0) >= least for least in LEVELS)
    return f"{'g' if (bits or 0.0) > 0 else 'l'}{level}" if level else ""


def cell_in_words(cell: Cell | None, definition: Definition) -> str:
    """``C = 0.43 [0.31, 0.55], gain +2.1 bits (60 fresh plays)``."""
    if cell is None:
        return "not measured"
    value, gain = cell.values.of(definition), cell.values.gain
    link = "is" if value.value is None else "="
    amount = f"{definition.symbol} {link} {bounds(value)}"
    if gain.value is not None:
        amount += f", gain {gain.value:+.1f} bits".replace("-", "−")
    plays = "plays that also chose games" if cell.purpose == "selection" else "fresh plays"
    return f"{amount} ({cell.plays} {plays})"
