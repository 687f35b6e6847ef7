"""What goes with a deleted line, and what stays."""

from __future__ import annotations

import pytest

import xgl
from meta_sampler.mutate.program_editor import prune, unread_registers

ENDS = """
assign(s=story(), t=story(), x=story())
elicit(y, 8)
reward(xed(s | y) - xed(t | y))
reward(xed(x | y) - xed(t | y))
"""


def prune_text(text: str, registers: frozenset[str] = frozenset()) -> str:
    program = xgl.parse(text.strip(), "xent")
    return xgl.to_text(xgl.Program(prune(program.instructions, registers), "xent"))


def test_a_story_that_no_reward_speaks_of_stays_in_view() -> None:
    without_last = "\n".join(ENDS.strip().splitlines()[:-1])
    assert prune_text(without_last).splitlines()[0] == "assign(s=story(), t=story(), x=story())"


def test_a_story_that_no_move_sees_goes_with_the_term_about_it() -> None:
    text = "assign(s=story())\nelicit(x, 8)\nassign(t=story())\nreward(xed(s | x))"
    assert "t=" not in prune_text(text)


def test_what_is_read_stays() -> None:
    assert prune_text(ENDS) == xgl.to_text(xgl.parse(ENDS.strip(), "xent"))


def test_a_chain_of_values_that_nothing_reads_goes_whole() -> None:
    text = """
assign(s=story())
assign(t=s+"and")
assign(x=t+"so")
elicit(y, 8)
reward(xed(s | y))
"""
    assert len(prune_text(text).splitlines()) == 3


def test_moves_stay_though_nothing_reads_them() -> None:
    text = "assign(s=story())\nelicit(x, 8)\nelicit(y, 8)\nreward(xed(s | y))"
    assert "elicit(x, 8)" in prune_text(text)


@pytest.mark.parametrize("registers", [frozenset({"t"}), frozenset({"t", "z"})])
def test_what_the_parent_left_unread_is_kept(registers: frozenset[str]) -> None:
    text = 'assign(s=story(), t="once")\nelicit(y, 8)\nreward(xed(s | y))'
    lines = xgl.parse(text, "xent").instructions
    assert unread_registers(lines) == {"t"}
    assert prune(lines, registers) == lines
    assert "t=" not in prune_text(text)
