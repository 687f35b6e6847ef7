"""The score cache: scores come back as they were, the last used ones, within the byte limit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xgl.judge.caches import ENTRY_BYTES, ScoreCache
from xgl.lm.prefix_sharing import ScoredSequence


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 400))), st.integers(0, 5000))
def test_never_more_bytes_than_the_limit(puts: list[tuple[int, int]], limit: int) -> None:
    cache = ScoreCache(limit)
    for token, length in puts:
        cache.put(ScoredSequence((token, 1), 1), (0.5,) * length)
        assert cache.bytes <= limit


def test_what_was_used_last_stays() -> None:
    cache = ScoreCache(3 * (ENTRY_BYTES + 100))
    first, second, third, fourth = (ScoredSequence((token, 1), 1) for token in range(4))
    for each in (first, second, third):
        cache.put(each, (1.0,))
    assert cache.known([first])[0] == {first: (1.0,)}
    cache.put(fourth, (1.0,))
    known, new, counts = cache.known([first, second, third, fourth, first])
    assert (list(known), new) == ([first, third, fourth], [second])
    assert (counts.requested, counts.duplicates, counts.cached) == (5, 1, 3)


def test_scores_come_back_as_they_were() -> None:
    cache = ScoreCache(10_000)
    sequence, bits = ScoredSequence((1, 2, 3), 2), (0.1 + 0.2, 7.25)
    exact = tuple(float(np.float32(bit)) for bit in bits)
    cache.put(sequence, exact)
    other = ScoredSequence((1, 2, 3), 1)
    assert cache.known([sequence, other])[:2] == ({sequence: exact}, [other])
    assert cache.bytes > 0
    cache.clear()
    assert cache.known([sequence])[1] == [sequence]
    assert cache.bytes == 0
