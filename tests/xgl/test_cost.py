"""Hostile programs end soon: the law that no text takes more than two seconds of processor time.

The bounds here are of processor time and far above what is measured; before its mend each of these
programs took longer by a factor of ten or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from xgl.language.dialects import DIALECTS

SECONDS = 2.0


@contextmanager
def bounded() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < SECONDS


def listed(first: int, count: int = 250) -> str:
    return ", ".join(f'"{index:03}"' for index in range(first, first + count))


REMOVALS = ", ".join(f"remove_common_words(t, {name})" for name in ("l", "l1", "l2") * 17)
COMPILED = "\n".join(
    [
        *(f"assign({name}=[{listed(250 * i)}])" for i, name in enumerate(("l", "l1", "l2"))),
        "elicit(t, 10)",
        "beacon(flag_1)",
        f"reveal({REMOVALS})",
        "replay(flag_1, 332)",
        "reward(xent(t))",
    ]
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_words_of_wide_lists_are_removed_in_one_pass(dialect: str, table: Any) -> None:
    """Three lists of 250 words, 51 removals a turn, 333 turns."""
    with bounded():
        table.play(COMPILED, "000 abc 251 def 502", dialect=dialect)
