"""Who is asked, knowing what; and how large the judge's requests can get."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.programs import PROGRAMS

from xgl import Cast, Instance, Metadata, Program, Seeds, analyse, game, parse, play_all, to_text
from xgl.analysis.request_bounds import Bound, ElicitFacts
from xgl.errors import OversizeError
from xgl.runtime.presentation import render
from xgl.runtime.requests import Ensured, Move, Moved, Player, Turn


def elicits(code: str, metadata: Metadata | None = None) -> tuple[ElicitFacts, ...]:
    return analyse(parse(code), metadata).elicits


def bounds(
    code: str, dialect: str = "paper", metadata: Metadata | None = None
) -> tuple[Bound, ...]:
    return analyse(parse(code, dialect), metadata).bounds


def test_the_omniscient_see_all_the_others_what_they_are_shown() -> None:
    code = (
        "assign(s=story(), t=story(), p=story())\nreveal(bob, s)\nelicit(bob, x, 5)\n"
        "elicit(alice, y)\nelicit(y1, 3)"
    )
    bob, alice, black = elicits(code)
    assert bob == ElicitFacts(3, "bob", "x", 5, 1, ("s", "p"), ("t",))
    assert alice == ElicitFacts(4, "alice", "y", 10, 1, ("p",), ("s", "t", "x"))
    assert black == ElicitFacts(5, "black", "y1", 3, 1, ("s", "t", "p", "x", "y"), ())


def test_own_moves_are_known_and_public_ones_to_all() -> None:
    first, second, third = elicits("elicit(bob, x)\nelicit(bob, p)\nelicit(alice, t)")
    assert (first.sees, first.hidden) == ((), ())
    assert (second.sees, second.hidden) == (("x",), ())
    assert (third.sees, third.hidden) == (("p",), ("x",))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("elicit(x, 5)\nreward(xent(x))", (Bound(2, "score", 5),)),
        ('elicit(x, 5)\nreward(xent("été" | x + x, x))', (Bound(2, "score", 5 + 11 + 5),)),
        ('elicit(x, 5)\nensure("ok" + x)', (Bound(2, "truth", 8),)),
        ("assign(s=story(7) + story())", (Bound(1, "story", 24),)),
        (
            "elicit(x, 5)\nbeacon(flag_1)\nassign(t=t + x)\nreward(xent(t))\nreplay(flag_1, 2)",
            (Bound(4, "score", 3 * 6),),
        ),
    ],
)
def test_bounds(code: str, expected: tuple[Bound, ...]) -> None:
    assert bounds(code) == expected


def test_bounds_depend_on_dialect_and_metadata() -> None:
    code = 'assign(s=story(90))\nelicit(x)\nreward(xent(s + "" + x))'
    longer = Metadata(story_tokens=40, max_len=3)
    assert bounds(code, "paper", longer)[-1].tokens == 90 + 3 + 2
    assert bounds(code, "xent", longer)[-1].tokens == 40 + 3


def test_no_bound_exceeds_the_cap_of_a_string() -> None:
    code = "elicit(x)\nbeacon(flag_1)\nassign(x=x + x)\nreplay(flag_1, 60)\nreward(xent(x))"
    assert bounds(code)[-1].tokens == Metadata().max_characters


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, st.booleans())
def test_no_view_is_larger_than_its_bound(
    seat: Callable[..., Cast],
    echo_player: Callable[[], Player],
    program: Program,
    token_bits: bool,
) -> None:
    metadata = Metadata(token_bits=token_bits)
    report = analyse(program, metadata)
    assume(not report.faults)
    view_sizes: list[int] = []
    cast = seat(_Reader(echo_player(), view_sizes))
    [play] = play_all([Instance(game(program, metadata), Seeds(1, 0))], cast)
    assume(all(event.passed for event in play.events if isinstance(event, Ensured)))
    lines = [event.line + 1 for event in play.events if isinstance(event, Moved)]
    largest = {bound.line: bound.tokens for bound in report.views}
    for line, size in zip(lines, view_sizes, strict=False):  # an oversize game ends after a view
        assert size <= largest[line]


def test_a_list_is_shown_again_when_a_register_in_it_changes() -> None:
    """A list that holds registers themselves shows what they hold now."""
    code = "assign(l=[s])\nassign(s=story())\nelicit(x, 5)\nreward(xent(x))"
    alone, again = (analyse(parse(code, dialect)).views[0].tokens for dialect in ("paper", "xent"))
    label = len("l") + 4
    assert again == alone + label + Metadata().max_characters


class _Reader:
    """Another player's moves; keeps how many words each view has."""

    def __init__(self, player: Player, view_sizes: list[int]) -> None:
        self.player, self.view_sizes = player, view_sizes

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.view_sizes += [len(render(turn.request.view).split()) for turn in turns]
        return self.player.moves(turns)


def test_the_view_of_a_move() -> None:
    code = (
        "assign(s=story(9))\nreveal(bob, s)\nelicit(bob, t, 5)\nelicit(alice, x, 5)\n"
        "reward(xent(x))"
    )
    bob, alice = analyse(parse(code)).views
    code_tokens = len(to_text(parse(code)))
    assert (bob.line, bob.tokens) == (3, code_tokens + 5 + 9 + 5)
    assert (alice.line, alice.tokens) == (4, code_tokens + 5)
