"""SVG as trees: the one place where text becomes markup; the colours, strokes and widths of a
diagram.

Games are not trusted. Every text of a tree passes through :func:`~xgl.escaping.visible_lines`, by
which line separators, text-direction overrides and control characters become escapes, and is then
escaped for XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from rich.cells import cell_len as cells

from xgl.escaping import printable, visible_lines

NAMESPACE = "http://www.w3.org/2000/svg"
Attribute = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with attributes and children; strings among the children are text, never markup."""

    tag: str
    attributes: Mapping[str, Attribute]
    children: tuple[Element | str, ...]

    def __html__(self) -> str:
        return render(self)


def el(tag: str, *children: Element | str | None, **attributes: Attribute) -> Element:
    """An element; ``class_`` is the class, other underscores stand for hyphens.

    >>> print(render(el("text", "a < b", class_="label", x=1.25)))
    <text class="label" x="1.2">a &lt; b</text>
    """
    return Element(tag, attributes, tuple(child for child in children if child is not None))


def render(node: Element | str) -> str:
    """The markup of a tree."""
    parts: list[str] = []
    _write(node, parts)
    return "".join(parts)


def _write(node: Element | str, parts: list[str]) -> None:
    if isinstance(node, str):
        parts.append(escape(visible_lines(node), quote=False))
        return
    attributes = "".join(_attribute(name, value) for name, value in node.attributes.items())
    if not node.children:
        parts.append(f"<{node.tag}{attributes}/>")
        return
    parts.append(f"<{node.tag}{attributes}>")
    for child in node.children:
        _write(child, parts)
    parts.append(f"</{node.tag}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = number(value) if isinstance(value, int | float) else visible_lines(value)
    return f' {name}="{escape(text)}"'


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def points(places: Iterable[Point]) -> str:
    """The value of a ``points`` attribute."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in places)


def text_width(text: str, size: float) -> float:
    """Pixels of a line of monospaced text."""
    return cells(text) * size * CELL


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
FAINT = "#8a8f98"
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


Point = tuple[float, float]
CELL = 0.61
"""Width of a monospaced character, in font sizes."""


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
