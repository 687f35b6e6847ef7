"""Operators whose children differ in what they are about: exact examples."""

from __future__ import annotations

from random import Random

import xgl
from meta_sampler.mutate.axioms import add_turn
from meta_sampler.mutate.edits import permute_stories
from meta_sampler.mutate.program_editor import Operator, edit_context
from meta_sampler.settings import MutateSettings
from xgl import Program, parse
from xgl.language.unparse import to_text

TWO = "assign(s=story(), t=story())\n"


def children(operator: Operator, code: str) -> set[str]:
    """All texts that an operator makes of a program, over many draws."""
    parent = xgl.game(parse(code, "xent"))
    context, lines = edit_context(parent, MutateSettings()), parse(code, "xent").instructions
    results = (operator(lines, context, Random(seed)) for seed in range(60))
    return {to_text(Program(each, "xent")) for each in results if each is not None}


def test_a_turn_more_is_paid_for_another_story() -> None:
    code = TWO + "elicit(x, 6)\nreward(xed(s | x) - xed(t | x))"
    assert children(add_turn, code) == {code + "\nelicit(y, 6)\nreward(xed(t | y) - xed(s | y))"}


def test_a_turn_more_goes_with_all_that_the_move_is_paid() -> None:
    code = TWO + "elicit(x, 6)\nreward(xed(s | x))\nreward(-xed(x | t))"
    more = "\nelicit(y, 6)\nreward(xed(t | y))\nreward(-xed(y | s))"
    assert children(add_turn, code) == {code + more}


def test_one_story_leaves_no_other_turn() -> None:
    code = "assign(s=story())\nelicit(x, 6)\nreward(xed(s | x))"
    assert children(add_turn, code) == set()
    assert children(permute_stories, code) == set()


def test_rewards_speak_of_other_stories_from_a_line_on() -> None:
    code = TWO + "elicit(x, 6)\nreward(xed(s | x))\nreward(xed(x | t))"
    both = TWO + "elicit(x, 6)\nreward(xed(t | x))\nreward(xed(x | s))"
    last = TWO + "elicit(x, 6)\nreward(xed(s | x))\nreward(xed(x | s))"
    assert children(permute_stories, code) == {code, both, last}


def test_no_reward_speaks_of_a_story_that_is_not_drawn_yet() -> None:
    code = (
        "assign(s=story())\nelicit(x, 6)\nreward(xed(s | x))\nassign(t=story())\nreward(xed(t | x))"
    )
    for child in children(permute_stories, code):
        assert child.splitlines()[2] == "reward(xed(s | x))"
