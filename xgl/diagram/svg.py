"""A drawing as SVG text."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from xgl.diagram.shapes import Box, Circle, Drawing, Label, Line, Point, Polygon, Shape

FONT = "DejaVu Sans Mono, Menlo, Consolas, monospace"


def to_svg(drawing: Drawing) -> str:
    """One well-formed SVG document, ending in a newline."""
    size = f'width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    view = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} '
        f'font-family="{FONT}" stroke-linejoin="round">',
        f"<title>{escape(drawing.title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        *map(_shape, drawing.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _shape(shape: Shape) -> str:
    match shape:
        case Circle(x, y, radius, fill, stroke, mark, order):
            place = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
            return f"<circle {place} {_paint(fill, stroke)}{_named(mark, order)}/>"
        case Polygon(points, fill, stroke, mark, order):
            place = f'points="{_points(points)}"'
            return f"<polygon {place} {_paint(fill, stroke)}{_named(mark, order)}/>"
        case Line(points, stroke, dash, width, mark):
            dashes = f' stroke-dasharray="{dash}"' if dash else ""
            paint = f'{_paint("none", stroke)} stroke-width="{_n(width)}"{dashes}'
            return f'<polyline points="{_points(points)}" {paint}{_named(mark, 0)}/>'
        case Box(x, y, width, height, stroke, fill, radius, mark, order):
            place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
            paint = f'rx="{_n(radius)}" {_paint(fill, stroke)}'
            return f"<rect {place} {paint}{_named(mark, order)}/>"
        case Label():
            return _label(shape)


def _label(label: Label) -> str:
    # a third of the size below the middle is where the baseline of these fonts lies
    place = f'x="{_n(label.x)}" y="{_n(label.y + label.size * 0.34)}"'
    style = ' text-anchor="middle"' * label.centred + ' font-weight="bold"' * label.bold
    paint = f'font-size="{_n(label.size)}" fill={quoteattr(label.fill)}{style}'
    return f'<text {place} {paint} xml:space="preserve">{escape(label.text)}</text>'


def _paint(fill: str, stroke: str) -> str:
    return f'fill="{fill}" stroke="{stroke}"'


def _named(mark: str, order: int) -> str:
    return "".join(_attributes(mark, order))


def _attributes(mark: str, order: int) -> Iterator[str]:
    if mark:
        yield f' class="{mark}"'
    if order:
        yield f' data-line="{order}"'


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
