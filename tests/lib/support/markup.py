"""A page of markup as a browser would meet it: its tags, its text and its attributes."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Markup(HTMLParser):
    """Raises AssertionError where a tag is closed that is not the innermost open one."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def values(self, *names: str) -> list[str]:
        """Values of the attributes with these names."""
        return [value or "" for name, value in self.attributes if name in names]

    @property
    def handlers(self) -> list[str]:
        """Attributes that run scripts."""
        return [name for name, _ in self.attributes if name.startswith("on")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], self.open[-3:]
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data
