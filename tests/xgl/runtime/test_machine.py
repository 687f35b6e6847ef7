"""The machine instruction by instruction, against a judge whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest

from xgl import Metadata
from xgl.errors import OversizeError
from xgl.runtime.requests import Assigned, Move, Moved, Play
from xgl.runtime.values import cut

DIALECTS = pytest.mark.parametrize("dialect", ["paper", "xent"])


def events(play: Play, kind: type) -> list[Any]:
    return [event for event in play.events if isinstance(event, kind)]


# -- assign --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "paper", "xent"),
    [
        ('"a" + "b"', "a b", "ab"),
        ('"" + ""', " ", ""),
        ('"a" + ("b" + "c")', "a b c", "abc"),
        ('("a" + "b") // " "', "a", "ab"),
    ],
)
def test_cat_sandwiches_a_space_in_the_paper_and_none_in_xent(
    table: Any, expression: str, paper: str, xent: str
) -> None:
    code = f"assign(s={expression})"
    assert table.play(code).events == (Assigned((("s", paper),)),)
    assert table.play(code, dialect="xent").events == (Assigned((("s", xent),)),)


@DIALECTS
@pytest.mark.parametrize(
    ("text", "mark", "before", "after"),
    [
        ("ab#cd", "#", "ab", "cd"),
        ("a##b", "##", "a", "b"),
        ("a#", "#", "a", ""),
        ("ab", "#", "ab", ""),
        ("ab", "", "ab", ""),
        ("#", "#", "", ""),
    ],
)
def test_cut(table: Any, dialect: str, text: str, mark: str, before: str, after: str) -> None:
    assert (cut(text, mark, "before"), cut(text, mark, "after")) == (before, after)
    code = f'assign(s="{text}", t="{mark}")\nassign(x=s // t, y=s % t)'
    [_, event] = table.play(code, dialect=dialect).events
    assert event == Assigned((("x", before), ("y", after)))


def test_assign_stores_left_to_right_in_the_paper_and_all_at_once_in_xent(table: Any) -> None:
    code = 'assign(s="a", t=s + "b", x=t)'
    assert table.play(code).registers == {"s": "a", "t": "a b", "x": "a b"}
    assert table.play(code, dialect="xent").registers == {"s": "a", "t": "b", "x": "b"}
    swap = 'assign(s="a", t="b")\nassign(s=t + "", t=s + "")'
    assert table.play(swap, dialect="xent").registers == {"s": "b", "t": "a"}


@DIALECTS
def test_a_register_by_itself_is_read_as_it_is_stored(table: Any, dialect: str) -> None:
    swap = 'assign(s="a", t="b")\nassign(s=t, t=s)'
    assert table.play(swap, dialect=dialect).registers == {"s": "b", "t": "b"}


@DIALECTS
def test_a_story_is_drawn_once_for_a_map_and_site_also_in_loops(table: Any, dialect: str) -> None:
    code = (
        "beacon(flag_1)\nassign(s=story() // story(), t=story())\nassign(x=story())\n"
        "replay(flag_1, 1)"
    )
    play = table.play(code, dialect=dialect, map_seed=3)
    stories = [event.values for event in events(play, Assigned)]
    assert stories == [(("s", "tale 3 0"), ("t", "tale 3 2")), (("x", "tale 3 3"),)] * 2
    assert [request.site for _, request in table.stories.asked] == [0, 1, 2, 3] * 2
    assert table.play(code, dialect=dialect, map_seed=4).registers["t"] == "tale 4 2"


def test_story_uses_its_argument_in_the_paper_only(table: Any) -> None:
    code = 'assign(s=story(), t=story(5), x=story("of owls"))'
    metadata = Metadata(story_tokens=9)
    assert table.play(code, metadata=metadata).registers["x"] == "tale 7 2 of owls"
    assert table.play(code, dialect="xent", metadata=metadata).registers["x"] == "tale 7 2"
    requests = [(request.tokens, request.prompt) for _, request in table.stories.asked]
    assert requests == [(9, ""), (5, ""), (9, "of owls"), (9, ""), (9, ""), (9, "")]


# -- elicit --------------------------------------------------------------------------------------


def test_the_default_limit_is_the_metadatas(table: Any) -> None:
    play = table.play("elicit(s)\nelicit(t, 2)", "a b c d", "e f g", metadata=Metadata(max_len=3))
    assert play.registers == {"s": "a b c", "t": "e f"}
    assert [turn.request.max_len for turn in table.players["black"].turns] == [3, 2]


def test_several_registers_are_asked_one_after_another(table: Any) -> None:
    play = table.play("elicit(bob, s, t, p, 1)", bob=["one 1", "two 2", "three 3"])
    assert play.registers == {"s": "one", "t": "two", "p": "three"}
    views = table.views("bob")
    assert [view.register for view in views] == ["s", "t", "p"]
    assert [[item.text for item in view.items] for view in views] == [[], ["one"], ["one", "two"]]
    assert [turn.request.turn for turn in table.players["bob"].turns] == [0, 1, 2]
    assert events(play, Moved) == [
        Moved("bob", register, Move(text, cut_tokens=1), 0)
        for register, text in [("s", "one"), ("t", "two"), ("p", "three")]
    ]


# -- reveal, flags -------------------------------------------------------------------------------


# -- oversize ------------------------------------------------------------------------------------

CAPPED = Metadata(max_characters=12)


@pytest.mark.parametrize(
    ("code", "script", "fits"),
    [
        ('assign(s="twelve chars")', "", True),
        ('assign(s="thirteen char")', "", False),
        ('assign(s="sixsix", t="fives")\nassign(s=s + t)', "", True),
        ('assign(s="sixsix", t="sixsix")\nassign(s=s + t)', "", False),
        ('assign(s=("sixsix" + "sixsix") // "x")', "", False),
        ("assign(s=story())", "", True),
        ('assign(s=story("words"))', "", False),
        ("elicit(s)", "twelve chars", True),
        ("elicit(s)", "thirteen char", False),
        ('reveal("sixsix" + "sixsix")', "", False),
        ('reward(xent("sixsix" + "sixsix"))', "", False),
        ('reward(xent("s" | "sixsix" + "sixsix"))', "", False),
        ('ensure("sixsix" + "sixsix")', "", False),
    ],
)
def test_a_string_beyond_the_cap_ends_the_game(
    table: Any, code: str, script: str, fits: bool
) -> None:
    play = table.play(code, script, metadata=CAPPED)
    assert play.outcome == ("finished" if fits else "oversize")


def test_what_the_judge_cannot_read_ends_the_game_and_scores_stay(table: Any) -> None:
    table.judge.window = 4
    code = 'elicit(s)\nreward(xent("a b"))\n{}\nreward(xent("a b"))'
    for line in (
        'reward(xent("a b c d e"))',
        'reward(xed("a" | "b c d e"))',
        'ensure("a b c d e")',
    ):
        play = table.play(code.format(line), "m")
        assert (play.outcome, play.scores) == ("oversize", {"black": table.bits("a b")})
    assert table.play(code.format('reward(xent("a b c d"))'), "m").outcome == "finished"


def test_a_view_beyond_the_players_window_ends_the_game(table: Any) -> None:
    code = 'elicit(s)\nreward(xent("a b"))\nelicit(t)'
    play = table.play(code, "m", OversizeError("a view of 9999 tokens"))
    assert (play.outcome, play.scores) == ("oversize", {"black": table.bits("a b")})
    assert play.outcome_for("black") == "oversize"
    assert play.registers == {"s": "m"}


# -- the generator itself ------------------------------------------------------------------------
