"""Each lint rule, in the smallest game that breaks it."""

from __future__ import annotations

import pytest

import xgl
from meta_sampler.screening.lint import RULES, flag_order, lint_warnings, unused_value

HEAD = "assign(s=story(), t=story())\nelicit(x, 8)\n"


def program(text: str) -> xgl.Program:
    return xgl.parse(text, "xent")


BROKEN = {
    "elicit(y, y, 4)\nreward(xed(s | x + y))": "two moves for one register",
    "reward(xed(s | s + x))": "a string is scored against itself",
    "reward(xed(s | x + x))": "a string stands beside itself in a prefix",
    "reward(xed(s) + xed(t | x))": "a term is always zero",
    "reward(xed(s | x) + xent(t))": "a reward term that no move can change",
    "reward(xed(s | x) + dex(s | x))": "two reward terms cancel",
    "reward(xed(s | x))\nreward(-xed(s | x))": "two reward terms cancel",
    "reward(xed(s|x) + xed(s|x) + xed(s|x))": "a term is paid more than twice",
    "reward(xed(s | x) + xent(x | t))": "gibberish is paid for",
    "reward(-xent(x))": "no reward ties a move to the map",
    "elicit(y, 8)\nreward(xed(s|x) + xed(y|x))": "a player is paid for repeating itself",
    "reward(xed(s // t | x))": "a cut at a mark that hardly occurs",
    "ensure(xent(s) < xent(t))\nreward(xed(s|x))": "a condition that the last move",
    "ensure(xent(x) >= 0)\nreward(xed(s|x))": "a condition that always or never holds",
    "ensure(xed(s|x) > 4)\nreward(xed(s|x))": "a condition asks for what is paid anyway",
    "ensure(xent(x) < 9)\nensure(xent(x) < 9)\nreward(xed(s|x))": "a condition stands twice",
    "ensure(s + s + x)\nreward(xed(s|x))": "a statement about a string and itself",
    "reward(xed(s | x))\nassign(y=story())": "a stored value is never used",
    "assign(y=story())\nreward(xed(y | x))": "a move is scored on stories drawn later only",
    "assign(y=x)\nreward(xed(s | y))": "an assignment that only copies",
    "assign(y=s, y=t)\nreward(xed(y | x))": "two values for one register",
    "elicit(y, 3)\nensure(xent(y) < 9)\nreward(xed(s|x))": "a move that is neither",
    "reward(xed(s | x))\nreward(bob, xed(s | x))": "a reward to someone who makes no move",
    "reveal(bob, s)\nreward(xed(s | x))": "a reveal that informs nobody",
    "reveal(bob, x)\nelicit(bob, y, 4)\nreward(xed(s | x + y))": "a player who earns nothing",
    "elicit(bob, y, 4)\nreward(bob, xed(s | x + y))": "a move by someone who knows nothing",
    "replay(flag_1, 2)\nreward(xed(s | x))": "a flag without its beacon",
    "beacon(flag_1)\nreward(xed(s|x))\nreplay(flag_1, 2)": "a loop without a move",
    "beacon(flag_1)\nassign(s=s+s)\nreplay(flag_1, 9)\nreward(xed(s|x))": "a string grows",
}
"""What follows the head of a game, and the beginning of a warning that it has."""


@pytest.mark.parametrize(("rest", "warning"), BROKEN.items(), ids=BROKEN.values())
def test_each_rule(rest: str, warning: str) -> None:
    assert any(str(rule).startswith(warning) for rule in lint_warnings(program(HEAD + rest)))


def test_flags_out_of_order_are_the_only_warning_of_a_game() -> None:
    text = "beacon(flag_2)\nbeacon(flag_1)\nreplay(flag_1, 1)"
    assert lint_warnings(xgl.parse(text, "paper")) == {flag_order}


def test_every_rule_is_broken_above() -> None:
    names = {rule.name for rest in BROKEN for rule in lint_warnings(program(HEAD + rest))}
    assert {*names, flag_order.name} == RULES.keys()


@pytest.mark.parametrize(
    "rest",
    [
        "assign(y=story())\nreward(xed(s | x) - xed(y | x))",
        "assign(y=s//x, s1=s%x)\nreward(xed(y | s1) - xed(t | x))",
        "ensure(xent(x | t) < xent(x))\nreward(xed(s + t | x))",
        'ensure("no common words between"+s+"&"+x)\nreward(xed(s | x) - xent(x | t))',
        "reveal(bob, x)\nelicit(bob, y, 4)\nreward(bob, xed(s | y))\nreward(xed(t | x))",
        "elicit(white, y, 4)\nensure(xed(y | x) < 8)\nreward(xed(s + t | y))",
    ],
)
def test_sensible_games_have_no_warnings(rest: str) -> None:
    assert not lint_warnings(program(HEAD + rest))


@pytest.mark.parametrize(
    ("code", "sensible"),
    [
        ("assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x))", True),
        ("assign(s=story())\nelicit(x, 8)\nassign(t=story())\nreward(xed(s | x))", False),
        ("assign(p=story(), t=story())\nelicit(bob, x, 8)\nreward(bob, xed(p | x))", False),
        ("assign(p=story(), p1=story())\nelicit(bob, x, 8)\nreward(bob, xed(p | x))", True),
        ("assign(s=story(), t=s + s)\nelicit(x, 8)\nreward(xed(s | x))", False),
    ],
)
def test_an_unread_story_is_a_distractor_only_where_a_mover_sees_it(
    code: str, sensible: bool
) -> None:
    assert (unused_value not in lint_warnings(program(code))) == sensible
