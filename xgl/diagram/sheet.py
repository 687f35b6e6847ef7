"""The sheet on which a program is laid out.

Time runs downwards, one band for each instruction. Every register has a vertical lane; a string
is a node on its register's lane, and a dotted wire carries it down to where it is used last.
Literals and intermediate results stand on temporary lanes to the right, remarks in a column
beside them.

Below the drawing stand its constant strings, its players, and the meaning of the marks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import cos, pi, sin

from xgl.diagram.svg import (
    CARRY,
    FAINT,
    INK,
    PAPER,
    PLAYERS,
    Circle,
    Drawing,
    Label,
    Line,
    Point,
    Polygon,
    Rectangle,
    Shape,
    plain,
    triangle,
    wrap,
)
from xgl.errors import DiagramError
from xgl.language import syntax as syn
from xgl.language.visitors import find

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


@dataclass(slots=True)
class Lane:
    """One register's lane: the y of its nodes and uses, from top to bottom."""

    x: float
    symbol: str = ""
    """The mark of its present string: ■ ● ★."""
    nodes: list[float] = field(default_factory=list)
    uses: list[float] = field(default_factory=list)


class Sheet:
    """Collects shapes; ``y`` is where the next band begins."""

    def __init__(self, registers: Sequence[str], left: float) -> None:
        self.left = left
        self.y = TOP
        self.lanes = {name: Lane(left + i * LANE) for i, name in enumerate(registers)}
        self.temporary = left + len(registers) * LANE
        self.in_use = self.most_in_use = 0
        self.literals: dict[str, str] = {}
        self.kinds = {"wire", "order"}
        """What was drawn, for the legend."""
        self.back: list[Shape] = []
        self.edges: list[Shape] = []
        self.marks: list[Shape] = []
        self.remarks: list[Label] = []

    # -- nodes -----------------------------------------------------------------------------

    def node(self, name: str, y: float, symbol: str, order: int) -> float:
        """Begin a new string on a register's lane; returns its x."""
        lane = self.lanes[name]
        lane.nodes.append(y)
        lane.symbol = symbol
        self.text(lane.x + NODE + 6, y - 11, name, bold=True)
        if order:
            self.text(lane.x + NODE + 6, y + 11, str(order), size=9, fill=FAINT)
        return lane.x

    def square(
        self, x: float, y: float, text: str = "", order: int = 0, dash: bool = False
    ) -> None:
        side = NODE - 1
        stroke = FAINT if dash else INK
        box = Rectangle(x - side, y - side, 2 * side, 2 * side, stroke, PAPER, 1, "constant", order)
        self.marks.append(box)
        if text:
            self.text(x, y, text, size=11, centred=True)

    def star(
        self, x: float, y: float, fill: str = PAPER, stroke: str = INK, radius: float = NODE,
        mark: str = "assigned", order: int = 0,
    ) -> None:  # fmt: skip
        rays = [(-pi / 2 + k * pi / 5, radius * (1 if k % 2 == 0 else 0.45)) for k in range(10)]
        points = tuple((x + length * cos(angle), y + length * sin(angle)) for angle, length in rays)
        self.marks.append(Polygon(points, fill, stroke, mark, order))

    def brackets(self, x: float, y: float, length: int) -> None:
        """A list that is written out, with its length."""
        self.kinds.add("list")
        label = Label(x, y, f"[{length or ''}]", 11, centred=True)
        width = label.width + 10
        self.marks.append(Rectangle(x - width / 2, y - 9, width, 18, INK, PAPER, 5, "list"))
        self.marks.append(label)

    def triangle(
        self, x: float, y: float, pointing: int, fill: str, dot: str, mark: str, order: int
    ) -> None:
        """A xent symbol, its order at its bottom right; ``dot``: the dot's colour, or none."""
        tip, base = x + 10 * pointing, x - 8 * pointing
        self.marks.append(Polygon(((tip, y), (base, y - 9), (base, y + 9)), fill, INK, mark, order))
        if dot:
            self.marks.append(Circle(x - 2.4 * pointing, y, 3, dot, INK, "dot"))
        if order:
            self.text(x + 11, y + 9, str(order), size=9, fill=FAINT)

    def diamond(self, x: float, y: float) -> None:
        points = ((x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y))
        self.marks.append(Polygon(points, PAPER, INK, "outer"))

    # -- edges -----------------------------------------------------------------------------

    def line(self, *points: Point, dash: str = "", stroke: str = INK, width: float = 1.4) -> None:
        self.edges.append(Line(points, stroke, dash, width))

    def dot(self, x: float, y: float, fill: str = INK) -> None:
        self.marks.append(Circle(x, y, 2.6, fill, fill, "use"))

    def head(self, x: float, y: float, dx: float, dy: float, double: bool = False) -> None:
        """An arrow's head with its tip at (x, y), pointing along the axis (dx, dy)."""
        for back in (0.0, 6.0) if double else (0.0,):
            tip = (x - dx * back, y - dy * back)
            base = (tip[0] - dx * 8, tip[1] - dy * 8)
            wings = ((base[0] - dy * 4, base[1] - dx * 4), (base[0] + dy * 4, base[1] + dx * 4))
            self.marks.append(Polygon((tip, *wings), INK, INK, "arrow"))

    def use(self, name: str, y: float) -> float:
        """Note that a register's present string is needed at ``y``; returns its lane's x."""
        self.lanes[name].uses.append(y)
        return self.lanes[name].x

    def temporary_lane(self) -> float:
        self.in_use += 1
        self.most_in_use = max(self.most_in_use, self.in_use)
        return self.temporary + (self.in_use - 1) * LANE

    def key(self, literal: str) -> str:
        """The letter under which a literal is listed below the drawing."""
        self.kinds.add("literal")
        return self.literals.setdefault(literal, _letters(len(self.literals)))

    # -- text ------------------------------------------------------------------------------

    def text(
        self, x: float, y: float, text: str, size: float = 11, fill: str = INK,
        centred: bool = False, bold: bool = False,
    ) -> None:  # fmt: skip
        self.marks.append(Label(x, y, text, size, fill, centred, bold))

    def remark(self, y: float, lines: Sequence[str], fill: str = INK) -> float:
        """Lines of the right column, the first with its middle at ``y``; returns their height."""
        for index, text in enumerate(lines):
            self.remarks.append(Label(0, y + index * REMARK_LINE, text, REMARK_SIZE, fill))
        return (len(lines) - 1) * REMARK_LINE

    def pill(self, x: float, y: float, text: str, mark: str, order: int) -> float:
        """A framed word that covers what runs beneath it; returns its right edge."""
        label = Label(x + 8, y, text, 11)
        width = label.width + 16
        self.marks.append(Rectangle(x, y - 10, width, 20, INK, PAPER, 10, mark, order))
        self.marks.append(label)
        return x + width

    def check_size(self) -> None:
        """Raises :class:`DiagramError` for more than ``MAX_SHAPES`` shapes."""
        count = len(self.edges) + len(self.marks) + len(self.remarks)
        if count > MAX_SHAPES:
            found = f"the diagram of this program has {count} shapes or more"
            raise DiagramError(f"{found}; at most {MAX_SHAPES} are drawn")

    # -- the end ---------------------------------------------------------------------------

    def wires(self) -> list[Shape]:
        """Lines from each node to the last use of its string, before the lane's next node."""
        shapes: list[Shape] = []
        for lane in self.lanes.values():
            uses = sorted(lane.uses)
            for start, end in zip(lane.nodes, [*lane.nodes[1:], float("inf")], strict=True):
                before = bisect_right(uses, end)
                last = uses[before - 1] if before else start
                if last > start:
                    shapes.append(Line(((lane.x, start), (lane.x, last)), FAINT, CARRY, 1.6))
        return shapes

    def reach(self) -> float:
        """The rightmost x of what was drawn so far."""
        return max((right_edge(shape) for shape in (*self.edges, *self.marks)), default=0.0)

    def drawing(self, title: str, remark_x: float, below: Sequence[Shape], size: Point) -> Drawing:
        remarks = [replace(label, x=label.x + remark_x) for label in self.remarks]
        heading = Label(24, 28, title, 15, bold=True)
        shapes = [*self.back, *self.wires(), *self.edges, *self.marks, *remarks, heading, *below]
        return Drawing(size[0], size[1], title, tuple(shapes))


def right_edge(shape: Shape) -> float:
    match shape:
        case Circle(x, _, radius):
            return x + radius
        case Polygon(points) | Line(points):
            return max(x for x, _ in points)
        case Rectangle(x, _, width):
            return x + width
        case Label():
            return shape.extent[2]


def _letters(index: int) -> str:
    """A … Z, then A2 … Z2 and so on."""
    again, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(again + 1) if again else "")


SIZE = 11.0
LINE = 16.0
ITEM = 24.0
COLUMN = 318.0


def key_and_legend(program: syn.Program, above: Sheet, width: float) -> tuple[list[Shape], float]:
    """Their shapes below what was drawn ``above``, and where they end."""
    shapes: list[Shape] = []
    y = _key(shapes, above.literals, above.y + 14, width)
    shapes.append(Rectangle(24, y, width - 48, 0.5, FAINT, FAINT, 0))
    y = _players(shapes, program, y + 18, width)
    return shapes, _marks(shapes, program, above.kinds, y, width)


def _key(shapes: list[Shape], literals: Mapping[str, str], y: float, width: float) -> float:
    columns = int((width - 110) / (SIZE * 0.61))
    for literal, letter in literals.items():
        shapes.append(Rectangle(24, y - 1, 22, 18, INK, PAPER, 1))
        shapes.append(Label(35, y + 8, letter, 10, centred=True))
        for line in wrap(f"“{plain(literal)}”" if literal else "the empty text", columns):
            shapes.append(Label(56, y + 8, line, SIZE))
            y += LINE
        y += 8
    return y + 6


def _players(shapes: list[Shape], program: syn.Program, y: float, width: float) -> float:
    """Draw each player's colour for gains, and to its right the one for losses."""
    x = 24.0
    named = {getattr(line, "player", "") for line in program.instructions}
    for player in (player for player in syn.PLAYERS if player in named):
        label = Label(x + 46, y, player, SIZE)
        if label.extent[2] > width - 24:
            x, y = 24.0, y + ITEM
            label = Label(x + 46, y, player, SIZE)
        colours = PLAYERS[player]
        shapes.append(Circle(x + 10, y, 9, colours.positive, INK, "player"))
        shapes.append(Circle(x + 32, y, 6, colours.negative, INK, "negative"))
        shapes.append(label)
        x = label.extent[2] + 26
    return y + ITEM + 2


def _marks(
    shapes: list[Shape], program: syn.Program, kinds: set[str], y: float, width: float
) -> float:
    """The marks that were drawn, in columns, in the colours of the first player that is paid."""
    columns = max(1, int((width - 48) / COLUMN))
    entries = [entry for entry in ENTRIES.items() if entry[0] in kinds]
    paid = next((line.player for line in find(program, syn.Reward)), syn.MAIN_PLAYER)
    for index, (name, text) in enumerate(entries):
        x = 24 + (index % columns) * COLUMN
        row = y + (index // columns) * ITEM
        shapes += _sample(name, x, row, paid)
        shapes.append(Label(x + 52, row, text, SIZE))
    return y + -(-len(entries) // columns) * ITEM


ENTRIES = {
    "elicit": "a move, with its limit in tokens",
    "story": "a text given by the map",
    "literal": "a text of the program, listed above",
    "star": "a string made by assign",
    "known": "shown to the player of its colour",
    "xent": "gains xent of what it points to",
    "nex": "loses xent: the negative colour",
    "xed": "gains xed: how far the prefix helps",
    "dex": "loses xed",
    "outer": "what stands before the prefix",
    "list": "a list, with its length",
    "cat": "s + t: first s, then t",
    "cut": "cut: double arrow before, single after",
    "wire": "carries a string to its use",
    "box": "must hold, else back to the ringed move",
    "bound": "in a box: their sum must be positive",
    "loop": "REPEAT(k): k times back to the flag",
    "order": "small number: the line of the program",
}


def _sample(name: str, x: float, y: float, player: str) -> list[Shape]:
    """The shapes of one mark, drawn as on the sheet, to the left of its explanation."""
    sheet = Sheet((), 0)
    middle = x + 22
    match name:
        case "elicit":
            sheet.marks.append(Circle(middle, y, 10, "black", INK))
            sheet.text(middle, y, "8", 10, "white", centred=True, bold=True)
        case "story" | "literal":
            sheet.marks.append(Rectangle(middle - 9, y - 9, 18, 18, INK, PAPER, 1))
            if name == "literal":
                sheet.text(middle, y, "A", 10, centred=True)
        case "star":
            sheet.star(middle, y, radius=10, mark="sample")
        case "known":
            sheet.star(middle, y, "red", radius=8, mark="sample")
        case "xent" | "nex" | "xed" | "dex":
            sheet.line((x + 4, y), (x + 40, y))
            sheet.triangle(middle, y, 1, *triangle(player, name, 1), "sample", 0)
        case "outer":
            sheet.line((x + 4, y), (x + 40, y))
            sheet.diamond(middle, y)
        case "list":
            sheet.brackets(middle, y, 3)
        case "cat":
            sheet.line((x + 4, y), (x + 40, y))
            sheet.head(x + 40, y, 1, 0)
        case "cut":
            sheet.line((x + 4, y - 5), (x + 18, y - 5))
            sheet.head(x + 20, y - 5, 1, 0)
            sheet.line((x + 24, y - 5), (x + 40, y - 5))
            sheet.head(x + 24, y - 5, -1, 0, double=True)
            sheet.line((x + 22, y - 5), (x + 22, y + 9))
            sheet.head(x + 22, y + 10, 0, 1, double=True)
        case "wire":
            sheet.line((x + 4, y), (x + 40, y), dash="1.5 4", stroke=FAINT, width=1.6)
        case "box" | "bound":
            sheet.marks.append(Rectangle(x + 4, y - 8, 36, 16, INK, "#f6f7f9", 5))
            if name == "bound":
                sheet.triangle(middle, y, 1, *triangle(player, "xent", 1), "sample", 0)
        case "loop":
            sheet.line((x + 34, y + 7), (x + 12, y + 7), (x + 12, y - 6), (x + 32, y - 6))
            sheet.head(x + 34, y - 6, 1, 0)
        case "order":
            sheet.text(middle, y, "3", 9, FAINT, centred=True)
    marks = [*sheet.edges, *sheet.marks]
    return [s if isinstance(s, Label) else replace(s, mark="sample") for s in marks]
