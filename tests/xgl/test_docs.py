"""The tour in docs/reference/xgl.md is true beyond what it shows as output: its programs, picture,
table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from xgl import Metadata, game, parse, read_game
from xgl.diagram import draw
from xgl.language.header import file_metadata
from xgl.library import find

DOCS = Path(__file__).parents[2] / "docs"
TOUR = (DOCS / "reference" / "xgl.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```xgl\n(.*?)^```", TOUR, re.MULTILINE | re.DOTALL)


def test_its_programs_are_the_librarys() -> None:
    single, world, contrast, dex = PROGRAMS
    for code, name in ((single, "single_text"), (dex, "dex_texts")):
        assert game(parse(code)) == game(parse(find(name).text))
    worlds = DOCS / "example" / "worlds"
    city = read_game(worlds / "city.xgl")
    shown = file_metadata(world, None, Metadata(), "the tour")
    assert game(parse(world), replace(shown, story_count=500)) == city
    assert game(parse(contrast, "xent")) == read_game(worlds / "contrast.xent")


def test_its_picture_is_what_diagram_draws() -> None:
    dex = find("dex_texts")
    picture = (DOCS / "pictures" / "dex_texts.svg").read_text(encoding="utf-8")
    assert picture == draw(parse(dex.text), dex.title)


def test_its_instructions_are_valid() -> None:
    [table] = re.findall(r"\| instruction \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)", TOUR)
    forms = [form for row in table.splitlines() for form in re.findall(r"`([a-z]+\(.*?\))`", row)]
    lines = [form.replace("\\|", "|").replace(", …)", ")") for form in forms if form != "story()"]
    assert len(parse("\n".join(lines)).instructions) == 7
