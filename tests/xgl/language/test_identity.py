"""A game is what a machine can observe of it: programs that play differently are two games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.doubles import WordJudge, number
from support.programs import MUTABLE, PROGRAMS

from xgl import Game, Metadata, Program, game, parse
from xgl.errors import FlowError
from xgl.language import syntax as syn
from xgl.language.canonical import canonicalise
from xgl.language.control_flow import unrolled_steps
from xgl.language.visitors import rename
from xgl.runtime.machine import Machine
from xgl.runtime.requests import (
    DrawRequest,
    Move,
    MoveRequest,
    PrefixRequest,
    ScoreRequest,
    StoryRequest,
    TruthRequest,
)

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CONSTANTS = {"a": "one", "b": "two", "b1": "three", "c": "four"}


def observations(program: Program) -> list[Any]:
    """All that a program asks for as it stands, and how it ends, but for the registers' names."""
    machine = Machine(Game(program, Metadata(constants=CONSTANTS), "", "")).play()
    trace: list[Any] = []
    try:
        requests = next(machine)
        while True:
            trace += map(_nameless, requests)
            requests = machine.send(tuple(map(_answer, requests)))
    except StopIteration as end:
        play = end.value
    except FlowError as error:
        return [*trace, type(error)]
    return [*trace, play.outcome, play.scores, play.steps, sorted(play.registers.values())]


def _nameless(request: Any) -> Any:
    if not isinstance(request, MoveRequest):
        return request
    view = request.view
    return view.player, [item.text for item in view.items], request.max_len, request.turn


def _answer(request: Any) -> Any:
    judge = WordJudge()
    match request:
        case ScoreRequest():
            return judge.score([request])[0]
        case TruthRequest():
            return judge.truths([request])[0]
        case StoryRequest(site, tokens, prompt):
            return f"tale {site} of {tokens} words {prompt}"
        case PrefixRequest(text, tokens):
            return judge.first_tokens(text, tokens)
        case DrawRequest(size, draw):
            return sorted(range(size), key=lambda place: number(place, draw))
    words = ("bad word", "a good word", "tale of 24 & more", "")
    return Move(words[number(_nameless(request)) % 4])


@QUICK
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


@settings(QUICK, max_examples=120)
@given(pair=_neighbours())
def test_programs_that_play_differently_are_two_games(pair: tuple[Program, Program]) -> None:
    one, other = pair
    if unrolled_steps(other) <= syn.MAX_STEPS and observations(one) != observations(other):
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
