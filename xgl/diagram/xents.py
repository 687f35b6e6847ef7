"""Xent symbols: a triangle from the prefix to the scored string (paper §2.5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

from xgl.diagram.palette import INK, triangle
from xgl.diagram.sheet import LANE, STEP, Sheet
from xgl.diagram.strings import Anchor, Strokes, place
from xgl.language import syntax as syn

HALF = 9.0
OPPOSITE = {"xent": "nex", "nex": "xent", "xed": "dex", "dex": "xed"}


def draw_term(sheet: Sheet, term: syn.Xent, sign: int, player: str, order: int, mark: str) -> float:
    """One symbol in ``player``'s colours; returns the y of its row, ``sheet.y`` moves past it."""
    strokes = Strokes()
    sheet.in_use = 0
    sheet.kinds.add(term.kind if sign > 0 else OPPOSITE[term.kind])
    prefix = None if term.prefix is None else place(sheet, term.prefix, strokes, 1)
    target = place(sheet, term.target, strokes, -1)
    outer = None if term.outer is None else place(sheet, term.outer, strokes, 1)
    if outer is not None:
        sheet.y += STEP
    y = sheet.y + STEP / 2 + 1
    x, pointing = _between(sheet, prefix, target, y)
    fill, dot = triangle(player, term.kind, sign)
    sheet.triangle(x, sheet.y + STEP / 2 + 1, pointing, fill, dot, mark, order)
    if outer is not None:
        _outer(sheet, outer, x, y - STEP)
    row = sheet.y + STEP / 2 + 1
    sheet.y += STEP + 4
    return row


def has_xents(comparison: syn.Comparison) -> bool:
    """Whether a comparison holds xents; others (numbers, word counts) are drawn as statements."""
    return any(isinstance(term, syn.Xent) for _, term in signed_terms(comparison))


def signed_terms(comparison: syn.Comparison) -> Iterator[tuple[int, object]]:
    """The terms of a comparison, signed so that it holds if their sum is positive (§2.5.2)."""
    greater = 1 if comparison.comparator in (">", ">=") else -1
    for amount, side in ((comparison.left, greater), (comparison.right, -greater)):
        for sign, term in amount.terms:
            yield sign * side, term


def _between(sheet: Sheet, prefix: Anchor | None, target: Anchor, y: float) -> tuple[float, int]:
    """Edges of a symbol; returns the x of its triangle and where it points (±1)."""
    if prefix is None:
        beside = _gap(sheet, target.x + LANE / 4)
        target.touch(y)
        sheet.line((beside, y), (target.x, y), dash=target.dash)
        return beside, -1
    pointing = 1 if target.x > prefix.x else -1
    low, high = sorted((prefix.x, target.x))
    x = _gap_between(sheet, low, high)
    prefix.touch(y)
    if x is None:
        return _around(sheet, prefix, target, y), -1
    target.touch(y)
    sheet.line((prefix.x, y), (x, y), dash=prefix.dash)
    sheet.line((x, y), (target.x, y), dash=target.dash)
    return x, pointing


def _around(sheet: Sheet, prefix: Anchor, target: Anchor, y: float) -> float:
    """Prefix and target too close for a triangle between: go round on the right."""
    x = _gap(sheet, max(prefix.x, target.x) + LANE / 4)
    out = x + LANE / 4
    sheet.line((prefix.x, y), (out, y), (out, y + STEP), (x, y + STEP), dash=prefix.dash)
    target.touch(y + STEP)
    sheet.line((x, y + STEP), (target.x, y + STEP), dash=target.dash)
    sheet.y += STEP
    return x


def _outer(sheet: Sheet, outer: Anchor, x: float, y: float) -> None:
    """The text before the prefix: an edge to the triangle's back, through a small diamond."""
    sheet.kinds.add("outer")
    outer.touch(y)
    sheet.line((outer.x, y), (x, y), (x, y + STEP - HALF), dash=outer.dash, stroke=INK)
    sheet.diamond(x, y)


def _gap(sheet: Sheet, least: float) -> float:
    """The first middle between two lanes at or after ``least``."""
    first = sheet.left + LANE / 2
    return first + ceil((least - first) / LANE) * LANE


def _gap_between(sheet: Sheet, low: float, high: float) -> float | None:
    """The middle between two lanes that is nearest to that of low … high, if there is room."""
    first, margin = sheet.left + LANE / 2, HALF + 4
    least = ceil((low + margin - first) / LANE)
    most = floor((high - margin - first) / LANE)
    if least > most:
        return None
    nearest = round(((low + high) / 2 - first) / LANE)
    return first + min(max(nearest, least), most) * LANE
