"""The path through a program: flags, loops, their counters and the cap."""

from __future__ import annotations

import pytest

from xgl import parse
from xgl.errors import FlowError, ProgramError
from xgl.language.control_flow import path, unrolled_steps


def order(code: str) -> list[int]:
    """The lines in the order in which they run, from 1."""
    return [position + 1 for position in path(parse(code))]


@pytest.mark.parametrize(("times", "passes"), [(0, 1), (1, 2), (3, 4)])
def test_replay_jumps_at_most_n_times_then_goes_on(times: int, passes: int) -> None:
    code = f"elicit(s)\nbeacon(flag_1)\nelicit(t)\nreplay(flag_1, {times})\nelicit(x)"
    assert order(code) == [1, *[2, 3, 4] * passes, 5]


@pytest.mark.parametrize("flag", ["flag_1", "flag_2"])
def test_a_flag_that_was_never_placed_is_at_line_1(flag: str) -> None:
    assert order(f"elicit(s)\nelicit(t)\nreplay({flag}, 1)") == [1, 2, 3, 1, 2, 3]


def test_nested_replays_start_the_inner_one_again() -> None:
    code = "beacon(flag_1)\nbeacon(flag_2)\nelicit(s)\nreplay(flag_2, 2)\nreplay(flag_1, 1)"
    inner = [2, 3, 4] * 3
    assert order(code) == [1, *inner, 5, 1, *inner, 5]


def test_a_replay_above_its_beacon_goes_to_line_1_until_the_flag_stands() -> None:
    code = "elicit(s)\nreplay(flag_2, 1)\nbeacon(flag_2)\nelicit(t)\nreplay(flag_2, 1)"
    assert order(code) == [1, 2, 1, 2, 3, 4, 5, 3, 4, 5]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("beacon(flag_2)\nbeacon(flag_1)", 2),
        ("beacon(flag_1)\nbeacon(flag_2)\nbeacon(flag_1)", 3),
    ],
)
def test_flag_1_must_not_stand_after_flag_2(code: str, line: int) -> None:
    with pytest.raises(FlowError, match=f"^line {line}: flag_1 stands after flag_2$"):
        order(code)


def test_1024_steps_are_valid_and_one_more_is_not() -> None:
    body = "beacon(flag_1)\nreplay(flag_1, 510)\nelicit(s)\nelicit(t)"
    assert unrolled_steps(parse(body)) == len(order(body)) == 1024
    with pytest.raises(ProgramError, match=r"line 5, column 1: more than 1024 steps; expected at"):
        parse(body + "\nelicit(x)")
