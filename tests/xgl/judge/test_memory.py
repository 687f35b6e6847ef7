"""Bounded memories: what was used last stays, and no more bytes than allowed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xgl.judge.prefix_tree import Row
from xgl.judge.score_memory import SLOT_BYTES, Bounded, ScoreMemory


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 400))), st.integers(0, 2000))
def test_never_more_bytes_than_the_limit(puts: list[tuple[int, int]], limit: int) -> None:
    kept: Bounded[int] = Bounded(limit, lambda value: value)
    for key, value in puts:
        kept.put(key, value)
        assert kept.bytes <= limit
        held = [(each, kept.get(each)) for each in kept.held()]
        assert kept.bytes == sum(kept._size(each, found) for each, found in held if found)


def test_what_was_used_last_stays() -> None:
    kept: Bounded[str] = Bounded(3 * (SLOT_BYTES + 150), lambda value: 100)
    for key in "abc":
        kept.put(key, key)
    assert kept.get("a") == "a"
    kept.put("d", "d")
    assert kept.held() == ["c", "a", "d"]


def test_scores_come_back_as_they_were() -> None:
    memory = ScoreMemory(10_000)
    row, bits = Row((1, 2, 3), 2), (0.1 + 0.2, 7.25)
    exact = tuple(float(np.float32(bit)) for bit in bits)
    memory.put(row, exact)
    assert memory.get(row) == exact
    assert memory.get(Row((1, 2, 3), 1)) is None
    assert memory.bytes > 0
    memory.clear()
    assert memory.get(row) is None
    assert memory.bytes == 0
