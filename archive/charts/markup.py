"""SVG and HTML as trees: the one place where text becomes markup.

Games are written by strangers. Whatever enters a tree or a template passes through
:func:`visible`, which shows what cannot be printed (line separators, text-direction overrides,
control characters) as an escape, and is then escaped for HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

Child = "Element | str"
Attribute = str | int | float | bool | None
_KEPT = "\n\t"


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with attributes and children; strings among the children are text, never markup."""

    tag: str
    attributes: Mapping[str, Attribute]
    children: tuple[Element | str, ...]

    def __html__(self) -> str:
        return str(render(self))


def el(tag: str, *children: Element | str | None, **attributes: Attribute) -> Element:
    """An element; ``class_`` is the class, other underscores stand for hyphens.

    >>> print(render(el("text", "a < b", class_="label", x=1.25)))
    <text class="label" x="1.2">a &lt; b</text>
    """
    kept = tuple(child for child in children if child is not None)
    return Element(tag, attributes, kept)


def group(children: Iterable[Element], **attributes: Attribute) -> Element:
    """An SVG group."""
    return el("g", *children, **attributes)


def render(node: Element | str) -> Markup:
    """The markup of a tree."""
    parts: list[str] = []
    _write(node, parts)
    return Markup("".join(parts))


def _write(node: Element | str, parts: list[str]) -> None:
    if isinstance(node, str):
        parts.append(str(escape(visible(node))))
        return
    shown = "".join(_attribute(name, value) for name, value in node.attributes.items())
    parts.append(f"<{node.tag}{shown}>")
    for child in node.children:
        _write(child, parts)
    parts.append(f"</{node.tag}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    said = number(value) if isinstance(value, int | float) else visible(value)
    return f' {name}="{escape(said)}"'


def number(value: float) -> str:
    """A coordinate, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def visible(text: str) -> str:
    """``text`` with all that cannot be printed, line breaks and tabs excepted, as an escape.

    >>> visible("a\\u202eb\\u2028")
    'a\\\\u202eb\\\\u2028'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _KEPT else ascii(c)[1:-1] for c in text.replace("\r\n", "\n")
    )


def shown(value: object) -> object:
    """What a template prints of a value: markup as it is, all other text made visible."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else visible(str(value))
