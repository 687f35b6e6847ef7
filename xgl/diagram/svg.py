"""SVG as trees: the one place where text becomes markup.

Games are not trusted. Every text of a tree passes through :func:`~xgl.escaping.visible_lines`, by
which line separators, text-direction overrides and control characters become escapes, and is then
escaped for XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

from xgl.escaping import visible_lines

NAMESPACE = "http://www.w3.org/2000/svg"
Point = tuple[float, float]
Attribute = str | int | float | None


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with attributes and children; strings among the children are text, never markup."""

    tag: str
    attributes: Mapping[str, Attribute]
    children: tuple[Element | str, ...]

    def __html__(self) -> str:
        return render(self)


def el(tag: str, *children: Element | str, **attributes: Attribute) -> Element:
    """An element; ``class_`` is the class, other underscores stand for hyphens.

    >>> print(render(el("text", "a < b", class_="label", x=1.25)))
    <text class="label" x="1.2">a &lt; b</text>
    """
    return Element(tag, attributes, children)


def render(node: Element | str) -> str:
    if isinstance(node, str):
        return escape(visible_lines(node), quote=False)
    head = node.tag + "".join(_attribute(name, value) for name, value in node.attributes.items())
    if not node.children:
        return f"<{head}/>"
    return f"<{head}>{''.join(map(render, node.children))}</{node.tag}>"


def file_text(root: Element) -> str:
    """A document with a tag a line, ending in a newline."""
    return render(root).replace("><", ">\n<") + "\n"


def _attribute(name: str, value: Attribute) -> str:
    if value is None:
        return ""
    name = name.rstrip("_").replace("_", "-")
    text = number(value) if isinstance(value, int | float) else visible_lines(value)
    return f' {name}="{escape(text)}"'


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def points(places: Iterable[Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in places)
