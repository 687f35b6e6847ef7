"""Identity: what carries no meaning never changes ``game_id``, what does always changes it."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.doubles import NumberedStories, WordJudge, number
from support.programs import MUTABLE, PROGRAMS

from xgl import Cast, Game, Instance, Metadata, Program, Seeds, game, parse, play_all, to_text
from xgl.errors import FlowError, OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import canonicalise
from xgl.language.control_flow import unrolled
from xgl.language.visitors import rename
from xgl.runtime.requests import Move, Turn

QUICK = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
PRIVATE = [name for name in syn.REGISTERS if name[0] in "stxy"]
PUBLIC = [name for name in syn.REGISTERS if name[0] == "p"]


@QUICK
@given(program=PROGRAMS, data=st.data())
def test_renaming_in_a_pool_never_changes_the_game(program: Program, data: st.DataObject) -> None:
    names = dict(zip(PRIVATE, data.draw(st.permutations(PRIVATE)), strict=True))
    names |= dict(zip(PUBLIC, data.draw(st.permutations(PUBLIC)), strict=True))
    lists = syn.LIST_REGISTERS
    names |= dict(zip(lists, data.draw(st.permutations(lists)), strict=True))
    copy = replace(
        program, instructions=tuple(rename(line, names) for line in program.instructions)
    )
    assert game(copy) == game(program)


@QUICK
@given(program=PROGRAMS, data=st.data())
def test_comments_spacing_and_quoting_never_change_the_game(
    program: Program, data: st.DataObject
) -> None:
    source, lines = to_text(program).split("\n"), list[str]()
    for line in source:
        lines += [*data.draw(NOTES), _respell(line, data.draw(SPACES))]
    assert game(parse("\n".join(lines), program.dialect)) == game(program)


NOTES = st.lists(st.sampled_from(["", "   ", "# elicit(s)", "\t#"]), max_size=2)
SPACES = st.lists(st.sampled_from(["", " ", "  ", "\t"]), min_size=3, max_size=7)


def _respell(line: str, spaces: list[str]) -> str:
    """The same tokens with other spaces, other quotes and a comment."""
    text, before = "", tokenize.OP
    for place, token in enumerate(tokenize.generate_tokens(io.StringIO(line).readline)):
        space = spaces[place % len(spaces)]
        if {before, token.type} <= {tokenize.NAME, tokenize.NUMBER}:
            space = space or " "
        is_text = token.type == tokenize.STRING
        text += space + (repr(ast.literal_eval(token.string)) if is_text else token.string)
        before = token.type
    return text + "  # reward(xent(s))"


@QUICK
@given(program=PROGRAMS)
def test_dialect_and_metadata_change_the_game(program: Program) -> None:
    other = "xent" if program.dialect == "paper" else "paper"
    ids = {game(program).game_id, game(replace(program, dialect=other)).game_id}
    ids |= {game(program, metadata).game_id for metadata in METADATA}
    assert len(ids) == 2 + len(METADATA)


METADATA = [
    *(Metadata(story_tokens=25), Metadata(max_len=11), Metadata(max_failures=9)),
    *(Metadata(max_characters=4095), Metadata(token_bits=False)),
    *(Metadata(constants=each) for each in ({"a": "x"}, {"b": "x"}, {"a": "y"})),
]


@QUICK
@given(program=PROGRAMS)
def test_the_canonical_form_is_a_fixed_point_that_can_be_read_back(program: Program) -> None:
    game_ = game(program)
    assert canonicalise(game_.program) == game_.program
    assert parse(game_.code, game_.dialect) == game_.program
    assert game(game_.program).game_id == game_.game_id


def test_canonical_text_by_hand() -> None:
    game_ = game(
        parse(
            """
            assign(y3='one', p2=story())   # names by first use, reads first
            elicit(black, x2, 5)
            ensure(a1 + t)
            reward(xed(y3|x2)-xent(p0))
            """
        )
    )
    assert game_.code == (
        'assign(s="one", p=story())\nelicit(t, 5)\nensure(a1 + x)\nreward(xed(s | t) - xent(p1))'
    )


BASE = 'assign(s="a", t=s)\nelicit(x, 5)\nbeacon(flag_1)\nreward(xed(s | x))\nreplay(flag_1, 2)'


def test_the_id_is_the_same_on_every_machine() -> None:
    assert game(parse(BASE)).game_id == "38a9f07fd45b4e35"


BRIEF = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
CONSTANTS = {"a": "one", "b": "two", "b1": "three", "c": "four"}


def observations(program: Program) -> list[Any]:
    """All that a program asks for as it stands, and how it ends, but for the registers' names."""
    judge, stories, teller = WordJudge(), NumberedStories(), Teller()
    cast = Cast(judge, stories, dict.fromkeys(syn.PLAYERS, teller))
    instance = Instance(Game(program, Metadata(constants=CONSTANTS), "", ""), Seeds(24, 0))
    asked = [judge.scored, judge.judged, stories.asked, teller.asked]
    try:
        [play] = play_all([instance], cast)
    except FlowError as error:
        return [*asked, type(error)]
    return [*asked, play.outcome, play.scores, play.steps, sorted(play.registers.values())]


class Teller:
    """Speaks for all players, as what it may see says."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        for view, request in ((turn.request.view, turn.request) for turn in turns):
            texts = [item.text for item in view.items]
            self.asked.append((view.player, texts, request.max_len, request.turn))
        words = ("bad word", "a good word", "tale of 24 & more", "")
        return [Move(words[number(self.asked[-1]) % 4])]


@BRIEF
@given(program=PROGRAMS)
def test_a_program_and_its_canonical_form_play_alike(program: Program) -> None:
    assert observations(canonicalise(program)) == observations(program)


@st.composite
def _neighbours(draw: st.DrawFn) -> tuple[Program, Program]:
    """A program and one like it: registers renamed (in one line or in all, one name or two into
    one), a line lost, or two lines swapped."""
    program = draw(PROGRAMS)
    lines = list(program.instructions)
    place, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    old, new = _pair(draw)
    match draw(st.sampled_from(["one", "all", "swapped", "lost", "order"])):
        case "one":
            lines[place] = rename(lines[place], {old: new})
        case "all":
            lines = [rename(line, {old: new}) for line in lines]
        case "swapped":
            lines = [rename(line, {old: new, new: old}) for line in lines]
        case "lost" if len(lines) > 1:
            del lines[place]
        case "order":
            lines[place], lines[other] = lines[other], lines[place]
    return program, replace(program, instructions=tuple(lines))


def _pair(draw: st.DrawFn) -> tuple[str, str]:
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(syn.LIST_REGISTERS)), draw(st.sampled_from(syn.LIST_REGISTERS))
    return draw(st.sampled_from(MUTABLE)), draw(st.sampled_from(MUTABLE))


@settings(BRIEF, max_examples=30)
@given(pair=_neighbours())
def test_programs_that_play_differently_are_two_games(pair: tuple[Program, Program]) -> None:
    one, other = pair
    if len(unrolled(other)[0]) <= syn.MAX_STEPS and observations(one) != observations(other):
        assert game(one).game_id != game(other).game_id


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('assign(s="x")\nelicit(alice, t)', 'assign(p="x")\nelicit(alice, t)', False),
        ("elicit(s)\nreward(xent(a))", "elicit(s)\nreward(xent(b))", False),
        ('assign(l=["x"], l1=l)', 'assign(l2=["x"], l=l)', False),
        ('assign(s="a\\tb")', "assign(s='a\\x09b')", True),
    ],
)
def test_by_hand(one: str, other: str, same: bool) -> None:
    games: Sequence[Game] = [game(parse(code, "xent")) for code in (one, other)]
    assert (games[0].game_id == games[1].game_id) == same
