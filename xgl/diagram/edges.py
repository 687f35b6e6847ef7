"""Strings as edges on the sheet (paper §2.5.5), xents as triangles from prefix to scored string
(§2.5.2).

``s + t`` is an arrow from s to t; n strings are n − 1 arrows of one stroke, which bend where they
turn back. Cut is the edge of the text met by the double-arrowed edge of the mark: what comes
before goes on with a double arrow, what comes after with a single one. An edge of the same
stroke, without an arrow, carries the result to its use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from math import ceil, floor

from xgl.diagram.sheet import LANE, STEP, Sheet
from xgl.diagram.svg import INK, STROKES, triangle
from xgl.language import syntax as syn
from xgl.language.visitors import joined_parts, reads


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point where a string can be used: ``touch(y)`` brings it to (x, y), at or below its
    start."""

    x: float
    gap: float
    """Room to leave around it for its mark."""
    touch: Callable[[float], None]
    dash: str = ""


Strokes = Iterator[str]
"""A stroke for each operation of a line."""


def strokes(first: int = 0) -> Strokes:
    return islice(cycle(STROKES), first, None)


def place(sheet: Sheet, node: object, strokes: Strokes, side: int) -> Anchor:
    """Draw an expression and move ``sheet.y`` on; ``side`` (±1) is 1 for a prefix and −1 for a
    target, since their concatenations may end on one lane."""
    match node:
        case syn.Register(name):
            return _register(sheet, name)
        case syn.Literal(value):
            return _square(sheet, sheet.key(value))
        case syn.Story():
            sheet.kinds.add("story")
            return _square(sheet, "")
        case syn.Cat() | syn.Chain():
            parts = [place(sheet, part, strokes, -1) for part in joined_parts(node)]
            return _chain(sheet, parts, next(strokes), side)
        case syn.ListOf(items):
            return _read_into(sheet, node, next(strokes), list_of=len(items))
        case syn.Cut(text, mark, cut_side):
            pair = place(sheet, text, strokes, -1), place(sheet, mark, strokes, -1)
            return _cut(sheet, *pair, cut_side == "before", next(strokes))
        case _:
            return _read_into(sheet, node, next(strokes))


def _register(sheet: Sheet, name: str) -> Anchor:
    lane = sheet.lanes[name]
    return Anchor(lane.x, 3, lambda y: sheet.dot(sheet.use(name, y), y))


def _square(sheet: Sheet, text: str) -> Anchor:
    x = sheet.temporary_lane()
    return Anchor(x, 12, lambda y: sheet.square(x, y, text))


def _chain(sheet: Sheet, parts: list[Anchor], dash: str, side: int) -> Anchor:
    """Arrows through all parts in order; they go on one row down where they turn back."""
    sheet.kinds.add("cat")
    y = sheet.y + STEP / 2
    parts[0].touch(y)
    heading = 0
    for one, other in pairwise(parts):
        turn = (other.x > one.x) - (other.x < one.x)
        if turn == 0:
            out = one.x + LANE / 4
            sheet.line((one.x, y), (out, y), (out, y + STEP), (one.x, y + STEP), dash=dash)
            sheet.head(one.x + one.gap, y + STEP, -1, 0)
            y += STEP
            heading = 0
        else:
            if heading not in (0, turn):
                sheet.line((one.x, y), (one.x, y + STEP), dash=dash)
                y += STEP
            sheet.line((one.x, y), (other.x, y), dash=dash)
            sheet.head(other.x - turn * other.gap, y, turn, 0)
            heading = turn
        other.touch(y)
    sheet.y = y + STEP / 2
    last = parts[-1]
    away = 16 if side > 0 else 22  # prefix and target may end on one lane
    return _hanging(sheet, last.x, y, last.x + (heading or side) * away, dash)


def _hanging(sheet: Sheet, from_x: float, from_y: float, x: float, dash: str) -> Anchor:
    """A result that is carried down at ``x``."""

    def touch(y: float) -> None:
        sheet.line((from_x, from_y), (x, from_y), (x, y), dash=dash)

    return Anchor(x, 0, touch, dash)


def _cut(sheet: Sheet, text: Anchor, mark: Anchor, before: bool, dash: str) -> Anchor:
    sheet.kinds.add("cut")
    y = sheet.y + STEP / 2
    text.touch(y)
    side = -1 if text.x < mark.x else 1
    x = mark.x + side * LANE / 2
    mark_y = y
    if (text.x - x) * side <= text.gap:  # the edges would lie upon each other
        mark_y = y + STEP
        sheet.y += STEP
    mark.touch(mark_y)
    sheet.line((text.x, y), (x, y), dash=dash)
    sheet.line((mark.x, mark_y), (x, mark_y), (x, y), dash=dash)
    if abs(text.x - x) > 10:
        sheet.head(x - 2 * (1 if x > text.x else -1), y, 1 if x > text.x else -1, 0)
    sheet.head(x - 2 * side, mark_y, side, 0, double=True)
    sheet.y += STEP + 8
    end = mark_y + 20
    sheet.line((x, y), (x, end), dash=dash)
    sheet.head(x, end, 0, 1, double=before)
    return _hanging(sheet, x, end, x, dash)


def _read_into(sheet: Sheet, node: object, dash: str, list_of: int | None = None) -> Anchor:
    """Draw any other expression with the registers that it reads: a star, or the length of a list
    in brackets."""
    y = sheet.y + STEP / 2
    x = sheet.temporary_lane()
    for name in dict.fromkeys(reads(node)):
        sheet.dot(sheet.use(name, y), y)
        sheet.line((sheet.lanes[name].x, y), (x, y), dash=dash)
    if list_of is None:
        sheet.star(x, y, radius=9)
    else:
        sheet.brackets(x, y, list_of)
    sheet.y += STEP
    return _hanging(sheet, x, y, x, dash)


def settle(sheet: Sheet, anchor: Anchor, x: float) -> Anchor:
    """Use a string now, before its register is set again; it is carried at ``x`` from here on."""
    y = sheet.y + STEP / 2
    anchor.touch(y)
    sheet.line((anchor.x, y), (x, y), dash=anchor.dash, stroke=INK)
    sheet.y += STEP
    return _hanging(sheet, x, y, x, anchor.dash)


# -- xents -----------------------------------------------------------------------------------------

HALF = 9.0
OPPOSITE = {"xent": "nex", "nex": "xent", "xed": "dex", "dex": "xed"}


def draw_term(sheet: Sheet, term: syn.Xent, sign: int, player: str, order: int, mark: str) -> float:
    """One symbol in ``player``'s colours; returns the y of its row, ``sheet.y`` moves past it."""
    line = strokes()
    sheet.in_use = 0
    sheet.kinds.add(term.kind if sign > 0 else OPPOSITE[term.kind])
    prefix = None if term.prefix is None else place(sheet, term.prefix, line, 1)
    target = place(sheet, term.target, line, -1)
    outer = None if term.outer is None else place(sheet, term.outer, line, 1)
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
    """Prefix and target too close for a triangle between: go round on the right, down a row and
    back, so that the two edges do not lie upon each other."""
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
