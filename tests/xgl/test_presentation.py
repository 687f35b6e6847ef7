"""What players see: exact rendering, and hidden things hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from xgl import Cast, Instance, Metadata, Program, Seeds, analyse, game, play_all
from xgl import syntax as syn
from xgl.presentation import render, visible
from xgl.requests import (
    Assigned,
    Ensured,
    Event,
    Item,
    Move,
    Moved,
    Revealed,
    Rewarded,
    TokenScores,
    View,
)
from xgl.walk import reads, writes

OMNISCIENT = ["black", "white", "env"]
OTHERS = ["alice", "bob", "carol", "david"]
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


@pytest.mark.parametrize("player", OMNISCIENT)
def test_the_omniscient_see_every_string(player: str) -> None:
    assert visible(LOG, player)[:4] == (
        Item("s", "secret"),
        Item("p", "shown"),
        Item("t", "from alice"),
        Item("p1", "in public"),
    )


@pytest.mark.parametrize("player", OTHERS)
def test_constants_a_and_b_are_public_and_c_is_not(table: Any, player: str) -> None:
    metadata = Metadata(constants={"c": "hidden", "b1": "bee", "a": "eh"})
    table.play(f"elicit(s)\nelicit({player}, t)", "m", metadata=metadata, **{player: ["n"]})
    shared = (Item("a", "eh"), Item("b1", "bee"))
    assert table.views(player)[0].items == shared
    assert table.views("black")[0].items == (*shared, Item("c", "hidden"))


def test_rendering_is_code_then_items_then_the_asked_register(table: Any) -> None:
    code = (
        'assign(x=story(), p1="a\\n b")\nelicit(alice, y, 2)\nensure("so " + y)\n'
        'reward(alice, xent(x | y) - xent("z"))\nreveal(alice, x // " ")\nelicit(alice, y, 3)'
    )
    table.play(code, alice=["bad", "good move", "end"])
    given, alone = table.bits("tale 7 0", "good move"), table.bits("z")
    scores = table.judge._score
    view = table.views("alice")[-1]
    [per_token] = [item.text for item in view.items if item.label == "reward"]
    assert per_token.startswith(f"{given - alone:.1f} (")
    assert per_token.endswith(f"; {-alone:.1f})")
    assert len(per_token.split(";")[0].split()) == 1 + 3
    assert scores is not None
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


def test_a_view_without_items() -> None:
    assert render(View("black", "elicit(s)", (), "s")) == "elicit(s)\ns:"


def test_players_are_shown_the_canonical_text(table: Any) -> None:
    table.play("elicit(black,  y2 , 3) # hint", "m")
    assert table.views("black")[0].code == "elicit(s, 3)"


# -- hidden information ----------------------------------------------------------------------------

WATCHER = "alice"
NUMBERS = st.sampled_from(["xent", "nex", "xed", "dex"])
HIDDEN = ["s", "t", "x", "y"]
NAMES = st.sampled_from([*HIDDEN, "p", "p1", "a", "c"])
PLAYERS = st.sampled_from(["black", "alice", "bob", "env"])
VALUES = st.recursive(
    st.builds(syn.Literal, st.sampled_from(["a word", "tale"])) | st.builds(syn.Register, NAMES),
    lambda parts: st.one_of(
        st.builds(syn.Cat, parts, parts),
        st.builds(syn.Cut, parts, parts, st.sampled_from(["before", "after"])),
    ),
    max_leaves=3,
)
TARGETS = st.sampled_from([*HIDDEN, "p", "p1"])
AMOUNTS = st.builds(syn.Xent, NUMBERS, VALUES, st.none() | VALUES).map(
    lambda xent: syn.Sum(((1, xent),))
)
LINES = st.one_of(
    st.builds(lambda name: syn.Assign(((name, syn.Story()),)), TARGETS),
    st.builds(lambda name, value: syn.Assign(((name, value),)), TARGETS, VALUES),
    st.builds(lambda player, name: syn.Elicit(player, (name,), 5), PLAYERS, TARGETS),
    st.builds(lambda name: syn.Elicit(WATCHER, (name,), 5), TARGETS),
    st.builds(syn.Reward, PLAYERS, AMOUNTS),
    st.builds(syn.Reveal, PLAYERS, st.tuples(VALUES)),
    st.builds(lambda value: syn.Ensure((syn.Truth(value),)), VALUES),
)
GAMES = st.lists(LINES, min_size=2, max_size=12)


@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(lines=GAMES, dialect=st.sampled_from(["paper", "xent"]))
def test_hidden_information_is_hidden(
    lines: list[syn.Instruction],
    dialect: str,
    echo_player: Callable[[], Any],
    seat: Callable[[Any], Cast],
) -> None:
    """Two instances that differ in the story and in c look the same to alice, byte for byte,
    until something that she may see depends on them."""
    lines = [*_until_it_shows(lines), syn.Elicit(WATCHER, ("y",), 5)]
    seen = []
    for map_seed, constant in [(1, "one bad thing"), (2, "another")]:
        player = echo_player()
        metadata = Metadata(constants={"a": "known", "c": constant})
        made = game(Program(tuple(lines), dialect), metadata)
        assume(not analyse(made.program).faults)
        play_all([Instance(made, Seeds(map_seed, 0))], seat(player))
        views = player.views[Seeds(map_seed, 0)]
        seen.append([render(view) for view in views if view.player == WATCHER])
    first, second = seen
    shared = min(len(first), len(second))  # another player's forfeit may end one of them early
    assert first[:shared] == second[:shared]


def _until_it_shows(lines: list[syn.Instruction]) -> list[syn.Instruction]:
    """The lines before the first that shows alice something that hangs on a hidden string.

    Hidden are the story, c, and every move of others (who may have seen them).
    """
    hidden, watched = {"c"}, set[str]()
    for index, line in enumerate(lines):
        depends = bool(hidden.intersection(reads(line)))
        if isinstance(line, syn.Assign):
            depends |= isinstance(line.targets[0][1], syn.Story)
        if isinstance(line, syn.Elicit):
            depends = line.player != WATCHER
        for name in writes(line):
            (hidden.add if depends else hidden.discard)(name)
        if isinstance(line, syn.Reveal) and line.player == WATCHER:
            watched.update(reads(line))
        public = any(name[0] == "p" or name in watched for name in writes(line))
        hers = isinstance(line, syn.Reward | syn.Reveal) and line.player == WATCHER
        sent_back = isinstance(line, syn.Ensure) and not _follows_another(lines[:index])
        if depends and (public or hers or sent_back):
            return lines[:index]
    return lines


def _follows_another(before: list[syn.Instruction]) -> bool:
    """Whether an ensure here only ever repeats another player's elicit and what she never sees."""
    while before and isinstance(before[-1], syn.Ensure):
        before = before[:-1]
    return bool(before) and isinstance(before[-1], syn.Elicit) and before[-1].player != WATCHER


def test_the_oracle_of_the_property_finds_what_shows() -> None:
    story = syn.Assign((("s", syn.Story()),))
    secret = syn.Register("s")
    shown: list[syn.Instruction] = [
        syn.Assign((("p", syn.Cat(secret, secret)),)),
        syn.Reveal(WATCHER, (secret,)),
        syn.Reward(WATCHER, syn.Sum(((1, syn.Xent("xent", secret)),))),
        syn.Ensure((syn.Truth(secret),)),
        syn.Elicit("bob", ("p",), 5),
    ]
    for line in shown:
        assert _until_it_shows([story, line]) == [story]
    kept: list[syn.Instruction] = [
        story,
        syn.Reveal("bob", (secret,)),
        syn.Elicit("bob", ("t",), 5),
        shown[3],
    ]
    assert _until_it_shows(kept) == kept


def test_after_a_reward_on_a_hidden_string_only_its_numbers_differ(table: Any) -> None:
    code = "assign(s=story())\nelicit(alice, t)\nreward(alice, xed(s | t))\nelicit(alice, x)"
    views = []
    for map_seed in (1, 2):
        table.play(code, map_seed=map_seed, alice=["m", "n"])
        views.append(table.views("alice"))
    (first, first_after), (second, second_after) = views
    assert first == second
    assert first_after.items[:-1] == second_after.items[:-1]
    texts = [view.items[-1].text for view in (first_after, second_after)]
    assert texts[0] != texts[1]
    assert all(set(text) <= set("0123456789.-();  ") for text in texts)
    assert all(view.items[-1].label == "reward" for view in (first_after, second_after))


def test_a_reveal_shows_an_omniscient_player_what_no_register_holds() -> None:
    events = [Revealed("black", (("s // t", "before"),))]
    assert visible(events, "black") == (Item("s // t", "before"),)
    assert visible(events, "white") == ()


def test_rewards_reach_their_player_and_the_omniscient() -> None:
    events = [Rewarded("alice", 2.0, ())]
    assert visible(events, "alice") == (Item("reward", "2.0"),)
    assert visible(events, "black") == (Item("reward alice", "2.0"),)
    assert visible(events, "bob") == ()
