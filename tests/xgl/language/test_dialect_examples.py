"""The differences that docs/reference/dialects.md shows between the released engine and the xent
dialect.

``tests/peer`` holds the same examples against that engine itself.
"""

from __future__ import annotations

import re

import pytest
from support.dialect_examples import PAGE, examples

from xgl import ProgramError, parse


@pytest.mark.parametrize("code", examples("refused"))
def test_an_example_of_what_we_refuse_is_refused(code: str) -> None:
    parse("elicit(y, 3)", "xent")
    with pytest.raises(ProgramError, match="line 2, column "):
        parse(f"elicit(y, 3)\n{code}", "xent")


@pytest.mark.parametrize("code", examples("played"))
def test_an_example_of_what_we_play_is_valid(code: str) -> None:
    assert len(parse(f"elicit(y, 3)\n{code}", "xent").instructions) == 2


def test_what_the_wheel_alone_has_is_refused() -> None:
    page = PAGE.read_text(encoding="utf-8")
    replays = re.findall(r"`(replay\(flag_1, [^`]+)`", page.partition("* *`replay`.*")[2])
    assert len(replays) == 4
    for code in (*replays, 'assign(l=generate_list("names of colours", 3))'):
        with pytest.raises(ProgramError, match="line 3, column "):
            parse(f"elicit(y, 3)\nbeacon(flag_1)\n{code}", "xent")


def test_the_tables_are_read_whole() -> None:
    """A form of the table that the helper cannot read would leave it without examples."""
    assert len(examples("refused")) >= 66
    assert len(examples("played")) >= 15
