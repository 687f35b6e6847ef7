"""What is shown of games and plays: whole, and nothing that runs."""

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


@pytest.mark.parametrize("entry", entries()[::8], ids=lambda e: e.name)
def test_a_game_shows_its_program_and_rules(entry: Any) -> None:
    game = xgl.game(xgl.parse(entry.text, entry.dialect))
    shown = str(game)
    assert game.code in shown
    assert game.game_id in shown
    assert f"\n{len(game.program.instructions)}. " in shown


def test_texts_of_games_and_moves_are_no_markup_and_move_no_cursor() -> None:
    printable = "".join(filter(str.isprintable, ATTACK)).replace('"', "")
    game = xgl.game(parse(f'assign(s="{printable}")\nelicit(x, 400)\nreward(xed(s | x))', "xent"))
    episode = xgl.Episode(game, 3, WordJudge(), NumberedStories())
    episode.step(ATTACK)
    assert "<script>alert(1)</script>" in str(episode.play)
    assert "\\u202e" in str(episode.play)
    for shown in (game, episode.play):
        assert "<script>alert(1)" in str(shown)
        page = ElementTree.fromstring(shown._repr_html_())  # type: ignore[attr-defined]
        assert [each.tag for each in page.iter()] == ["pre"]
        assert page.text == str(shown)


# -- The tour in docs/reference/xgl.md is true beyond what it shows as output ----------------------

DOCS = Path(__file__).parents[2] / "docs"
TOUR = (DOCS / "reference" / "xgl.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```xgl\n(.*?)^```", TOUR, re.MULTILINE | re.DOTALL)


def test_its_programs_are_the_librarys() -> None:
    single, world, contrast, dex = PROGRAMS
    for code, name in ((single, "single_text"), (dex, "dex_texts")):
        assert game(parse(code)) == game(parse(find(name).text))
    worlds = DOCS / "example" / "worlds"
    city = read_game(worlds / "city.xgl")
    shown = file_metadata(world, Metadata(), "the tour")
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
