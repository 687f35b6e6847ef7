"""The transfer matrix as a heat map in which games that teach alike are next to each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from archive.charts import canvas, mark, rect, text
from archive.report.games import GameFacts
from archive.schema import Definition
from archive.statistics.matrix import Cell, TransferMatrix
from archive.text import bounds, plural
from xgl.diagram.svg import Element, el

# -- shades of values and bits,  -------------------------------------------------------

DARKEST = 9
"""Classes of values: q0 (no transfer) to q9 (all of it, or more)."""
LEVELS = (0.25, 0.75, 1.5, 3.0, 5.0)
"""Bits from which a token has the next shade."""


def value_shade(value: float | None) -> tuple[str, str]:
    """The class of a value and the value in two digits: ``neg`` below −0.05, else q0 to q9 in
    tenths.

    >>> value_shade(-0.2), value_shade(0.0), value_shade(0.44), value_shade(1.3), value_shade(None)
    (('neg', '−.20'), ('q0', '.00'), ('q4', '.44'), ('q9', '1.3'), ('undefined', ''))
    """
    if value is None:
        return "undefined", ""
    number = f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}".replace("0.", ".", 1)
    shade = "neg" if value < -0.05 else f"q{min(DARKEST, max(0, math.floor(value * 10)))}"
    return shade, number.replace("-", "−")


def token_shade(bits: float | None) -> str:
    """``g1`` to ``g5`` where a token gains, ``l1`` to ``l5`` where it costs, else nothing.

    >>> token_shade(0.1), token_shade(2.0), token_shade(-9.0), token_shade(None)
    ('', 'g3', 'l5', '')
    """
    level = sum(abs(bits or 0.0) >= least for least in LEVELS)
    return f"{'g' if (bits or 0.0) > 0 else 'l'}{level}" if level else ""


MOST = 60
"""Games of which every pair is drawn."""
TOP = 40.0

Values = NDArray[np.float64]


def heat_map(matrix: TransferMatrix, games: Sequence[GameFacts], definition: Definition) -> Element:
    """Rows are trained on, columns are played; neighbours teach alike. Of more games than a screen
    has room for, the newest ones."""
    shown = [*range(len(games))][-MOST:]
    similar = similar_order(matrix.values(definition)[np.ix_(shown, shown)])
    order = [games[shown[place]] for place in similar]
    count = len(order)
    side = 38.0 if count <= 14 else 24.0 if count <= 30 else 16.0
    left = 40.0 + max((len(game.name) for game in order), default=0) * 8.2
    shapes: list[Element] = []
    for rank, game in enumerate(order):
        shapes += _labels(game, left, (rank + 0.5) * side)
    for (row, game), (column, other) in itertools.product(enumerate(order), repeat=2):
        cell = matrix.cells.get((game.task_id, other.task_id))
        title = f"trained on {game.name}, playing {other.name}: {cell_in_words(cell, definition)}"
        shade, number = "unmeasured", ""
        if cell is not None:
            shade, number = value_shade(cell.values.of(definition).value)
        x, y = left + column * side, TOP + row * side
        square = rect(x + 1, y + 1, side - 2, side - 2, "", rx=2)
        inside = [text(x + side / 2, y + side / 2 + 4, number, "in", "middle")]
        has_room = number and side >= 30
        shapes.append(mark(title, square, *(inside if has_room else ()), class_=f"cell {shade}"))
    shapes.append(text(left, 14, "plays … (numbers are those of the rows)", "axis"))
    shapes.append(text(left - 8, TOP - 8, "trained on", "axis", "end"))
    title = f"Transfer matrix of {plural(count, 'game')}; rows are trained on, columns played"
    size = (max(left + count * side + 8, left + 270), TOP + count * side + 8)
    return canvas(size, title, *shapes, class_="matrix", role="group")


def _labels(game: GameFacts, left: float, middle: float) -> Iterator[Element]:
    """A game's name and number beside its row, a link to its card, and its number on its column."""
    y, number = TOP + middle + 4, str(game.place + 1)
    yield el(
        "a",
        el("title", game.pay),
        text(left - 24, y, game.name, "name", "end"),
        text(left - 8, y, number, "tick", "end"),
        href=f"#game-{game.place}",
        class_="mark row",
    )
    yield text(left + middle, TOP - 8, number, "tick", "middle")


def cell_in_words(cell: Cell | None, definition: Definition) -> str:
    """``C = 0.43 [0.31, 0.55], gain +2.1 bits (60 fresh plays)``."""
    if cell is None:
        return "not measured"
    value, gain = cell.values.of(definition), cell.values.gain
    link = "is" if value.value is None else "="
    amount = f"{definition.symbol} {link} {bounds(value)}"
    if gain.value is not None:
        amount += f", gain {gain.value:+.1f} bits".replace("-", "−")
    plays = "plays that also chose games" if cell.from_selection else "fresh plays"
    return f"{amount} ({cell.plays} {plays})"


# -- order ----------------------------------------------------------------------------------------


def similar_order(values: Values) -> list[int]:
    """An order of the rows and columns of a square matrix of transfer values (n, n).

    Games are clustered by average linkage on their profiles, what they teach and what teaches
    them; unknown values (NaN, −inf) count as their column's mean. Deterministic.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    count = len(values)
    if count < 3:
        return list(range(count))
    profile = np.concatenate([_fill_unknown(values), _fill_unknown(values.T)], axis=1)
    tree = optimal_leaf_ordering(linkage(profile, "average"), profile)
    order = [int(index) for index in leaves_list(tree)]
    return order if order.index(0) < count / 2 else order[::-1]


def _fill_unknown(values: Values) -> Values:
    """Values clipped to [−0.5, 1.5], unknown ones at the mean of the column's known values."""
    clipped, unknown = np.clip(values, -0.5, 1.5), ~np.isfinite(values)
    means = np.ma.array(clipped, mask=unknown).mean(axis=0)
    return np.where(unknown, np.ma.filled(means, 0.0), clipped)
