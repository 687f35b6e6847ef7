"""What notebooks show of games and plays: well-formed, whole, and nothing that runs."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from support.doubles import NumberedStories, WordJudge

import xgl
from xgl.library import entries
from xgl.notebook import MOST_EVENTS

ATTACK = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"
VOID = {"img"}


class Reader(HTMLParser):
    """Tags that are open, tags that were seen, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.setdefault(tag, []).append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def read_page(html: str) -> Reader:
    reader = Reader(html)
    assert reader.open == []
    return reader


def game_of(source: str) -> xgl.Game:
    return xgl.game(xgl.parse(source, "xent"))


def play_of(game: xgl.Game, *moves: str) -> xgl.Play:
    episode = xgl.Episode(game, 3, WordJudge(), NumberedStories())
    for move in moves:
        episode.step(move)
    return episode.play


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e.name)
def test_every_game_of_the_library_shows_program_rules_and_diagram(entry: Any) -> None:
    game = xgl.game(xgl.parse(entry.text, entry.dialect))
    page = read_page(game._repr_html_())
    assert game.code in page.text
    assert game.game_id in page.text
    assert len(page.seen["li"]) == len(game.program.instructions)
    (picture,) = page.seen["img"]
    assert picture["src"].startswith("data:image/svg+xml;base64,")


def test_a_game_s_texts_are_no_markup() -> None:
    printable = "".join(filter(str.isprintable, ATTACK)).replace('"', "")
    page = read_page(
        game_of(f'assign(s="{printable}")\nelicit(x, 8)\nreward(xed(s | x))')._repr_html_()
    )
    assert "script" not in page.seen
    assert "<script>alert(1)" in page.text


def test_a_play_shows_who_wrote_what_and_what_it_earned() -> None:
    game = game_of('assign(s=story())\nelicit(x, 4)\nensure("no" not in x)\nreward(xed(s | x))')
    play = play_of(game, "no", "a b c d e f")
    page = read_page(play._repr_html_())
    assert "Play: finished" in page.text
    assert "breaks the rule (failure 1)" in page.text
    assert f"{play.scores['black']:+.2f} bits".replace("-", "−") in page.text
    cut_tokens = play.move_counts("black").cut_tokens
    assert cut_tokens > 0
    assert f"{cut_tokens} tokens cut" in page.text


def test_a_move_is_no_markup() -> None:
    play = play_of(game_of("elicit(x, 400)\nreward(xent(x))"), ATTACK)
    page = read_page(play._repr_html_())
    assert {"script", "img"}.isdisjoint(page.seen)
    assert "<script>alert(1)</script>" in page.text
    assert "\\u202e" in page.text


def test_a_forfeit_and_an_oversize_say_so() -> None:
    strict = game_of('elicit(x, 3)\nensure(x == "yes")\nreward(xent(x))')
    play = play_of(strict, *["no"] * 11)
    assert "forfeit by black" in read_page(play._repr_html_()).text


def test_a_long_play_is_cut() -> None:
    game = game_of(
        "elicit(x, 3)\nbeacon(flag_1)\nelicit(x, 3)\nreward(xent(x))\nreplay(flag_1, 90)"
    )
    play = play_of(game, *["word"] * 92)
    page = read_page(play._repr_html_())
    rest = len(play.events) - MOST_EVENTS
    assert rest > 0
    assert f"… and {rest} more events" in page.text
