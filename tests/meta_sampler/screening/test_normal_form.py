"""Which programs have one normal form, and which have two."""

from __future__ import annotations

import pytest

import xgl
from meta_sampler.screening.symbolic import normal_form

HEAD = "assign(s=story(), t=story())\nelicit(x, 8)\n"


def program(text: str) -> xgl.Program:
    return xgl.parse(text, "xent")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x))", "reward(nex(s | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x))\nreward(dex(t | x))"),
        ("reward(xed(s + t | x))", "assign(y=s + t)\nreward(xed(y | x))"),
        ("ensure(xed(x | s) > 0)\nreward(xed(t|x))", "ensure(xent(x|s)<xent(x))\nreward(xed(t|x))"),
    ],
)
def test_one_normal_form(one: str, other: str) -> None:
    assert normal_form(program(HEAD + one)) == normal_form(program(HEAD + other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(s | x) + xed(t | x))"),
        ("reward(xed(s | x) - xed(t | x))", "reward(xed(t | x) - xed(s | x))"),
        ("reward(xed(x | s))", "reward(nex(x | s))"),
        ("reward(xed(s | x))", "ensure(xed(s | x) > 4)\nreward(xed(s | x))"),
        ("reward(xed(s // x | x))", "reward(xed(s % x | x))"),
        ("reward(xed(s | x))", "elicit(x, 8)\nreward(xed(s | x))"),
    ],
)
def test_two_normal_forms(one: str, other: str) -> None:
    assert normal_form(program(HEAD + one)) != normal_form(program(HEAD + other))


def test_what_a_move_sees_is_part_of_the_normal_form() -> None:
    alone, before, after = (
        normal_form(program(f"assign({stories})\nelicit(x, 8)\nreward(xed(s | x))"))
        for stories in ("s=story()", "s=story(), t=story()", "t=story(), s=story()")
    )
    assert len({alone, before, after}) == 3


def test_limits_are_part_of_the_normal_form() -> None:
    rest = "reward(xed(s | x))"
    shorter = HEAD.replace("8", "4") + rest
    assert normal_form(program(HEAD + rest)) != normal_form(program(shorter))


def test_assignments_run_as_the_dialect_says() -> None:
    chain = HEAD + "assign(y=s + x, s1=y + x)\nreward(xed(t | s1))"
    direct = HEAD + "reward(xed(t | s + x + x))"
    assert normal_form(xgl.parse(chain, "paper")) == normal_form(xgl.parse(direct, "paper"))
    assert normal_form(xgl.parse(chain, "xent")) != normal_form(xgl.parse(direct, "xent"))


def test_a_register_by_itself_is_read_as_it_is_stored() -> None:
    with_copies = program(HEAD + "assign(y=s + x, s1=y)\nreward(xed(t | s1))")
    assert normal_form(with_copies) == normal_form(program(HEAD + "reward(xed(t | s + x))"))
