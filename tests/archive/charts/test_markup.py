"""Text becomes markup at one place, and nothing that is written there runs or misleads."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from archive.charts.plot import canvas, document, text
from archive.report.page import printable
from xgl.diagram.svg import el, render
from xgl.escaping import visible_lines as visible


class _Reader(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text, self.values = "", []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
def test_any_text_comes_out_as_text(content: str, label: str) -> None:
    reader = _Reader(render(el("text", content, aria_label=label)))
    assert reader.tags == ["text"]
    assert reader.text == visible(content)
    assert reader.values == [visible(label)]


@given(st.text())
def test_what_is_visible_can_be_printed(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in visible(text))
    assert visible(visible(text)) == visible(text)


def test_direction_overrides_and_separators_are_spelt_out() -> None:
    assert visible("a\u202eb\u2028c\u200bd\x1be") == r"a\u202eb\u2028c\u200bd\x1be"
    assert visible("line\n\ttab é 字 😀") == "line\n\ttab é 字 😀"


def test_attributes_that_are_absent_are_left_out() -> None:
    assert render(el("a", class_="x", href=None, hidden=True, open=False)) == (
        '<a class="x" hidden/>'
    )


def test_templates_print_markup_as_it_is_and_nothing_for_none() -> None:
    tree = el("b", "<")
    assert printable(tree) is tree
    assert printable(None) == ""
    assert printable(1.5) == "1.5"


def test_a_document_is_well_formed_with_colours_for_light_and_dark() -> None:
    root = ElementTree.fromstring(document(canvas((10, 20), "a < b", text(1, 2, "]]> & <b>"))))
    name = "{http://www.w3.org/2000/svg}"
    assert [root.find(f"{name}{tag}").text for tag in ("title", "text")] == ["a < b", "]]> & <b>"]
    style = root.find(f"{name}style").text
    assert style.count("prefers-color-scheme: dark") == 1
    assert "var(" not in style
