"""Text becomes markup at one place, and nothing that is written there runs or misleads."""

from __future__ import annotations

import re
from itertools import pairwise, product
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from support.markup import Markup

from archive import charts
from archive.charts import SERIES, LinearScale, Panel, canvas, document, panels, plain, series, text
from xgl.diagram.svg import el, render
from xgl.escaping import visible_lines as visible


@given(st.text(), st.text())
def test_any_text_comes_out_as_text(content: str, label: str) -> None:
    reader = Markup(render(el("text", content, aria_label=label)))
    assert reader.tags == ["text"]
    assert reader.text == visible(content)
    assert reader.attributes == [("aria-label", visible(label))]


def test_a_document_is_well_formed_with_colours_for_light_and_dark() -> None:
    root = ElementTree.fromstring(document(canvas((10, 20), "a < b", text(1, 2, "]]> & <b>"))))
    name = "{http://www.w3.org/2000/svg}"
    assert [root.find(f"{name}{tag}").text for tag in ("title", "text")] == ["a < b", "]]> & <b>"]
    style = root.find(f"{name}style").text
    assert style.count("prefers-color-scheme: dark") == 1
    assert "var(" not in style


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4), st.integers(2, 8))
def test_ticks_are_even_and_within_the_scale(low: float, span: float, count: int) -> None:
    scale = LinearScale(low, low + span, 0, 100)
    ticks = scale.ticks(count)
    assert ticks
    assert all(low - 1e-6 * span <= tick <= low + span + 1e-6 * span for tick in ticks)
    steps = {round((b - a) / span, 6) for a, b in pairwise(ticks)}
    assert len(steps) <= 1
    assert len(ticks) <= count + 1
    shown = [float(plain(tick).replace("−", "-").replace(",", "")) for tick in ticks]
    assert shown == pytest.approx(ticks, rel=1e-9)


def test_equal_values_have_a_tick_long_names_room_and_many_series_their_own_looks() -> None:
    long = "m" * 99
    flat = panels("", [Panel(long, ("", ""), [([1, 2], [12.3, 12.3], "")])], {long: ""}, 1)
    assert any(shape.children == (f"{long[:41]}…",) for shape in flat.children)
    assert flat.attributes["width"] > 7 * len(long)
    assert any(shape.attributes.get("text_anchor") == "end" for shape in flat.children)
    assert len(set(map(series, range(2 * SERIES)))) == 2 * SERIES


def test_words_on_a_shade_can_be_read_on_light_and_on_dark_screens() -> None:
    """The contrast is at least 4.5 (WCAG 2.2, 1.4.3)."""
    parts = charts.style_sheet().split("@media")
    light, dark = (dict(re.findall(r"--(\w+): #(\w+)", part)) for part in parts)
    pairs = [("ink", f"{kind}{n}") for kind in "gl" for n in range(1, 6)]
    pairs += [("onhigh" if n > 6 else "onmid" if n == 6 else "onlow", f"q{n}") for n in range(10)]
    for colours, pair in product((light, light | dark), pairs):
        levels = [[level / 255 for level in bytes.fromhex(colours[name])] for name in pair]
        linear = [
            [x / 12.92 if x < 0.04 else ((x + 0.055) / 1.055) ** 2.4 for x in e] for e in levels
        ]
        low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear)
        assert (high + 0.05) / (low + 0.05) >= 4.5, pair
