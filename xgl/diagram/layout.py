"""A program laid out as a Xent Game Diagram (paper §2.5), one band for each instruction.

Strings are edges on the sheet (paper §2.5.5), xents triangles from prefix to scored string
(§2.5.2).

``s + t`` is an arrow from s to t; n strings are n − 1 arrows of one stroke, which bend where they
turn back. Cut is the edge of the text met by the double-arrowed edge of the mark: what comes before
goes on with a double arrow, what comes after with a single one. An edge of the same stroke, without
an arrow, carries the result to its use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, pairwise
from math import ceil, floor
from typing import NamedTuple

from xgl.diagram import sheet as page
from xgl.diagram.sheet import INK, LANE, NODE, ROW, STEP, Sheet
from xgl.diagram.svg import NAMESPACE, Element, el, number
from xgl.language import syntax as syn
from xgl.language.canonical import split_name
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import instruction_text
from xgl.language.visitors import joined_parts, mentions, read_unset, reads, shown_whole


class Anchor(NamedTuple):
    """A point where a string can be used: ``touch(y)`` brings it to (x, y), not above its start."""

    x: float
    gap: float
    """Room to leave around it for its mark."""
    touch: Callable[[float], None]
    dash: str = ""


def place(sheet: Sheet, node: object, strokes: Iterator[str], side: int) -> Anchor:
    """Draw an expression and move ``sheet.y`` on; ``strokes``: one for each operation of the line;
    ``side`` is 1 for a prefix and −1 for a target: their concatenations may end on one lane."""
    match node:
        case syn.Register(name):
            return Anchor(sheet.lanes[name], 3, lambda y: sheet.dot(sheet.use(name, y), y))
        case syn.Literal() | syn.Story():
            text = sheet.key(node.value) if isinstance(node, syn.Literal) else ""
            x = sheet.temporary_lane()
            return Anchor(x, 12, lambda y: sheet.square(x, y, text))
        case syn.Cat() | syn.Chain():
            parts = [place(sheet, part, strokes, -1) for part in joined_parts(node)]
            return _chain(sheet, parts, next(strokes), side)
        case syn.Cut(whole, mark, cut_side):
            pair = place(sheet, whole, strokes, -1), place(sheet, mark, strokes, -1)
            return _cut(sheet, *pair, cut_side == "before", next(strokes))
        case _:
            return _read_into(sheet, node, next(strokes))


def _chain(sheet: Sheet, parts: list[Anchor], dash: str, side: int) -> Anchor:
    """Arrows through all parts in order; they go on one row down where they turn back."""
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
        heading = 1 if x > text.x else -1
        sheet.head(x - 2 * heading, y, heading, 0, mark="cut")
    sheet.head(x - 2 * side, mark_y, side, 0, double=True, mark="cut")
    sheet.y += STEP + 8
    end = mark_y + 20
    sheet.line((x, y), (x, end), dash=dash)
    sheet.head(x, end, 0, 1, double=before, mark="cut")
    return _hanging(sheet, x, end, x, dash)


def _read_into(sheet: Sheet, node: object, dash: str) -> Anchor:
    """Draw any other expression with the registers that it reads: a star, or the length of a list
    in brackets."""
    y = sheet.y + STEP / 2
    x = sheet.temporary_lane()
    for name in dict.fromkeys(reads(node)):
        sheet.dot(sheet.use(name, y), y)
        sheet.line((sheet.lanes[name], y), (x, y), dash=dash)
    if isinstance(node, syn.ListOf):
        text = f"[{len(node.items) or ''}]"
        width = page.text_width(text, 11) + 10
        sheet.box(x - width / 2, y - 9, width, 18, "list")
        sheet.text(x, y, text, 11, centred=True)
    else:
        sheet.star(x, y, radius=9)
    sheet.y += STEP
    return _hanging(sheet, x, y, x, dash)


# -- xents -----------------------------------------------------------------------------------------

HALF = 9.0


def draw_term(sheet: Sheet, term: syn.Xent, sign: int, player: str, order: int, mark: str) -> None:
    """One symbol in ``player``'s colours; ``sheet.y`` moves past it."""
    line = cycle(page.STROKES)
    sheet.in_use = 0
    prefix = None if term.prefix is None else place(sheet, term.prefix, line, 1)
    target = place(sheet, term.target, line, -1)
    model, text = split_name(term.outer)
    outer = None if text is None else place(sheet, text, line, 1)
    if outer is not None:
        sheet.y += STEP
    y = sheet.y + STEP / 2 + 1
    x, pointing = _between(sheet, prefix, target, y)
    fill, dot = page.triangle(player, term.kind, sign)
    sheet.triangle(x, y, pointing, fill, dot, mark, order)
    if model:
        sheet.text(x + 11, y - 9, f"@{model}", 9, page.SUBDUED)
    if outer is not None:
        # The text before the prefix: an edge to the triangle's back, through a small diamond.
        above = y - STEP
        outer.touch(above)
        sheet.line((outer.x, above), (x, above), (x, y - HALF), dash=outer.dash)
        corners = (x, above - 5), (x + 5, above), (x, above + 5), (x - 5, above)
        sheet.polygon(corners, page.PAPER, INK, "outer")
    sheet.y += STEP + 4


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


COLUMNS = 52
"""Width of a remark in characters."""
REMARK_WIDTH = COLUMNS * 12 * page.CELL
LOOP = 22.0


def lay_out(program: syn.Program, title: str = "") -> Element:
    """The drawing of a valid program; raises :class:`~xgl.errors.XGLError` for one that is too
    large to be looked at."""
    layout = _Layout(program)
    for order, line in enumerate(program.instructions, start=1):
        layout.band(line, order)
        layout.check_size()
    return layout.finish(page.plain(title))


@dataclass(slots=True)
class _Frame:
    """The box around an elicit and the ensures that fall back on it."""

    player: str
    top: float
    bottom: float = 0.0
    order: int = 0
    """The first of these ensures."""


class _Layout(Sheet):
    def __init__(self, program: syn.Program) -> None:
        self.program = program
        dialect = DIALECTS[program.dialect]
        self.parallel, self.live = dialect.parallel_assign, dialect.live_reveal
        lines = program.instructions
        loops = sum(isinstance(line, syn.Replay) for line in lines)
        names = list(dict.fromkeys(name for line in lines for name in mentions(line)))
        super().__init__(names, left=60 + loops * LOOP)
        self.loops = 0
        self.flags: dict[str, float] = {}
        self.frame: _Frame | None = None
        self.frames: list[_Frame] = []
        self.shown_names: dict[str, dict[str, bool]] = {player: {} for player in syn.PLAYERS}
        """The registers that each player was shown, and whether it sees their later values."""
        # Registers that are read before anything sets them: constants, or empty ones.
        early = read_unset(lines, program.dialect)
        y = self.y + ROW / 2
        for name in filter(early.__contains__, names):
            self.square(self.node(name, y, 0), y, dash=name[0] not in syn.CONSTANT_TYPES)
        if early:
            self.remark(y, ["given: a constant of the instance, or empty (grey)"], page.FAINT)
            self.y += ROW
        self.start = self.y

    # -- one band ----------------------------------------------------------------------------

    def band(self, line: syn.Instruction, order: int) -> None:
        """Draw an instruction beside its text."""
        top, self.in_use = self.y, 0
        match line:
            case syn.Assign():
                self._assign(line, order)
            case syn.Elicit():
                self._elicit(line, order)
            case syn.Ensure():
                self._ensure(line, order)
            case syn.Reward():
                for sign, term in line.amount.terms:
                    if isinstance(term, syn.Xent):
                        draw_term(self, term, sign, line.player, order, "reward")
            case syn.Reveal():
                self._reveal(line, order)
            case syn.Beacon(flag):
                self.flags[flag] = y = self.y + STEP / 2
                self.pill(self.left - NODE, y, f"{order} {flag}", "beacon", order)
                self.y += STEP + 2
            case syn.Replay():
                self._replay(line, order)
        first, *rest = page.wrap(page.plain(instruction_text(line)), COLUMNS - 3)
        texts = [f"{order:<2} {first}", *(f"   {text}" for text in rest)]
        height = STEP + self.remark(top + STEP / 2, texts, page.SUBDUED)
        self.y = max(self.y, top + height) + 6
        if isinstance(line, syn.Ensure):
            self.frames[-1].bottom = self.y - 6

    def _assign(self, assign: syn.Assign, order: int) -> None:
        """Constant strings stand side by side, others in rows of their own."""
        names, row = [name for name, _ in assign.targets], set[str]()
        # Where all is read before any target is set, but for registers by themselves, what reads
        # an earlier target is drawn before that target.
        anchors = {
            at: place(self, value, cycle(page.STROKES), -1)
            for at, (_, value) in enumerate(assign.targets)
            if self.parallel and not isinstance(value, syn.Register)
            if not {*names[:at]}.isdisjoint(reads(value))
        }
        for at, (name, value) in enumerate(assign.targets):
            if row and (not _is_square(value) or name in row):
                self.y += ROW
                row = set()
            if _is_square(value):
                row.add(name)
                y = self.y + ROW / 2
                key = self.key(value.value) if isinstance(value, syn.Literal) else ""
                self.square(self._begin(name, y, order), y, key, order)
            else:
                anchor = anchors.get(at) or place(self, value, cycle(page.STROKES), -1)
                y = self.y + ROW / 2
                anchor.touch(y)
                dash = page.CARRY if isinstance(value, syn.Register) else anchor.dash
                self.line((anchor.x, y), (self.lanes[name], y), dash=dash)
                self.star(self._begin(name, y, order), y, order=order)
                self.y += ROW
        self.y += ROW if row else 0

    def _elicit(self, elicit: syn.Elicit, order: int) -> None:
        player, top, colours = elicit.player, self.y, page.PLAYERS[elicit.player]
        stroke = INK if player in ("black", "white") else colours.positive
        limit = "–" if elicit.max_len is None else str(elicit.max_len)
        size = 11 if len(limit) < 4 else 34 / len(limit)
        for index, name in enumerate(elicit.registers):
            if index and name in elicit.registers[:index]:
                self.y += ROW
            y = self.y + ROW / 2
            self._knowledge(player, name, y)
            x = self._begin(name, y, order)
            self.circle(x, y, NODE, colours.positive, stroke, "elicit", order)
            self.text(x, y, limit, size, colours.text, centred=True, bold=True)
        self.y += ROW
        self.frame = _Frame(player, top)

    def _begin(self, name: str, y: float, order: int) -> float:
        """Begin a new string on a register's lane, not shown to any player yet; returns its x."""
        for names in self.shown_names.values():
            if not names.get(name):
                names.pop(name, None)
        return self.node(name, y, order)

    def _knowledge(self, player: str, name: str, y: float) -> None:
        """Draw undirected edges to the strings that were revealed to the player (§2.5.3)."""
        colours = page.PLAYERS[player]
        for known_name in self.shown_names[player]:
            if known_name != name:
                x = self.use(known_name, y)
                self.line((x, y), (self.lanes[name], y), stroke=page.outline(player))
                self.star(x, y, colours.positive, INK, 8, "known")

    def _reveal(self, reveal: syn.Reveal, order: int) -> None:
        player, y = reveal.player, self.y + STEP / 2
        known, fill = self.shown_names[player], page.PLAYERS[reveal.player].positive
        parts = [part for value in reveal.values for part in joined_parts(value)]
        names = list(dict.fromkeys(name for part in parts for name in shown_whole(part)))
        for name in names:
            self.star(self.use(name, y), y, fill, INK, 8, "revealed", order)
            bare = self.live and syn.Register(name) in reveal.values
            known[name] = known.get(name, False) or bare
        if len(names) > 1:
            xs = [self.lanes[name] for name in names]
            self.line((min(xs), y), (max(xs), y), stroke=page.outline(player))
        self.y += STEP if names else 0
        for part in (part for part in parts if not [*shown_whole(part)]):
            anchor = place(self, part, cycle(page.STROKES), -1)
            y = self.y + STEP / 2
            anchor.touch(y)
            self.line((anchor.x, y), (anchor.x + 24, y), dash=anchor.dash)
            self.star(anchor.x + 24, y, fill, INK, 8, "revealed", order)
            self.y += STEP

    def _ensure(self, ensure: syn.Ensure, order: int) -> None:
        """Symbols in favour of the asked player (§2.5.2); the strings of other conditions."""
        frame = self.frame or _Frame(syn.MAIN_PLAYER, self.y)
        for condition in ensure.conditions:
            terms = [*_favoured_terms(condition)]
            for term, sign in terms:
                draw_term(self, term, sign, frame.player, order, "bound")
            if not terms:
                for name in dict.fromkeys(reads(condition)):
                    y = self.y + STEP / 2
                    self.dot(self.use(name, y), y)
                self.y += STEP
        if not frame.order:
            frame.order = order
            self.frames.append(frame)

    def _replay(self, replay: syn.Replay, order: int) -> None:
        """REPEAT(k) goes back to the flag (the first line where it was never placed)."""
        y = self.y + STEP / 2
        back = self.flags.get(replay.flag, self.start)
        x = self.left - NODE - 14 - self.loops * LOOP
        self.loops += 1
        start = self.left - NODE
        self.line((start, y), (x, y), (x, back), (start, back), width=1.8, mark="loop")
        self.head(start, back, 1, 0, mark="loop-head")
        right = self.pill(start, y, f"{order} REPEAT({replay.times})", "repeat", order)
        right = self.pill(right + 10, y, "AFTER", "after", order)
        self.line((right + 12, y - 8), (right + 12, y + 10), width=1.8)
        self.head(right + 12, y + 12, 0, 1, mark="loop-head")
        self.y += STEP + 4

    # -- the end ---------------------------------------------------------------------------

    def finish(self, title: str) -> Element:
        """The document: what was drawn, with the remarks beside it and the legend below."""
        right = self.temporary + self.most_in_use * LANE
        remark_x = max(right, self.left + LANE * 2, self.reach + 20)
        width = max(remark_x + REMARK_WIDTH + 30, 700)
        for frame in self.frames:
            x, y = self.left - NODE - 8, frame.top - 1
            size = remark_x + REMARK_WIDTH + 14 - x, frame.bottom - y + 1
            stroke, fill = page.outline(frame.player), "#f6f7f9"
            self.box(x, y, *size, "ensure", frame.order, stroke, 8, fill, behind=True)
        for y, text, fill in self.remarks:
            self.text(remark_x, y, text, page.REMARK_SIZE, fill)
        title = page.shorten(title, int((width - 48) / 9.2))
        self.text(24, 28, title, 15, bold=True)
        height = page.key_and_legend(self, self.program, width) + 10
        return el(
            "svg",
            el("title", title),
            el("rect", width="100%", height="100%", fill="white"),
            *(*self.back, *self.wires(), *self.edges, *self.marks),
            xmlns=NAMESPACE,
            width=width,
            height=height,
            viewBox=f"0 0 {number(width)} {number(height)}",
            font_family="DejaVu Sans Mono, Menlo, Consolas, monospace",
            stroke_linejoin="round",
        )


def _favoured_terms(condition: syn.Condition, side: int = 1) -> Iterator[tuple[syn.Xent, int]]:
    """The xents that a condition compares, 1 where more bits help it and −1 where they hinder."""
    match condition:
        case syn.Logic(word, conditions):
            for each in conditions:
                yield from _favoured_terms(each, -side if word == "not" else side)
        case syn.Comparison(left, comparator, right) if comparator not in ("==", "!="):
            greater = side if comparator in (">", ">=") else -side
            for sign, term in (*left.terms, *((-sign, term) for sign, term in right.terms)):
                if isinstance(term, syn.Xent):
                    yield term, sign * greater


def _is_square(value: object) -> bool:
    return isinstance(value, syn.Literal | syn.Story)
