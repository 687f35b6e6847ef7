"""Every program has a diagram: well-formed, complete, its text legible."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.programs import PROGRAMS

from xgl import Program, parse
from xgl.diagram import draw, lay_out
from xgl.diagram.sheet import cells, plain, shorten, text_width, triangle, wrap
from xgl.diagram.svg import Element
from xgl.language import syntax as syn
from xgl.language.visitors import find
from xgl.library import Entry, entries


def expected_marks(program: Program) -> Counter[tuple[str, int]]:
    """Marks that a program must show: kind and line, with their number."""
    marks: Counter[tuple[str, int]] = Counter()
    for order, line in enumerate(program.instructions, start=1):
        match line:
            case syn.Elicit(_, registers):
                marks["elicit", order] += len(registers)
            case syn.Reward(_, amount):
                marks["reward", order] += sum(isinstance(t, syn.Xent) for _, t in amount.terms)
            case syn.Ensure(conditions):
                for compared in (each for c in conditions for each in find(c, syn.Comparison)):
                    if compared.comparator not in ("==", "!="):
                        both = compared.left.terms + compared.right.terms
                        marks["bound", order] += sum(isinstance(t, syn.Xent) for _, t in both)
            case syn.Replay():
                marks["repeat", order] += 1
                marks["after", order] += 1
            case syn.Beacon():
                marks["beacon", order] += 1
    return +marks


def svg_marks(svg: str) -> Counter[tuple[str, int]]:
    root = ElementTree.fromstring(svg)
    nodes = ((node.get("class"), node.get("data-line")) for node in root.iter())
    kinds = {"elicit", "reward", "bound", "repeat", "after", "beacon"}
    return Counter((kind, int(line)) for kind, line in nodes if kind in kinds and line)


def check(program: Program) -> None:
    svg = draw(program, "a & <b>")
    assert svg_marks(svg) == expected_marks(program)
    drawing = lay_out(program, "a title")
    texts = " ".join(str(label.children[0]) for label in labels(drawing)).split()
    for order, line in enumerate(program.instructions, start=1):
        if isinstance(line, syn.Ensure):
            assert str(order) in texts
    inside_frames(program, drawing)
    boxes = [extent(label) for label in labels(drawing)]
    for left, top, right, bottom in boxes:
        assert min(left, top) >= 0
        assert right <= place(drawing, "width")
        assert bottom <= place(drawing, "height")
    for one, other in combinations(boxes, 2):
        beside = one[2] <= other[0] or other[2] <= one[0]
        assert beside or one[3] <= other[1] or other[3] <= one[1], (one, other)


def labels(drawing: Element) -> list[Element]:
    return [each for each in drawing.children if isinstance(each, Element) and each.tag == "text"]


def place(shape: Element, name: str) -> float:
    value = shape.attributes[name]
    assert isinstance(value, int | float)
    return value


def extent(label: Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    size = place(label, "font_size")
    width = text_width(str(label.children[0]), size)
    left = place(label, "x") - (width / 2 if label.attributes["text_anchor"] else 0)
    middle = place(label, "y") - 0.34 * size
    return left, middle - size / 2, left + width, middle + size / 2


def inside_frames(program: Program, drawing: Element) -> None:
    """An ensure's frame holds the elicit to which a failure goes back."""
    frames, elicits = of_mark(drawing, "ensure"), of_mark(drawing, "elicit")
    ensures = [line for line in program.instructions if isinstance(line, syn.Ensure)]
    assert bool(frames) == bool(ensures)
    for frame in frames:
        before = [s for s in elicits if place(s, "data_line") < place(frame, "data_line")]
        if before:
            last = max(before, key=lambda s: (place(s, "data_line"), place(s, "cy")))
            assert 0 < place(last, "cy") - place(frame, "y") < place(frame, "height")


def of_mark(drawing: Element, mark: str) -> list[Element]:
    shapes = (each for each in drawing.children if isinstance(each, Element))
    return [each for each in shapes if each.attributes.get("class_") == mark]


def points(shape: Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in str(shape.attributes["points"]).split())
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_library(entry: Entry) -> None:
    check(parse(entry.text, entry.dialect))


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(PROGRAMS)
def test_any_valid_program(program: Program) -> None:
    assert svg_marks(draw(program)) == expected_marks(program)
    inside_frames(program, lay_out(program))


def test_no_two_texts_meet_in_a_long_program() -> None:
    code = (
        'assign(s="a", t="b" + story() + "c", p=(s // t) + ("x" % s))\n'
        "elicit(david, x, y, x, 100000)\n"
        f'ensure(xent(s + s | t + s, p) - xed(t | t) + 5 >= 12, "long " + s + "{"word " * 60}")\n'
    )
    check(parse(code * 8 + "replay(flag_2, 1)\nbeacon(flag_2)\nreplay(flag_1, 2)\nreward(xent(b))"))


def marks(code: str, mark: str, dialect: str = "paper") -> list[Element]:
    return of_mark(lay_out(parse(code, dialect)), mark)


@pytest.mark.parametrize(
    ("player", "kind", "sign", "fill", "dot"),
    [
        *(("black", "xent", 1, "black", ""), ("black", "nex", 1, "white", "")),
        *(("black", "xed", 1, "white", "black"), ("white", "dex", 1, "white", "black")),
        *(("white", "xed", 1, "black", "white"), ("black", "xent", -1, "white", "")),
        ("alice", "xed", 1, "cyan", "red"),
    ],
)
def test_colours_of_xent_symbols(player: str, kind: str, sign: int, fill: str, dot: str) -> None:
    assert triangle(player, kind, sign) == (fill, dot)


@pytest.mark.parametrize(
    ("term", "points_to_the_right"), [("xent(s | t)", False), ("xent(t | s)", True)]
)
def test_a_triangle_points_from_prefix_to_target(term: str, points_to_the_right: bool) -> None:
    [symbol] = marks(f"assign(s=story())\nelicit(t, 4)\nreward({term})", "reward")
    (tip, _), (base, _), _ = points(symbol)
    assert (tip > base) is points_to_the_right


@pytest.mark.parametrize(("dialect", "count"), [("paper", 1), ("xent", 2)])
def test_what_an_assign_has_set_already_is_not_given(dialect: str, count: int) -> None:
    code = 'assign(s="x", t=s + c)\nelicit(x, 4)\nreward(xent(t | x))'
    squares = marks(code, "constant", dialect)
    assert sum(square.attributes["data_line"] is None for square in squares) == count


@pytest.mark.parametrize(
    ("targets", "x", "is_old"),  # x of the lanes of s, t and x: 60, 124, 188
    [
        *(("s=t, t=x + c", 124, True), ("t=x + c, s=t", 124, False), ("s=t, x=s + c", 60, True)),
        *(("s=t + c, t=s + c", 60, True), ("x=s, s=x + c", 188, True)),
    ],
)
def test_an_assign_reads_what_its_dialect_reads(targets: str, x: float, is_old: bool) -> None:
    code = f"assign(s=story(), t=story())\nelicit(x, 4)\nassign({targets})"
    stars = dict(points(star)[0] for star in marks(code, "assigned", "xent"))
    uses = {place(dot, "cx"): place(dot, "cy") for dot in marks(code, "use", "xent")}
    assert (uses[x] < stars[x]) is is_old


def test_what_a_player_was_shown_is_linked_to_its_elicit() -> None:
    code = "assign(s=story())\n{}elicit(bob, x, 4)\nreward(bob, xed(s | x))"
    assert marks(code.format(""), "known") == []
    [star] = marks(code.format("reveal(bob, s)\n"), "known")
    assert star.attributes["fill"] == "green"
    assert marks(code.format("reveal(bob, s)\nassign(s=story())\n"), "known") == []
    assert marks(code.format("reveal(alice, s)\n"), "known") == []


def test_a_loop_goes_back_to_its_flag() -> None:
    code = "assign(s=story())\nbeacon(flag_1)\nelicit(x, 4)\nreward(xent(x))\nreplay(flag_1, 3)"
    [loop] = marks(code, "loop")
    [beacon] = marks(code, "beacon")
    assert points(loop)[-1][1] == place(beacon, "y") + place(beacon, "height") / 2


@given(st.text(max_size=60).map(plain), st.integers(3, 20))
def test_wrapped_text_fits_and_loses_nothing(text: str, columns: int) -> None:
    lines = wrap(text, columns)
    assert all(cells(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert cells(shorten(text, columns)) <= columns
