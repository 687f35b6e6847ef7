"""What players see: exact rendering, and hidden things hidden."""

from __future__ import annotations

from typing import Any

import pytest

from xgl import Metadata, analyse, game, parse
from xgl.runtime.presentation import Sight, render, visible
from xgl.runtime.requests import (
    Assigned,
    Ensured,
    Event,
    Item,
    Move,
    Moved,
    Revealed,
    Rewarded,
    TokenScores,
)

LOG: list[Event] = [
    Assigned((("s", "secret"), ("p", "shown"))),
    Moved("alice", "t", Move("from alice")),
    Moved("bob", "p1", Move("in public")),
    Revealed("bob", (("s", "secret"), ("s // t", "sec"))),
    Ensured("alice", False, 1),
    Ensured("alice", True, 1),
    Rewarded(
        "alice", 2.25, ((1, "xent", TokenScores((2.0, 1.0))), (-1, "xed", TokenScores((0.75,))))
    ),
    Rewarded("bob", -1.0),
]


def test_private_strings_are_seen_by_their_writer_and_those_they_are_revealed_to() -> None:
    assert visible(LOG, "alice") == (
        Item("p", "shown"),
        Item("t", "from alice"),
        Item("p1", "in public"),
        Item("ensure", "failed 1"),
        Item("reward", "2.2 (2.0 1.0; -0.8)"),
    )
    assert visible(LOG, "bob") == (
        Item("p", "shown"),
        Item("p1", "in public"),
        Item("s", "secret"),
        Item("s // t", "sec"),
        Item("reward", "-1.0"),
    )
    assert visible(LOG, "carol") == (Item("p", "shown"), Item("p1", "in public"))


@pytest.mark.parametrize(("token_bits", "reward"), [(True, "3.0 (3.0)"), (False, "3.0")])
def test_a_game_may_show_the_sum_of_a_reward_alone(token_bits: bool, reward: str) -> None:
    code = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))\nelicit(y, 4)"
    whole = game(parse(code, "xent"), Metadata(token_bits=token_bits))
    event = Rewarded("black", 3.0, ((1, "xed", TokenScores((3.0,))),))
    assert Sight.for_game(whole, "black").visible_items([event]) == (Item("reward", reward),)
    (_, with_bits), (_, without) = (
        [bound.tokens for bound in analyse(whole.program, Metadata(token_bits=each)).views]
        for each in (True, False)
    )
    assert without < with_bits


@pytest.mark.parametrize("player", ["white", "env"])
def test_the_omniscient_see_every_string_and_all_rewards(player: str) -> None:
    items = visible(LOG, player)
    assert items[:4] == (
        Item("s", "secret"),
        Item("p", "shown"),
        Item("t", "from alice"),
        Item("p1", "in public"),
    )
    assert [item.label for item in items[-2:]] == ["reward alice", "reward bob"]


@pytest.mark.parametrize("player", ["alice", "david"])
def test_constants_a_and_b_are_public_and_c_is_not(table: Any, player: str) -> None:
    metadata = Metadata(constants={"c": "hidden", "b1": "bee", "a": "eh"})
    table.play(f"elicit(s)\nelicit({player}, t)", "m", metadata=metadata, **{player: ["n"]})
    public_items = (Item("a", "eh"), Item("b1", "bee"))
    assert table.views(player)[0].items == public_items
    assert table.views("black")[0].items == (*public_items, Item("c", "hidden"))


def test_rendering_is_code_then_items_then_the_asked_register(table: Any) -> None:
    code = (
        'assign(x=story(), p1="a\\n b")\nelicit(alice, y, 2)\nensure("so " + y)\n'
        'reward(alice, xent(x | y) - xent("z"))\nreveal(alice, x // " ")\nelicit(alice, y, 3)'
    )
    table.play(code, alice=["bad", "good move", "end"])
    conditional, alone = table.bits("tale 7 0", "good move"), table.bits("z")
    view = table.views("alice")[-1]
    [per_token] = [item.text for item in view.items if item.label == "reward"]
    assert per_token.startswith(f"{conditional - alone:.1f} (")
    assert per_token.endswith(f"; {-alone:.1f})")
    assert len(per_token.split(";")[0].split()) == 1 + 3
    assert render(view) == (
        'assign(s=story(), p="a\\n b")\n'
        "elicit(alice, t, 2)\n"
        'ensure("so " + t)\n'
        'reward(alice, xent(s | t) - xent("z"))\n'
        'reveal(alice, s // " ")\n'
        "elicit(alice, t, 3)\n"
        "p: a b\n"
        "t: bad\n"
        "ensure: failed 1\n"
        "t: good move\n"
        f"reward: {per_token}\n"
        's // " ": tale\n'
        "t:"
    )


@pytest.mark.parametrize("player", ["alice", "black"])
def test_what_a_player_has_before_it_is_not_shown_again(player: str) -> None:
    events = [
        Assigned((("p", "one"),)),
        Revealed(player, (("s", "two"),)),
        Assigned((("p", "one"),)),
        Revealed(player, (("s", "two"),)),
        Moved(player, "t", Move("three")),
        Moved(player, "t", Move("three")),
        Assigned((("p", "four"),)),
        Assigned((("p", "one"),)),
    ]
    items = [f"{item.label} {item.text}" for item in visible(events, player)]
    assert items == ["p one", "s two", "t three", "t three", "p four", "p one"]


def test_looking_twice_shows_what_looking_once_does() -> None:
    sight = Sight("alice")
    assert sight.visible_items(LOG[:3]) == visible(LOG[:3], "alice")
    assert sight.visible_items(LOG) == visible(LOG, "alice")


def test_a_list_of_registers_changes_with_them(table: Any) -> None:
    code = "assign(l=[s, t])\nreveal(alice, l)\nelicit(s, 3)\nelicit(alice, x, 3)"
    table.play(code, "new", dialect="xent", alice=["m"])
    [view] = table.views("alice")
    assert view.items == (Item("l", '["", ""]'), Item("l", '["new", ""]'))
