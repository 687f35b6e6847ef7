"""The sheet on which a program is laid out.

Time runs downwards, one band for each instruction. Every register has a vertical lane; a string
is a node on its register's lane, and a dotted wire carries it down to where it is used last.
Literals and intermediate results stand on temporary lanes to the right, remarks in a column
beside them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import cos, pi, sin

from xgl.diagram.shapes import Circle, Drawing, Label, Line, Point, Polygon, Rectangle, Shape
from xgl.diagram.svg import CARRY, FAINT, INK, PAPER
from xgl.errors import DiagramError

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
        points = tuple(_ray(x, y, radius if k % 2 == 0 else radius * 0.45, k) for k in range(10))
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


def _ray(x: float, y: float, radius: float, k: int) -> Point:
    angle = -pi / 2 + k * pi / 5
    return x + radius * cos(angle), y + radius * sin(angle)


def _letters(index: int) -> str:
    """A … Z, then A2 … Z2 and so on."""
    again, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(again + 1) if again else "")
