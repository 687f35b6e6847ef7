"""Ensures: what holds, whom a failure sends back, who forfeits."""

from __future__ import annotations

from typing import Any

import pytest

from xgl import Metadata
from xgl.errors import EarlyEnsureError
from xgl.runtime.requests import Ensured, Moved, Play

DIALECTS = pytest.mark.parametrize("dialect", ["paper", "xent"])


def events(play: Play, kind: type) -> list[Any]:
    return [event for event in play.events if isinstance(event, kind)]


@DIALECTS
def test_a_failed_ensure_goes_back_to_its_elicit(table: Any, dialect: str) -> None:
    code = 'elicit(s, t)\nassign(x=s)\nensure("so " + s)\nelicit(y)'
    play = table.play(code, "bad", "1", "good", "2", "end", dialect=dialect)
    assert play.outcome == "finished"
    assert play.registers == {"s": "good", "t": "2", "x": "good", "y": "end"}
    failures = 1 if dialect == "paper" else 0
    assert events(play, Ensured) == [Ensured("black", False, 1), Ensured("black", True, failures)]
    assert play.steps == 7
    assert play.accepted_moves("black") == ["good", "2", "end"]


@DIALECTS
def test_the_last_executed_elicit_may_stand_after_the_ensure(table: Any, dialect: str) -> None:
    code = (
        'elicit(s)\nbeacon(flag_1)\nensure("so " + t)\nelicit(bob, t)\nreplay(flag_1, 1)\nelicit(x)'
    )
    play = table.play(code, "first", "last", bob=["bad", "good"], dialect=dialect)
    assert [(event.player, event.line) for event in events(play, Moved)] == [
        ("black", 0),
        ("bob", 3),
        ("bob", 3),
        ("black", 5),
    ]
    assert events(play, Ensured)[1] == Ensured("bob", False, 1)
    assert play.registers == {"s": "first", "t": "good", "x": "last"}
    assert play.accepted_moves("bob") == ["good"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1 < 2", True),
        ("2 < 2", False),
        ("2 <= 2", True),
        ("2 > 2", False),
        ("1 >= 2", False),
        ("-1 < 0", True),
        ("xed(s | t) < xent(s) - xent(s | t)", False),
        ("xed(s | t) >= xent(s) - xent(s | t)", True),
        ('is_true("good", "bad")', False),
        ('is_false("bad")', True),
        ('is_false("good")', False),
        ('"good", "good"', True),
        ('"good", "bad"', False),
        ("2 < 1, 1 < 2", False),
        ('1 < 2, "bad"', False),
    ],
)
def test_conditions(table: Any, condition: str, holds: bool) -> None:
    code = f'assign(s="the cat", t="a dog")\nelicit(x)\nensure({condition})'
    play = table.play(code, "m", metadata=Metadata(max_failures=0))
    assert play.outcome == ("finished" if holds else "forfeit")


def test_a_statement_is_joined_as_the_dialect_joins(table: Any) -> None:
    code = 'elicit(s)\nensure("so" + s, is_true("so", s))'
    table.play(code, "m")
    table.play(code, "m", dialect="xent")
    statements = [[request.statement for request in batch] for batch in table.judge.judged]
    assert statements == [["so m"], ["som", "so m"]]  # equal statements are asked once


LOOP = 'beacon(flag_1)\nelicit(s)\nensure("so " + s)\nreplay(flag_1, 1)'


def test_ten_failures_are_allowed_and_the_next_is_a_forfeit(table: Any) -> None:
    code = 'elicit(s)\nensure("so " + s)\nreward(xent(s))'
    play = table.play(code, *["bad"] * 10, "good")
    assert (play.outcome, play.forfeiter) == ("finished", "")
    assert play.scores == {"black": table.bits("good")}
    play = table.play(code, *["bad"] * 11)
    assert (play.outcome, play.forfeiter, play.scores) == ("forfeit", "black", {"black": 0.0})
    assert events(play, Ensured)[-1] == Ensured("black", False, 11)


def test_failures_add_up_over_a_game_in_the_paper(table: Any) -> None:
    script = [*["bad"] * 6, "good", *["bad"] * 4, "good"]
    assert table.play(LOOP, *script).outcome == "finished"
    script = [*["bad"] * 6, "good", *["bad"] * 5]
    assert table.play(LOOP, *script).outcome == "forfeit"


def test_failures_are_forgotten_when_a_line_passes_in_xent(table: Any) -> None:
    script = [*["bad"] * 10, "good"]
    assert table.play(LOOP, *script * 2, dialect="xent").outcome == "finished"
    assert table.play(LOOP, *script, *["bad"] * 11, dialect="xent").outcome == "forfeit"


TWO_LINES = 'elicit(s)\nensure("so " + s)\nelicit(t)\nensure("so " + t)'


def test_failures_are_counted_by_player_in_the_paper_and_by_line_in_xent(table: Any) -> None:
    script = [*["bad"] * 6, "good"]
    assert table.play(TWO_LINES, *script, *["bad"] * 5).outcome == "forfeit"
    assert table.play(TWO_LINES, *script * 2, dialect="xent").outcome == "finished"
    two_players = TWO_LINES.replace("(t)", "(bob, t)")
    ten = [*["bad"] * 10, "good"]
    assert table.play(two_players, *ten, bob=ten).outcome == "finished"
    play = table.play(two_players, *ten, bob=["bad"] * 11)
    assert (play.outcome, play.forfeiter) == ("forfeit", "bob")


def test_two_lines_that_fail_in_turn_each_keep_their_count_in_xent(table: Any) -> None:
    code = 'elicit(s)\nensure("1 " + s)\nensure("2 " + s)'
    table.judge.believes = lambda statement: statement[0] in statement[2:]
    assert table.play(code, *["1"] * 11, dialect="xent").outcome == "forfeit"
    assert table.play(code, *["1"] * 10, "1 2", dialect="xent").outcome == "finished"
    answers = ["1", "2"] * 5
    assert table.play(code, *answers, "1 2", dialect="xent").outcome == "finished"


def test_the_others_keep_what_they_have_at_a_forfeit(table: Any) -> None:
    code = "elicit(alice, s)\nreward(alice, xent(s))\nelicit(t)\nensure(2 < 1)\nreward(xent(s))"
    play = table.play(code, *"0123456789A", alice=["a b"])
    assert play.scores == {"alice": table.bits("a b"), "black": 0.0}
    assert play.outcome == play.outcome_for("black") == "forfeit"
    assert play.outcome_for("alice") == "finished"


def test_an_ensure_before_any_elicit_must_hold_in_the_paper(table: Any) -> None:
    assert table.play('ensure("good")\nelicit(s)', "m").outcome == "finished"
    play = table.play('ensure("bad")\nelicit(s)', "m")
    assert (play.outcome, play.forfeiter, events(play, Moved)) == ("forfeit", "black", [])


@pytest.mark.parametrize("statement", ["good", "bad"])
def test_an_ensure_before_any_elicit_is_an_error_in_xent(table: Any, statement: str) -> None:
    with pytest.raises(EarlyEnsureError, match=r"^line 1: an ensure before any elicit$"):
        table.play(f'ensure("{statement}")\nelicit(s)', "m", dialect="xent")


def test_accepted_moves_of_earlier_turns_of_a_loop_stay(table: Any) -> None:
    code = 'beacon(flag_1)\nelicit(s, t)\nensure("so " + s)\nreplay(flag_1, 2)'
    script = ["a", "1", "bad", "2", "bad", "3", "b", "4", "bad", "5", "c", "6"]
    play = table.play(code, *script)
    assert play.accepted_moves("black") == ["a", "1", "b", "4", "c", "6"]
