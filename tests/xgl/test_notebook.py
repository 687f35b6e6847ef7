"""What notebooks show of games and plays: well-formed, whole, and nothing that runs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.doubles import NumberedStories, WordJudge

import xgl
from xgl import Metadata, game, parse, read_game
from xgl.diagram import draw
from xgl.language.canonical import file_metadata
from xgl.library import entries, find

ATTACK = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


def read_page(html: str) -> ElementTree.Element:
    """The tree of a page, which must be well-formed, without its style."""
    page = ElementTree.fromstring(html)
    for style in page.findall("style"):
        page.remove(style)
    return page


def text_of(page: ElementTree.Element) -> str:
    return "".join(page.itertext())


def play_of(game: xgl.Game, *moves: str) -> xgl.Play:
    episode = xgl.Episode(game, 3, WordJudge(), NumberedStories())
    for move in moves:
        episode.step(move)
    return episode.play


@pytest.mark.parametrize("entry", entries()[::8], ids=lambda e: e.name)
def test_a_game_shows_its_program_rules_and_diagram(entry: Any) -> None:
    game = xgl.game(xgl.parse(entry.text, entry.dialect))
    page = read_page(game._repr_html_())
    assert game.code in text_of(page)
    assert game.game_id in text_of(page)
    assert len(page.findall(".//li")) == len(game.program.instructions)
    [picture] = page.findall(".//img")
    assert picture.attrib["src"].startswith("data:image/svg+xml;base64,")


def test_texts_of_games_and_moves_are_no_markup() -> None:
    printable = "".join(filter(str.isprintable, ATTACK)).replace('"', "")
    game = xgl.game(parse(f'assign(s="{printable}")\nelicit(x, 400)\nreward(xed(s | x))', "xent"))
    shown, played = (read_page(each._repr_html_()) for each in (game, play_of(game, ATTACK)))
    assert not shown.findall(".//script")
    assert not [each for each in played.iter() if each.tag in ("script", "img")]
    assert "<script>alert(1)" in text_of(shown)
    assert "<script>alert(1)</script>" in text_of(played)
    assert "\\u202e" in text_of(played)


# -- The tour in docs/reference/xgl.md is true beyond what it shows as output: its programs, picture

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
