"""Operators whose children differ in what they are about: exact examples."""

from __future__ import annotations

from random import Random

import pytest

import xgl
from meta_sampler.mutate.axioms import add_turn
from meta_sampler.mutate.edits import permute_stories
from meta_sampler.mutate.program_editor import Operator, edit_context, prune, unread_registers
from meta_sampler.settings import MutateSettings
from xgl import Program, parse
from xgl.language.unparse import to_text

TWO = "assign(s=story(), t=story())\n"


def children(operator: Operator, code: str) -> set[str]:
    """All texts that an operator makes of a program, over many draws."""
    parent = xgl.game(parse(code, "xent"))
    context, lines = edit_context(parent, MutateSettings()), parse(code, "xent").instructions
    results = (operator(lines, context, Random(seed)) for seed in range(30))
    return {to_text(Program(each, "xent")) for each in results if each is not None}


def test_a_turn_more_is_paid_for_another_story() -> None:
    code = TWO + "elicit(x, 6)\nreward(xed(s | x) - xed(t | x))"
    assert children(add_turn, code) == {code + "\nelicit(y, 6)\nreward(xed(t | y) - xed(s | y))"}


def test_a_turn_more_goes_with_all_that_the_move_is_paid() -> None:
    code = TWO + "elicit(x, 6)\nreward(xed(s | x))\nreward(-xed(x | t))"
    more = "\nelicit(y, 6)\nreward(xed(t | y))\nreward(-xed(y | s))"
    assert children(add_turn, code) == {code + more}


def test_no_reward_speaks_of_a_story_that_is_not_drawn_yet() -> None:
    code = (
        "assign(s=story())\nelicit(x, 6)\nreward(xed(s | x))\nassign(t=story())\nreward(xed(t | x))"
    )
    for child in children(permute_stories, code):
        assert child.splitlines()[2] == "reward(xed(s | x))"


# -- What goes with a deleted line, and what stays -------------------------------------------------


def prune_text(text: str, registers: frozenset[str] = frozenset()) -> str:
    program = xgl.parse(text.strip(), "xent")
    return xgl.to_text(xgl.Program(prune(program.instructions, registers), "xent"))


def test_a_story_that_no_move_sees_goes_with_the_term_about_it() -> None:
    text = "assign(s=story())\nelicit(x, 8)\nassign(t=story())\nreward(xed(s | x))"
    assert "t=" not in prune_text(text)


def test_a_chain_of_values_that_nothing_reads_goes_whole() -> None:
    text = """
assign(s=story())
assign(t=s+"and")
assign(x=t+"so")
elicit(y, 8)
reward(xed(s | y))
"""
    assert len(prune_text(text).splitlines()) == 3


@pytest.mark.parametrize("registers", [frozenset({"t"}), frozenset({"t", "z"})])
def test_what_the_parent_left_unread_is_kept(registers: frozenset[str]) -> None:
    text = 'assign(s=story(), t="once")\nelicit(y, 8)\nreward(xed(s | y))'
    lines = xgl.parse(text, "xent").instructions
    assert unread_registers(lines) == {"t"}
    assert prune(lines, registers) == lines
    assert "t=" not in prune_text(text)
