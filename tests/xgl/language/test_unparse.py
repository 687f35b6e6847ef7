"""Printing: what is parsed is printed in one spelling, what is printed is parsed again."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from support.programs import PROGRAMS

from xgl import Program, ProgramError, parse, to_text

QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(program=PROGRAMS)
def test_what_is_printed_parses_to_the_same_program(program: Program) -> None:
    assert parse(to_text(program), program.dialect) == program


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("assign(s=(t+x)+y)", "assign(s=t + x + y)"),
        ("assign(s=t+(x+y))", "assign(s=t + (x + y))"),
        ("assign(s=(t+x)//y)", "assign(s=(t + x) // y)"),
        ('assign(s="a" "b")', 'assign(s="ab")'),
        ("assign(s='\"\\n\\\\')", 'assign(s="\\"\\n\\\\")'),
        ('assign(s=story(""))', "assign(s=story())"),
        ("elicit(black, s, 10)", "elicit(s, 10)"),
        ("reveal(s, alice)", "reveal(alice, s)"),
        ("ensure(is_true('x'))", 'ensure("x")'),
        ("ensure(xent(s)<-(3-xent(t)))", "ensure(xent(s) < -3 + xent(t))"),
        ("reward(-(xent(s)-(nex(t)-xed(s|t))))", "reward(-xent(s) + nex(t) - xed(s | t))"),
    ],
)
def test_one_spelling(source: str, text: str) -> None:
    assert to_text(parse(source)) == text


def test_a_line_that_grows_in_print_is_measured_as_printed() -> None:
    longest = parse(f"""assign(s='{'"' * 990}')""")
    assert len(to_text(longest)) == 1992
    assert parse(to_text(longest)) == longest
    with pytest.raises(ProgramError, match="an instruction of 2012 characters; expected at most"):
        parse(f"""assign(s='{'"' * 1000}')""")


def test_longer_register_names_never_make_a_line_invalid() -> None:
    sums = _balanced_text(8, "s", "+")
    longer = _balanced_text(8, "s1", "+")
    assert len(longer) > 1.2 * len(sums)
    for source in (
        f"reveal(bob, {sums}, {'s, ' * 100}s)",
        f"reveal(bob, {longer}, {'s1, ' * 100}s1)",
    ):
        program = parse(source)
        assert parse(to_text(program)) == program


def _balanced_text(depth: int, leaf: str, operator: str) -> str:
    if depth == 0:
        return leaf
    half = _balanced_text(depth - 1, leaf, operator)
    return f"({half}{operator}{half})"
