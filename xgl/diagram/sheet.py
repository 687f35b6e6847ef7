"""The sheet on which a program is laid out.

Time runs downwards, one band for each instruction. Every register has a vertical lane; a string is
a node on its register's lane, and a dotted wire carries it down to where it is used last. Literals
and intermediate results stand on temporary lanes to the right, remarks in a column beside them.

Below the drawing stand its constant strings, its players, and the meaning of the marks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import cos, inf, pi, sin
from typing import NamedTuple

from rich.cells import cell_len as cells

from xgl.diagram.svg import Attribute, Element, Point, el, points
from xgl.errors import XGLError
from xgl.escaping import printable
from xgl.language import syntax as syn

# -- colours of players (paper §2.5.1), strokes of string operations (§2.5.5) ----------------------


class Colours(NamedTuple):
    """A player's positive and negative colour, and the colour of text on the positive one."""

    positive: str
    negative: str
    text: str = "white"


PLAYERS: dict[str, Colours] = {
    "black": Colours("black", "white"),
    "white": Colours("white", "black", "black"),
    "alice": Colours("red", "cyan"),
    "bob": Colours("green", "magenta"),
    "carol": Colours("blue", "yellow"),
    "david": Colours("purple", "olive"),
    "env": Colours("gray", "lightgray"),  # the paper gives env no colour
}
INK = "#222"
FAINT = "#6b7079"
SUBDUED = "#555b66"
PAPER = "white"
STROKES = ("", "7 3", "10 3 2 3", "3 3")
"""Dashes that distinguish the string operations of one line."""
CARRY = "1.5 4"
"""Dotted: carries a value from its node to where it is used."""


def outline(player: str) -> str:
    """The colour of a player's frames: its own, or grey where that is white."""
    return FAINT if player == "white" else PLAYERS[player].positive


def triangle(player: str, kind: str, sign: int) -> tuple[str, str]:
    """Fill and dot (empty: none) of a xent symbol awarded to ``player`` with ``sign`` (§2.5.2).

    >>> triangle("black", "xent", 1), triangle("black", "xed", 1), triangle("white", "nex", 1)
    (('black', ''), ('white', 'black'), ('black', ''))
    """
    colours = PLAYERS[player]
    grows = (kind in ("xent", "dex")) == (sign > 0)
    fill, other = colours.positive, colours.negative
    if not grows:
        fill, other = other, fill
    return fill, other if kind in ("xed", "dex") else ""


# -- text ------------------------------------------------------------------------------------------

CELL = 0.61
"""Width of a monospaced character, in font sizes."""


def text_width(text: str, size: float) -> float:
    """Pixels of a line of monospaced text."""
    return cells(text) * size * CELL


def plain(text: str) -> str:
    """``text`` as one line: white space and unprintable characters become single spaces."""
    return " ".join(printable(text).split())


def _pieces(text: str, columns: int) -> Iterator[str]:
    """The text in pieces of at most ``columns`` columns; rich's own cut loses a lone modifier."""
    piece = ""
    for character in text:
        if cells(piece + character) > columns:
            yield piece
            piece = ""
        piece += character
    yield piece


def shorten(text: str, columns: int) -> str:
    """``text`` in at most ``columns`` columns, with an ellipsis where it was cut."""
    if cells(text) <= columns:
        return text
    return next(_pieces(text, columns - 1)).rstrip() + "…"


def wrap(text: str, columns: int) -> list[str]:
    """Lines of at most ``columns`` columns, broken at spaces where there are any."""
    lines = [""]
    for word in text.split():
        for piece in _pieces(word, columns):  # in parts where it is too long
            longer = f"{lines[-1]} {piece}".lstrip()
            lines[-1:] = [longer] if cells(longer) <= columns else [lines[-1], piece]
    return lines


# -- the sheet -------------------------------------------------------------------------------------

LANE = 64.0
ROW = 40.0
"""Height of a row of nodes."""
STEP = 24.0
"""Height of a row of edges."""
NODE = 13.0
"""Radius of a node."""
REMARK_SIZE = 12.0
REMARK_LINE = 17.0
TOP = 58.0
MAX_SHAPES = 5_000
"""Most shapes of one drawing, so that its file stays below a megabyte."""


class Sheet:
    """Collects shapes, in pixels, y downwards; ``y`` is where the next band begins."""

    def __init__(self, registers: Sequence[str], left: float) -> None:
        self.left = left
        self.y = TOP
        self.lanes = {name: left + i * LANE for i, name in enumerate(registers)}
        """The x of each register's lane; below, the y of the nodes on it and of their uses."""
        self.nodes = defaultdict[str, list[float]](list)
        self.uses = defaultdict[str, list[float]](list)
        self.temporary = left + len(registers) * LANE
        self.in_use = self.most_in_use = 0
        self.literals: dict[str, str] = {}
        self.back: list[Element] = []
        self.edges: list[Element] = []
        self.marks: list[Element] = []
        self.remarks: list[tuple[float, str, str]] = []
        """The y, text and colour of each line of the right column."""
        self.reach = 0.0
        """The rightmost x of what was drawn so far."""

    # -- nodes -----------------------------------------------------------------------------

    def node(self, name: str, y: float, order: int) -> float:
        """Begin a new string on a register's lane; returns its x."""
        self.nodes[name].append(y)
        x = self.lanes[name]
        self.text(x + NODE + 6, y - 11, name, bold=True)
        if order:
            self.text(x + NODE + 6, y + 11, str(order), size=9, fill=FAINT)
        return x

    def square(
        self, x: float, y: float, text: str = "", order: int = 0, dash: bool = False
    ) -> None:
        side, stroke = NODE - 1, FAINT if dash else INK
        self.box(x - side, y - side, 2 * side, 2 * side, "constant", order, stroke, 1)
        if text:
            self.text(x, y, text, size=11, centred=True)

    def box(
        self, x: float, y: float, width: float, height: float, mark: str = "", order: int = 0,
        stroke: str = INK, radius: float = 5, fill: str = PAPER, behind: bool = False,
    ) -> None:  # fmt: skip
        paint = _paint(fill, stroke, mark, order)
        shape = el("rect", x=x, y=y, width=width, height=height, rx=radius, **paint)
        (self.back if behind else self.marks).append(shape)
        self.reach = max(self.reach, x + width)

    def circle(
        self, x: float, y: float, radius: float, fill: str, stroke: str, mark: str, order: int = 0
    ) -> None:
        self.marks.append(el("circle", cx=x, cy=y, r=radius, **_paint(fill, stroke, mark, order)))
        self.reach = max(self.reach, x + radius)

    def polygon(
        self, places: Sequence[Point], fill: str, stroke: str, mark: str, order: int = 0
    ) -> None:
        self.marks.append(el("polygon", points=points(places), **_paint(fill, stroke, mark, order)))
        self.reach = max(self.reach, *(x for x, _ in places))

    def star(
        self, x: float, y: float, fill: str = PAPER, stroke: str = INK, radius: float = NODE,
        mark: str = "assigned", order: int = 0,
    ) -> None:  # fmt: skip
        rays = [(-pi / 2 + k * pi / 5, radius * (1 if k % 2 == 0 else 0.45)) for k in range(10)]
        tips = tuple((x + length * cos(angle), y + length * sin(angle)) for angle, length in rays)
        self.polygon(tips, fill, stroke, mark, order)

    def triangle(
        self, x: float, y: float, pointing: int, fill: str, dot: str, mark: str, order: int
    ) -> None:
        """A xent symbol, its order at its bottom right; ``dot``: the dot's colour, or none."""
        tip, base = x + 10 * pointing, x - 8 * pointing
        self.polygon(((tip, y), (base, y - 9), (base, y + 9)), fill, INK, mark, order)
        if dot:
            self.circle(x - 2.4 * pointing, y, 3, dot, INK, "dot")
        if order:
            self.text(x + 11, y + 9, str(order), size=9, fill=FAINT)

    # -- edges -----------------------------------------------------------------------------

    def line(
        self, *places: Point, dash: str = "", stroke: str = INK, width: float = 1.4, mark: str = ""
    ) -> None:
        self.edges.append(polyline(places, stroke, dash, width, mark))
        self.reach = max(self.reach, *(x for x, _ in places))

    def dot(self, x: float, y: float) -> None:
        self.circle(x, y, 2.6, INK, INK, "use")

    def head(
        self, x: float, y: float, dx: float, dy: float, double: bool = False, mark: str = "arrow"
    ) -> None:
        """An arrow's head with its tip at (x, y), pointing along the axis (dx, dy)."""
        for back in (0.0, 6.0) if double else (0.0,):
            tip = (x - dx * back, y - dy * back)
            base = (tip[0] - dx * 8, tip[1] - dy * 8)
            wings = ((base[0] - dy * 4, base[1] - dx * 4), (base[0] + dy * 4, base[1] + dx * 4))
            self.polygon((tip, *wings), INK, INK, mark)

    def use(self, name: str, y: float) -> float:
        """Note that a register's present string is needed at ``y``; returns its lane's x."""
        self.uses[name].append(y)
        return self.lanes[name]

    def temporary_lane(self) -> float:
        self.in_use += 1
        self.most_in_use = max(self.most_in_use, self.in_use)
        return self.temporary + (self.in_use - 1) * LANE

    def key(self, literal: str) -> str:
        """The letter under which a literal is listed below the drawing: A … Z, A2 … Z2, …"""
        again, letter = divmod(len(self.literals), 26)
        name = chr(ord("A") + letter) + (str(again + 1) if again else "")
        return self.literals.setdefault(literal, name)

    # -- text ------------------------------------------------------------------------------

    def text(
        self, x: float, y: float, text: str, size: float = 11, fill: str = INK,
        centred: bool = False, bold: bool = False,
    ) -> None:  # fmt: skip
        """One line of monospaced text; ``y`` is its middle, ``x`` its start (or its centre)."""
        style = {
            "text_anchor": "middle" if centred else None,
            "font_weight": "bold" if bold else None,
            "xml:space": "preserve",
        }
        # a third of the size below the middle is where the baseline of these fonts lies
        below = y + size * 0.34
        self.marks.append(el("text", text, x=x, y=below, font_size=size, fill=fill, **style))
        self.reach = max(self.reach, x + text_width(text, size) / (2 if centred else 1))

    def remark(self, y: float, lines: Sequence[str], fill: str = INK) -> float:
        """Lines of the right column, the first with its middle at ``y``; returns their height."""
        self.remarks += [(y + n * REMARK_LINE, text, fill) for n, text in enumerate(lines)]
        return (len(lines) - 1) * REMARK_LINE

    def pill(self, x: float, y: float, text: str, mark: str, order: int) -> float:
        """A framed word that covers what runs beneath it; returns its right edge."""
        width = text_width(text, 11) + 16
        self.box(x, y - 10, width, 20, mark, order, radius=10)
        self.text(x + 8, y, text, 11, "#222")
        return x + width

    def check_size(self) -> None:
        """Raises :class:`~xgl.errors.XGLError` for more than ``MAX_SHAPES`` shapes."""
        count = len(self.edges) + len(self.marks) + len(self.remarks)
        if count > MAX_SHAPES:
            found = f"the diagram of this program has {count} shapes or more"
            raise XGLError(f"{found}; at most {MAX_SHAPES} are drawn")

    # -- the end ---------------------------------------------------------------------------

    def wires(self) -> Iterator[Element]:
        """Lines from each node to the last use of its string, before the lane's next node."""
        for name, x in self.lanes.items():
            for start, end in pairwise([*self.nodes[name], inf]):
                last = max((y for y in self.uses[name] if y <= end), default=start)
                if last > start:
                    yield polyline(((x, start), (x, last)), FAINT, CARRY, 1.6)


# ``mark`` is the meaning of a shape, its class in the SVG; ``order`` the instruction that it is of,
# from 1 (0: none).


def polyline(
    places: Sequence[Point], stroke: str, dash: str = "", width: float = 1.4, mark: str = ""
) -> Element:
    """``dash`` as in SVG's stroke-dasharray, empty for a solid line."""
    paint = _paint("none", stroke, mark, 0)
    paint |= {"stroke_width": width, "stroke_dasharray": dash or None}
    return el("polyline", points=points(places), **paint)


def _paint(fill: str, stroke: str, mark: str, order: int) -> dict[str, Attribute]:
    return {"fill": fill, "stroke": stroke, "class_": mark or None, "data_line": order or None}


SIZE = 11.0
LINE = 16.0
ITEM = 24.0
LEGEND = (
    ("elicit", "Circle: a move, with its limit in tokens."),
    ("constant", "Square: a text of the map. With a letter: a text of the program."),
    ("assigned revealed", "Star: a string that assign makes, or that reveal shows to a player."),
    ("plain", "Triangle: the bits of what it points to, paid in the first colour, else lost."),
    ("dot", "Triangle with a dot: the bits that the prefix saves; as the dot's colour says."),
    ("outer", "Diamond: what stands before the prefix."),
    ("arrow", "Arrow: s + t is s, then t."),
    ("cut", "Cut: what comes before goes on with a double arrow, what comes after with one."),
    ("list", "[n]: a list of n strings."),
    ("ensure", "Frame: must hold, else the move is made again; bits in the first colour help it."),
    ("repeat", "REPEAT(k): goes back to the flag k times."),
    ("elicit", "Dotted line: carries a string to its use. Small number: the line of the program."),
)
"""What the marks mean, by their names."""


def key_and_legend(sheet: Sheet, program: syn.Program, width: float) -> float:
    """Draw them below; returns where they end."""
    y = _key(sheet, sheet.y + 14, width)
    sheet.box(24, y, width - 48, 0.5, stroke=FAINT, fill=FAINT, radius=0)
    y = _players(sheet, program, y + 18, width)
    drawn = Counter(shape.attributes.get("class_") for shape in (*sheet.back, *sheet.marks))
    drawn["plain"] = drawn["reward"] + drawn["bound"] - drawn["dot"]
    for words in (words for marks, words in LEGEND if any(drawn[m] for m in marks.split())):
        for line in wrap(words, int((width - 48) / (SIZE * CELL))):
            sheet.text(24, y, line, SIZE, FAINT)
            y += LINE
    return y


def _key(sheet: Sheet, y: float, width: float) -> float:
    columns = int((width - 110) / (SIZE * CELL))
    for literal, letter in sheet.literals.items():
        sheet.box(24, y - 1, 22, 18, radius=1)
        sheet.text(35, y + 8, letter, 10, centred=True)
        for line in wrap(f"“{plain(literal)}”" if literal else "the empty text", columns):
            sheet.text(56, y + 8, line, SIZE)
            y += LINE
        y += 8
    return y + 6


def _players(sheet: Sheet, program: syn.Program, y: float, width: float) -> float:
    """Draw each player's colour for gains, and to its right the one for losses."""
    x = 24.0
    named = {getattr(line, "player", "") for line in program.instructions}
    for player in (player for player in syn.PLAYERS if player in named):
        room = 46 + text_width(player, SIZE)
        if x + room > width - 24:
            x, y = 24.0, y + ITEM
        colours = PLAYERS[player]
        sheet.circle(x + 10, y, 9, colours.positive, INK, "player")
        sheet.circle(x + 32, y, 6, colours.negative, INK, "negative")
        sheet.text(x + 46, y, player, SIZE)
        x += room + 26
    return y + ITEM + 2
