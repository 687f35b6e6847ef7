"""Each kind of silliness, in the smallest game that shows it; and what two games share."""

from __future__ import annotations

import pytest

import xgl
from meta_sampler.screening.lint import objections
from meta_sampler.screening.normal_form import meaning

HEAD = "assign(s=story(), t=story())\nelicit(x, 8)\n"


def program(text: str) -> xgl.Program:
    return xgl.parse(text, "xent")


@pytest.mark.parametrize(
    ("rest", "objection"),
    [
        ("reward(xed(s | s + x))", "a string is scored against itself"),
        ("reward(xed(s | x + x))", "a string stands beside itself in a prefix"),
        ("reward(xed(s) + xed(t | x))", "a term is always zero"),
        ("reward(xed(s | x) + xent(t))", "a reward term that no move can change"),
        ("reward(xed(s | x) + dex(s | x))", "two reward terms cancel"),
        ("reward(xed(s | x))\nreward(-xed(s | x))", "two reward terms cancel"),
        ("reward(xed(s|x) + xed(s|x) + xed(s|x))", "a term is paid more than twice"),
        ("reward(xed(s | x) + xent(x | t))", "gibberish is paid for"),
        ("reward(-xent(x))", "no reward ties a move to the map"),
        ("elicit(y, 8)\nreward(xed(s|x) + xed(y|x))", "a player is paid for repeating itself"),
        ("reward(xed(s // t | x))", "a cut at a mark that hardly occurs"),
        ("ensure(xent(s) < xent(t))\nreward(xed(s|x))", "a condition that the last move"),
        ("ensure(xent(x) >= 0)\nreward(xed(s|x))", "a condition that always or never holds"),
        ("ensure(xed(s|x) > 4)\nreward(xed(s|x))", "a condition asks for what is paid anyway"),
        ("ensure(xent(x) < 9)\nensure(xent(x) < 9)\nreward(xed(s|x))", "a condition stands twice"),
        ("ensure(s + s + x)\nreward(xed(s|x))", "a statement about a string and itself"),
        ("reward(xed(s | x))\nassign(y=story())", "a stored value is never used"),
        ("assign(y=story())\nreward(xed(y | x))", "a move is scored on stories drawn later only"),
        ("assign(y=x)\nreward(xed(s | y))", "an assignment that only copies"),
        ("assign(y=s, y=t)\nreward(xed(y | x))", "two values for one register"),
        ("elicit(y, 3)\nensure(xent(y) < 9)\nreward(xed(s|x))", "a move that is neither"),
        ("reward(xed(s | x))\nreward(bob, xed(s | x))", "a reward to someone who makes no move"),
        ("reveal(bob, s)\nreward(xed(s | x))", "a reveal that informs nobody"),
        ("reveal(bob, x)\nelicit(bob, y, 4)\nreward(xed(s | x + y))", "a player who earns nothing"),
        ("elicit(bob, y, 4)\nreward(bob, xed(s | x + y))", "a move by someone who knows nothing"),
        ("replay(flag_1, 2)\nreward(xed(s | x))", "a flag without its beacon"),
        ("beacon(flag_1)\nreward(xed(s|x))\nreplay(flag_1, 2)", "a loop without a move"),
        ("beacon(flag_1)\nassign(s=s+s)\nreplay(flag_1, 9)\nreward(xed(s|x))", "a string grows"),
    ],
)
def test_objection(rest: str, objection: str) -> None:
    assert any(objection in found for found in objections(program(HEAD + rest)))


@pytest.mark.parametrize(
    "rest",
    [
        "reward(xed(s | x) - xed(t | x))",
        "assign(y=story())\nreward(xed(s | x) - xed(y | x))",
        "assign(y=s//x, s1=s%x)\nreward(xed(y | s1) - xed(t | x))",
        "ensure(xent(x | t) < xent(x))\nreward(xed(s + t | x))",
        'ensure("no common words between"+s+"&"+x)\nreward(xed(s | x) - xent(x | t))',
        "reveal(bob, x)\nelicit(bob, y, 4)\nreward(bob, xed(s | y))\nreward(xed(t | x))",
        "elicit(white, y, 4)\nreward(xed(s | x) - xed(t | y))",
        "elicit(white, y, 4)\nensure(xed(y | x) < 8)\nreward(xed(s + t | y))",
    ],
)
def test_sensible_games_meet_no_objection(rest: str) -> None:
    assert not objections(program(HEAD + rest))


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
    assert ("a stored value is never used" not in objections(program(code))) == sensible


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x))", "reward(nex(s | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x))\nreward(dex(t | x))"),
        ("reward(xed(s + t | x))", "assign(y=s + t)\nreward(xed(y | x))"),
        ("ensure(xed(x | s) > 0)\nreward(xed(t|x))", "ensure(xent(x|s)<xent(x))\nreward(xed(t|x))"),
    ],
)
def test_one_meaning(one: str, other: str) -> None:
    assert meaning(program(HEAD + one)) == meaning(program(HEAD + other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x) + xed(t | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(t | x) - xed(s | x))"),
        ("reward(xed(x | s))", "reward(nex(x | s))"),
        ("reward(xed(s | x))", "ensure(xed(s | x) > 4)\nreward(xed(s | x))"),
        ("reward(xed(s + t | x))", "reward(xed(s | x + t))"),
        ("reward(xed(s // x | x))", "reward(xed(s % x | x))"),
        ("reward(xed(s | x))", "elicit(x, 8)\nreward(xed(s | x))"),
    ],
)
def test_two_meanings(one: str, other: str) -> None:
    assert meaning(program(HEAD + one)) != meaning(program(HEAD + other))


def test_what_a_move_sees_is_part_of_the_meaning() -> None:
    alone, before, after = (
        meaning(program(f"assign({stories})\nelicit(x, 8)\nreward(xed(s | x))"))
        for stories in ("s=story()", "s=story(), t=story()", "t=story(), s=story()")
    )
    assert len({alone, before, after}) == 3


def test_limits_are_part_of_the_meaning() -> None:
    rest = "reward(xed(s | x))"
    shorter = HEAD.replace("8", "4") + rest
    assert meaning(program(HEAD + rest)) != meaning(program(shorter))


def test_assignments_run_as_the_dialect_says() -> None:
    chained = HEAD + "assign(y=s + x, s1=y + x)\nreward(xed(t | s1))"
    direct = HEAD + "reward(xed(t | s + x + x))"
    assert meaning(xgl.parse(chained, "paper")) == meaning(xgl.parse(direct, "paper"))
    assert meaning(xgl.parse(chained, "xent")) != meaning(xgl.parse(direct, "xent"))


def test_a_register_by_itself_is_read_as_it_is_stored() -> None:
    copied = program(HEAD + "assign(y=s + x, s1=y)\nreward(xed(t | s1))")
    assert meaning(copied) == meaning(program(HEAD + "reward(xed(t | s + x))"))
