"""Charts as separate files, and the styles that they share with the report."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from xgl.diagram.svg import NAMESPACE, Element, el, render

_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_DECLARED = re.compile(r"--([\w-]+): ([^;]+);")
_DARK = "@media screen and (prefers-color-scheme: dark)"


@cache
def style_sheet() -> str:
    """The styles of all charts; its variables are declared first for light, then for dark."""
    return (files("archive.charts") / "charts.css").read_text(encoding="utf-8").strip()


@cache
def _plain_styles() -> str:
    """The styles without variables, which programs other than browsers do not read."""
    declarations, rules = style_sheet().split("/* rules */")
    light, dark = map(_DECLARED.findall, declarations.split(_DARK))
    schemes = [dict(light), dict(light) | dict(dark)]
    light_rules, dark_rules = (
        _VARIABLE.sub(lambda name, scheme=scheme: scheme[name[1]], rules)  # type: ignore[misc]
        for scheme in schemes
    )
    return f"{light_rules}\n{_DARK} {{{dark_rules}}}"


def document(figure: Element) -> str:
    """A figure as an SVG file, on paper of its own and ending in a newline."""
    root = el(
        "svg",
        el("title", str(figure.attributes["aria_label"])),
        el("style", _plain_styles()),
        el("rect", class_="paper", width="100%", height="100%"),
        *figure.children,
        xmlns=NAMESPACE,
        **figure.attributes,
    )
    return render(root).replace("><", ">\n<") + "\n"
