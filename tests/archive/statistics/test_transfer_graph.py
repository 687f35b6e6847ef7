"""Components by paths (Def. 54), against paths found one by one."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.statistics.matrix import links

VALUES = st.lists(
    st.sampled_from([0.0, 0.2, 0.5, 0.9, math.nan, -math.inf]), min_size=16, max_size=16
)


def path(values: np.ndarray, alpha: float, source: int, target: int) -> bool:
    """Some sequence of different games in between, each link at least alpha."""
    between = [i for i in range(4) if i not in (source, target)]
    for length in range(len(between) + 1):
        for middle in permutations(between, length):
            steps = [source, *middle, target]
            if all(values[a, b] >= alpha for a, b in pairwise(steps)):
                return True
    return source == target


@given(VALUES, st.sampled_from([0.1, 0.5, 0.9]))
def test_components_are_what_paths_reach(numbers: list[float], alpha: float) -> None:
    values = np.array(numbers).reshape(4, 4)
    edges, paths = links(values, alpha)
    for i, j in np.ndindex(4, 4):
        assert paths[i, j] == path(values, alpha, i, j)
        assert edges[i, j] == (i != j and values[i, j] >= alpha)


def test_a_larger_threshold_reaches_less() -> None:
    values = np.array([[1, 0.6, 0, 0], [0, 1, 0.4, 0], [0, 0, 1, 0.8], [0.3, 0, 0, 1]])
    assert [links(values, alpha)[1][0].sum() for alpha in (0.3, 0.5, 0.7)] == [4, 2, 1]
    assert links(values, 0.3)[1].all()


def test_alpha_is_above_zero() -> None:
    with pytest.raises(ValueError, match="expected it above 0"):
        links(np.zeros((4, 4)), 0.0)
