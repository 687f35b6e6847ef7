"""Diversity of programs: winnowing and its guarantee, Table 5, clusters against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from archive.statistics.programs import (
    highest,
    similarity,
    table_5,
    winnow,
)
from evo.ggbench.clusters import PRICE, select
from evo.ggbench.game import packaged_game, packaged_names

HASHES = st.lists(st.integers(0, 50), max_size=60)
MATRICES = arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 6)))


def test_the_example_of_the_papers_on_winnowing() -> None:
    hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    assert winnow(hashes, 4) == [17, 17, 8, 39, 17]


@given(HASHES, HASHES, st.lists(st.integers(0, 50), min_size=5, max_size=12))
def test_a_shared_stretch_as_long_as_the_window_leaves_a_shared_fingerprint(
    left: list[int], right: list[int], stretch: list[int]
) -> None:
    fingerprint_sets = [set(winnow([*before, *stretch], 5)) for before in (left, right)]
    assert fingerprint_sets[0] & fingerprint_sets[1]


@given(HASHES, HASHES)
def test_similarity_is_symmetric_and_a_share(left: list[int], right: list[int]) -> None:
    assert similarity(left, right) == similarity(right, left)
    assert 0 <= similarity(left, right) <= 1
    assert similarity(left, left) == (1.0 if left else 0.0)


def test_the_games_that_ship_are_different_programs() -> None:
    values = highest([packaged_game(name).source for name in packaged_names()])
    mean, sd, *quartiles = table_5(values)
    assert quartiles[-1] < 0.836, "the most alike pair of the paper's 126"
    assert quartiles == sorted(quartiles)
    assert (mean, sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)))


def brute_force(belongs: np.ndarray, count: int | None) -> float | None:
    """The least cost of any choice: uncovered texts, and the price of clusters where free."""
    texts, explanations = belongs.shape
    costs = []
    for size in range(explanations + 1) if count is None else [count]:
        for columns in combinations(range(explanations), size):
            cover_counts = belongs[:, list(columns)].sum(axis=1)
            if (cover_counts <= 1).all():
                costs.append(texts - cover_counts.sum() + (PRICE * size if count is None else 0))
    return min(costs, default=None)


@settings(max_examples=30, deadline=None)
@given(MATRICES, st.one_of(st.none(), st.integers(1, 3)))
def test_no_choice_of_clusters_is_better(belongs: np.ndarray, count: int | None) -> None:
    best = brute_force(belongs, count)
    if best is None:
        with pytest.raises(ValueError, match="share no text"):
            select(belongs, count)
        return
    columns = list(select(belongs, count))
    covered = belongs[:, columns].sum(axis=1)
    price = PRICE * len(columns) if count is None else 0
    assert len(belongs) - covered.sum() + price == pytest.approx(best)
    assert all(covered <= 1)
