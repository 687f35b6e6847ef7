"""The part below a drawing: its constant strings, its players, and the meaning of the marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xgl.diagram.palette import FAINT, INK, PAPER, PLAYERS, triangle
from xgl.diagram.shapes import Circle, Label, Rectangle, Shape, plain, wrap
from xgl.diagram.sheet import Sheet
from xgl.diagram.xents import has_xents, signed_terms
from xgl.language import syntax as syn
from xgl.language.visitors import descendants

SIZE = 11.0
LINE = 16.0
ITEM = 24.0
COLUMN = 318.0


def key_and_legend(
    program: syn.Program, literals: Mapping[str, str], y: float, width: float
) -> tuple[list[Shape], float]:
    """Their shapes from ``y`` on, and where they end."""
    shapes: list[Shape] = []
    y = _key(shapes, literals, y, width)
    shapes.append(Rectangle(24, y, width - 48, 0.5, FAINT, FAINT, 0))
    y = _players(shapes, program, y + 18, width)
    marks = _occurring_marks(program) | ({"literal"} if literals else set())
    return shapes, _marks(shapes, program, marks, y, width)


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
    for player in syn.PLAYERS:
        if player not in _named_players(program):
            continue
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


def _named_players(program: syn.Program) -> set[str]:
    lines = program.instructions
    return {line.player for line in lines if isinstance(line, syn.Elicit | syn.Reward | syn.Reveal)}


def _marks(
    shapes: list[Shape], program: syn.Program, occurring: set[str], y: float, width: float
) -> float:
    """The marks that occur, in columns, in the colours of the first player that is paid."""
    columns = max(1, int((width - 48) / COLUMN))
    entries = [entry for entry in ENTRIES.items() if entry[0] in occurring]
    for index, (name, text) in enumerate(entries):
        x = 24 + (index % columns) * COLUMN
        row = y + (index // columns) * ITEM
        shapes += _sample(name, x, row, _paid_player(program))
        shapes.append(Label(x + 52, row, text, SIZE))
    return y + -(-len(entries) // columns) * ITEM


def _paid_player(program: syn.Program) -> str:
    rewards = (line.player for line in program.instructions if isinstance(line, syn.Reward))
    return next(rewards, syn.MAIN_PLAYER)


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


def _occurring_marks(program: syn.Program) -> set[str]:
    marks = {"wire", "order"}
    for line in program.instructions:
        marks |= {name for kind, name in _OF_LINE.items() if isinstance(line, kind)}
        if isinstance(line, syn.Reward):
            marks |= {_sense(sign, term) for sign, term in line.amount.terms}
        if isinstance(line, syn.Ensure):
            comparisons = (b for b in line.conditions if isinstance(b, syn.Comparison))
            bounds = [b for b in comparisons if has_xents(b)]
            marks |= {_sense(sign, term) for b in bounds for sign, term in signed_terms(b)}
            marks |= {"bound" for b in bounds}
        if isinstance(line, syn.Assign):
            squares = syn.Literal | syn.Story
            marks |= {"star" for _, value in line.targets if not isinstance(value, squares)}
        for node in descendants(line):
            marks |= {name for kind, name in _OF_NODE.items() if isinstance(node, kind)}
            if isinstance(node, syn.Xent) and node.outer is not None:
                marks.add("outer")
            if isinstance(node, syn.Truth):
                break
    return marks


_OF_LINE: dict[type, str] = {
    syn.Elicit: "elicit",
    syn.Reveal: "known",
    syn.Ensure: "box",
    syn.Replay: "loop",
}
_OF_NODE: dict[type, str] = {
    syn.Story: "story",
    syn.Cat: "cat",
    syn.Chain: "cat",
    syn.ListOf: "list",
    syn.Cut: "cut",
}


def _sense(sign: int, term: object) -> str:
    """The kind under which a signed term is drawn; empty for a term without a mark."""
    if not isinstance(term, syn.Xent):
        return ""
    kind = term.kind
    return kind if sign > 0 else {"xent": "nex", "nex": "xent", "xed": "dex", "dex": "xed"}[kind]


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
