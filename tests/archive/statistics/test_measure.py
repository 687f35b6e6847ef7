"""The Xent Measure: what it counts, its intervals, and how far two of them lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from archive.statistics.measure import common_edges, wasserstein, xent_measure

samples = st.lists(st.floats(-10, 10), min_size=1, max_size=12).map(np.array)


def test_statistics_of_known_scores() -> None:
    measure = xent_measure(np.array([1.0, 2.0, 2.0, 3.0, 7.0]), bins=3)
    assert measure.games == 5
    assert (measure.mean.value, measure.median.value) == (3.0, 2.0)
    assert (measure.quantiles[0.25].value, measure.quantiles[0.75].value) == (2.0, 3.0)
    assert list(measure.histogram.counts) == [3, 1, 1]
    assert list(measure.histogram.edges) == [1, 3, 5, 7]


def test_bounds_of_the_mean_cover_it_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    hits = []
    for seed in range(300):
        measure = xent_measure(rng.normal(1, 1, 40), draws=300, seed=seed)
        hits.append(measure.mean.low <= 1 <= measure.mean.high)
    assert 0.88 <= np.mean(hits) <= 0.99


@settings(max_examples=50, deadline=None)
@given(one=samples, other=samples)
def test_the_distance_is_wassersteins(one: np.ndarray, other: np.ndarray) -> None:
    expected = stats.wasserstein_distance(one, other)
    assert wasserstein(one, other) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scores", [[], [1.0, float("nan")], [float("inf")]])
def test_a_missing_score_is_no_zero(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="expected a finite one"):
        xent_measure(np.array(scores))


def test_noise_of_the_scores_widens_the_bounds() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(2.0, 0.5, 12)
    sure, unsure = (
        scores[:, None] + np.zeros((12, 500)),
        scores[:, None] + rng.normal(0, 1, (12, 500)),
    )
    plain, noisy = (xent_measure(scores, over_maps=each) for each in (sure, unsure))
    assert plain.mean.value == noisy.mean.value == pytest.approx(scores.mean())
    assert noisy.mean.high - noisy.mean.low > plain.mean.high - plain.mean.low
    assert plain.mean.low == pytest.approx(xent_measure(scores, draws=500).mean.low)


def test_common_edges_span_every_score_and_nothing() -> None:
    edges = common_edges([np.array([1.0, 4.0]), np.array([-0.5])], bins=9)
    assert (len(edges), edges[0], edges[-1]) == (10, -0.5, 4.0)
    assert common_edges([np.zeros(2)])[-1] == 1.0
