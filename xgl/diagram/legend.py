"""The part below a drawing: its constant strings, its players, and the meaning of the marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xgl.diagram.shapes import Circle, Label, Rectangle, Shape, plain, wrap
from xgl.diagram.sheet import Sheet
from xgl.diagram.svg import FAINT, INK, PAPER, PLAYERS, triangle
from xgl.language import syntax as syn
from xgl.language.visitors import find

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
