"""What players see: exact rendering, and hidden things hidden (docs/specification.md, "What a
player sees"): a function of the strings that a player may see, its own reward numbers and its own
ensure outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from support.doubles import WordJudge, number
from support.programs import call

from xgl import Cast, Instance, Metadata, Program, Seeds, analyse, game, parse, play_all
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.visitors import descendants, reads, uncut, writes
from xgl.runtime import requests as req
from xgl.runtime.presentation import Sight, render

LOG: list[req.Event] = [
    req.Assigned((("s", "secret"), ("p", "shown"))),
    req.Moved("alice", "t", req.Move("from alice")),
    req.Moved("bob", "p1", req.Move("in public")),
    req.Revealed("bob", (("s", "secret"), ("s // t", "sec"))),
    req.Ensured("alice", False, 1),
    req.Ensured("alice", True, 1),
    req.Rewarded(
        "alice",
        2.25,
        ((1, "xent", req.TokenScores((2.0, 1.0))), (-1, "xed", req.TokenScores((0.75,)))),
    ),
    req.Rewarded("bob", -1.0),
]


def test_private_strings_are_seen_by_their_writer_and_those_they_are_revealed_to() -> None:
    shown, public = req.Item("p", "shown"), req.Item("p1", "in public")
    assert Sight("alice").visible_items(LOG) == (
        *(shown, req.Item("t", "from alice", own=True), public),
        req.Item("ensure", "failed 1"),
        req.Item("reward", "2.2 (2.0 1.0; -0.8)"),
    )
    assert Sight("bob").visible_items(LOG) == (
        *(shown, public._replace(own=True), req.Item("s", "secret")),
        req.Item("s // t", "sec"),
        req.Item("reward", "-1.0"),
    )
    assert Sight("carol").visible_items(LOG) == (shown, public)


@pytest.mark.parametrize(("token_bits", "reward"), [(True, "3.0 (3.0)"), (False, "3.0")])
def test_a_game_may_show_the_sum_of_a_reward_alone(token_bits: bool, reward: str) -> None:
    code = "assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))\nelicit(y, 4)"
    whole = game(parse(code, "xent"), Metadata(token_bits=token_bits))
    event = req.Rewarded("black", 3.0, ((1, "xed", req.TokenScores((3.0,))),))
    assert Sight.for_game(whole, "black").visible_items([event]) == (req.Item("reward", reward),)


@pytest.mark.parametrize("player", ["alice", "david"])
def test_constants_a_and_b_are_public_and_c_is_not(table: Any, player: str) -> None:
    metadata = Metadata(constants={"c": "hidden", "b1": "bee", "a": "eh"})
    code = f"elicit(s)\nreveal({player}, a)\nelicit({player}, t)"  # which it sees already
    table.play(code, "m", metadata=metadata, **{player: ["n"]})
    public_items = (req.Item("a", "eh"), req.Item("b1", "bee"))
    assert table.views(player)[0].items == public_items
    assert table.views("black")[0].items == (*public_items, req.Item("c", "hidden"))


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
        req.Assigned((("p", "one"),)),
        req.Revealed(player, (("s", "two"),)),
        req.Assigned((("p", "one"),)),
        req.Revealed(player, (("s", "two"),)),
        req.Moved(player, "t", req.Move("three")),
        req.Moved(player, "t", req.Move("three")),
        req.Assigned((("p", "four"),)),
        req.Assigned((("p", "one"),)),
    ]
    items = [f"{item.label} {item.text}" for item in Sight(player).visible_items(events)]
    assert items == ["p one", "s two", "t three", "t three", "p four", "p one"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nobody_sees_how_often_another_player_failed(dialect: str, table: Any) -> None:
    """Whatever is shown between the elicit and the ensure that fails, at the first or the last."""
    lacks = 'ensure(is_true("no shared words", t, "{}"))'.format
    code = (
        f'elicit(bob, t, 4)\nassign(p="one")\nassign(p="two", p1="six")\n{lacks("red")}\n'
        f'assign(p="one")\nreveal(alice, "x")\n{lacks("blue")}\nelicit(alice, s, 4)'
    )
    shown = []
    for moves in (["sky"], ["a red", "a blue", "sky"], ["blue", "red", "blue", "sky"]):
        play = table.play(code, dialect=dialect, bob=moves, alice=["m"])
        assert (
            sum(isinstance(e, req.Ensured) and not e.passed for e in play.events) == len(moves) - 1
        )
        shown.append(table.views("alice")[-1].items)
    assert len(shown[0]) == 5
    assert shown[0] == shown[1] == shown[2]


def test_what_a_retry_sets_otherwise_is_shown_last(table: Any) -> None:
    code = 'elicit(bob, t, 4)\nassign(p="one")\nassign(p=t)\nensure("so " + t)\nelicit(alice, s, 4)'
    table.play(code, bob=["bad", "sky"], alice=["m"])
    assert [item.text for item in table.views("alice")[0].items] == ["one", "bad", "sky"]
    code = (  # a failure in the second pass, so that the retry has but one
        'elicit(bob, t, 4)\nassign(p="one")\nbeacon(flag_1)\nassign(p1=p)\nensure("so " + p)\n'
        'assign(p="bad")\nreplay(flag_1, 1)\nelicit(alice, s, 4)'
    )
    table.play(code, bob=["m", "m"], alice=["m"])
    shown = [f"{item.label} {item.text}" for item in table.views("alice")[0].items]
    assert shown == ["p one", "p1 one", "p bad", "p1 bad", "p1 one"]


def test_a_list_is_shown_again_as_its_registers_change(table: Any) -> None:
    code = 'assign(s="a", l=[s])\nassign(s="b")\nelicit(s, 2)\nelicit(t, 2)'
    table.play(code, "m", "n", dialect="xent")
    shown = [f"{item.label} {item.text}" for item in table.views("black")[-1].items]
    assert shown == ["s a", 'l ["a"]', "s b", 'l ["b"]', "s m", 'l ["m"]']


THOROUGH = settings(max_examples=35, suppress_health_check=[HealthCheck.too_slow])
WATCHER = "alice"
ASK = syn.Elicit(WATCHER, ("y",), 5)
WORDS = ("bad word", "a good word", "tale & more, and more", "")

HIDDEN = ["s", "t", "x", "y"]
TARGETS = st.sampled_from([*HIDDEN, "p", "p1"])
NAMES = st.sampled_from([*HIDDEN, "p", "p1", "a", "c"])
LISTS = st.sampled_from(["l", "l1"])
PLAYERS = st.sampled_from(["black", "alice", "bob", "env"])


def _compound(parts: Any) -> Any:
    items = st.lists(parts, min_size=1, max_size=2).map(lambda values: syn.ListOf(tuple(values)))
    lists = items | st.builds(syn.Register, LISTS) | call("split", parts)
    lists |= call("shuffle", lists)
    return st.one_of(
        st.builds(syn.Cat, parts, parts),
        st.builds(syn.Cut, parts, parts, st.sampled_from(["before", "after"])),
        call("remove_common_words", parts, parts | lists),
        call("first_n_tokens", parts, st.builds(syn.Number, st.integers(0, 3))),
        call("join", parts, lists),
        call("sample", lists),
    )


VALUES = st.recursive(
    st.builds(syn.Literal, st.sampled_from(["a word", "tale"])) | st.builds(syn.Register, NAMES),
    _compound,
    max_leaves=3,
)
ITEMS = st.lists(VALUES, max_size=2).map(lambda values: syn.ListOf(tuple(values)))
LIST_VALUES = (
    ITEMS
    | st.builds(syn.Register, LISTS)
    | st.builds(syn.Chain, st.builds(syn.Register, LISTS), ITEMS)
    | call("shuffle", ITEMS | st.builds(syn.Register, LISTS))
)
AMOUNTS = st.builds(
    lambda kind, target, prefix: syn.Sum(((1, syn.Xent(kind, target, prefix)),)),
    st.sampled_from(syn.XENT_KINDS),
    VALUES,
    st.none() | VALUES,
)
LINES = st.one_of(
    st.builds(lambda name: syn.Assign(((name, syn.Story()),)), TARGETS),
    st.builds(lambda name, value: syn.Assign(((name, value),)), TARGETS, VALUES),
    st.builds(lambda name, value: syn.Assign(((name, value),)), LISTS, LIST_VALUES),
    st.builds(lambda player, name: syn.Elicit(player, (name,), 5), PLAYERS, TARGETS),
    st.builds(lambda name: syn.Elicit(WATCHER, (name,), 5), TARGETS),
    st.builds(syn.Reward, PLAYERS, AMOUNTS),
    st.builds(syn.Reveal, PLAYERS, st.tuples(VALUES | st.builds(syn.Register, LISTS))),
    st.builds(lambda value: syn.Ensure((syn.Truth(value),)), VALUES),
)
GAMES = st.lists(LINES, min_size=2, max_size=12)
NAMES_OF_DIALECTS = st.sampled_from(list(DIALECTS))


@dataclass
class Watched:
    """Speaks for all players: ``deaf`` ones by the count of their turns, the others by all that
    they see. Keeps the watcher's views."""

    deaf: tuple[str, ...] = ()
    turns: dict[str, int] = field(default_factory=dict)
    views: list[req.View] = field(default_factory=list)

    def moves(self, turns: list[req.Turn]) -> list[Any]:
        return [req.Move(self._line(turn.request.view)) for turn in turns]

    def _line(self, view: req.View) -> str:
        turn = self.turns[view.player] = self.turns.get(view.player, -1) + 1
        if view.player == WATCHER:
            self.views.append(view)
        clue = turn if view.player in self.deaf else render(view)
        return WORDS[number(view.player, clue) % len(WORDS)]


class Tales:
    """Stories that differ between two instances of one seed, and so of one chance."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def story_texts(self, requests: list[tuple[int, req.StoryRequest]]) -> list[str]:
        return [f"{self.secret} {request.site}" for _, request in requests]


SECRETS = ("one bad thing", "another")


def _faultless(lines: Iterable[syn.Instruction], dialect: str) -> bool:
    return not analyse(Program((*lines, ASK), dialect)).faults


def _watched_plays(
    lines: Iterable[syn.Instruction], dialect: str, deaf: tuple[str, ...] = ()
) -> list[tuple[list[req.View], req.Play]]:
    """The watcher's views and the play in two instances that differ in their stories and in c."""
    pairs = []
    for secret in SECRETS:
        player = Watched(deaf)
        metadata = Metadata(constants={"a": "known", "c": secret})
        game_ = game(Program((*lines, ASK), dialect), metadata)
        cast = Cast(WordJudge(), Tales(secret), dict.fromkeys(syn.PLAYERS, player))
        [play] = play_all([Instance(game_, Seeds(1, 0))], cast)
        pairs.append((player.views, play))
    return pairs


@dataclass
class Flow:
    """Which registers depend on a secret, and which the watcher has in sight, line after line.

    A list, and in the xent dialect whatever holds registers instead of values, depends on a
    secret for good once it may.
    """

    hidden: set[str] = field(default_factory=lambda: {"c"})
    watched: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)

    def shows(self, line: syn.Instruction) -> bool:
        """Whether the line puts a string before the watcher that depends on a secret; if not, the
        line has run."""
        state = replace(self, hidden=set(self.hidden))
        state.hidden |= {name for name in writes(line) if self._depends(line)}
        if isinstance(line, syn.Reveal) and line.player == WATCHER:
            in_sight = state.watched | set(reads(line))
        else:
            in_sight = state.watched
        list_registers = state.listed | _listed_registers(line)
        if list_registers & state.hidden:
            state.hidden |= set(syn.LIST_REGISTERS)
        public = {name for name in state.hidden if name[0] == "p"}
        if public or state.hidden & in_sight:
            return True
        self.hidden = state.hidden - self._cleared(line)
        self.watched, self.listed = in_sight, list_registers
        return False

    def _depends(self, line: syn.Instruction) -> bool:
        has_story = any(isinstance(node, syn.Story) for node in descendants(line))
        others = isinstance(line, syn.Elicit) and line.player != WATCHER
        return has_story or others or not self.hidden.isdisjoint(reads(line))

    def _cleared(self, line: syn.Instruction) -> set[str]:
        if self._depends(line):
            return set()
        return {name for name in writes(line) if name not in syn.LIST_REGISTERS}


def _listed_registers(line: syn.Instruction) -> set[str]:
    lists = [node for node in descendants(line) if isinstance(node, syn.ListOf)]
    items = [uncut(item) for each in lists for item in each.items]
    return {item.name for item in items if isinstance(item, syn.Register)}


def _silent(lines: list[syn.Instruction]) -> list[syn.Instruction]:
    """The lines without those that would show the watcher a string that depends on a secret."""
    flow = Flow()
    return [line for line in lines if not flow.shows(line)]


def _tells(lines: list[syn.Instruction]) -> bool:
    """Whether a reward of the watcher, or an ensure that may be hers, depends on a secret."""
    flow = Flow()
    for line in lines:
        hers = isinstance(line, syn.Reward) and line.player == WATCHER
        if (hers or isinstance(line, syn.Ensure)) and flow.hidden.intersection(reads(line)):
            return True
        flow.shows(line)
    return False


@THOROUGH
@given(lines=GAMES, dialect=NAMES_OF_DIALECTS)
def test_what_she_may_not_see_leaves_no_trace(lines: list[Any], dialect: str) -> None:
    """Byte for byte the same views, up to the first reward or ensure that depends on a secret."""
    lines = _silent(lines)
    while _tells(lines):
        lines.pop()
    assume(_faultless(lines, dialect))
    (first, _), (second, _) = _watched_plays(lines, dialect)
    assert list(map(render, first)) == list(map(render, second))


@THOROUGH
@given(lines=GAMES, dialect=NAMES_OF_DIALECTS)
def test_after_that_only_numbers_and_outcomes_differ(lines: list[Any], dialect: str) -> None:
    """She, deaf to what she sees, is shown the same but for numbers, as long as the same
    ensures sent the play back, those of others' moves too."""
    lines = _silent(lines)
    assume(_faultless(lines, dialect))
    (first, play), (second, other_play) = _watched_plays(lines, dialect, deaf=(WATCHER,))
    outcomes = zip(_outcomes(play), _outcomes(other_play), strict=False)
    for one, other, (before, other_before) in zip(first, second, outcomes, strict=False):
        if before != other_before:
            break
        assert _without_numbers(one) == _without_numbers(other)
        assert one.code == other.code


def _outcomes(play: req.Play) -> list[list[tuple[str, bool]]]:
    """Outcomes of all ensures before each of the watcher's moves."""
    before, outcomes = list[tuple[str, bool]](), []
    for event in play.events:
        if isinstance(event, req.Ensured):
            before.append((event.player, event.passed))
        if isinstance(event, req.Moved) and event.player == WATCHER:
            outcomes.append(list(before))
    return outcomes


def _without_numbers(view: req.View) -> list[req.Item]:
    """The items with their numbers gone; anything else in a reward would stay."""
    deletions = str.maketrans("", "", "0123456789.-(); ")
    return [
        req.Item(item.label, item.text.translate(deletions)) if item.label == "reward" else item
        for item in view.items
    ]


SECRET = syn.Register("s")
STORY = syn.Assign((("s", syn.Story()),))


@pytest.mark.parametrize(
    "lines",
    [
        [syn.Assign((("p", syn.Cat(SECRET, SECRET)),))],
        [syn.Reveal(WATCHER, (SECRET,))],
        [syn.Elicit("env", ("p",), 5)],
        [syn.Assign((("l", syn.ListOf((SECRET,))),)), syn.Reveal(WATCHER, (syn.Register("l"),))],
    ],
)
def test_the_oracle_of_these_laws_finds_what_shows(lines: list[syn.Instruction]) -> None:
    assert _silent([STORY, *lines]) == [STORY, *lines[:-1]]
    (first, _), (second, _) = _watched_plays([STORY, *lines], "xent")
    assert list(map(render, first)) != list(map(render, second))
