"""The Xent Measure of a model and its change with the scope (Def. 43, 47; Remarks 44, 51).

μ_Γ(M) = (1/|Γ|) Σ_{G∈Γ} δ_{S*_G(M)} is the histogram of the normalised scores over a family of
games, a cover or a whole scope; a repeated value counts as often as it occurs. Means, medians and
quantiles summarise it. Intervals are percentile bootstraps over the games of Γ: they cover the
choice of the games and, if each game's own bootstrap over its maps is given, the choice of maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archive.statistics.intervals import CONFIDENCE, Interval, Scores, bootstrapped

QUANTILES = (0.1, 0.25, 0.75, 0.9)


@dataclass(frozen=True)
class Histogram:
    """``counts`` (bins,) of scores between ``edges`` (bins + 1,); the last bin has both ends."""

    edges: Scores
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class XentMeasure:
    """Statistics of μ_Γ(M); every Interval is a statistic with its bootstrap bounds.

    ``quantiles``: by probability. All in the unit of the normalised score (1).
    """

    games: int
    histogram: Histogram
    mean: Interval
    median: Interval
    quantiles: Mapping[float, Interval]


def xent_measure(
    scores: Scores,
    bins: int | Scores = 10,
    confidence: float = CONFIDENCE,
    draws: int = 2000,
    seed: int = 0,
    over_maps: Scores | None = None,
) -> XentMeasure:
    """The measure of normalised ``scores`` (games,) float64, all finite, at least one.

    ``bins``: number of bins, or the histogram's edges. Bounds are two-sided at ``confidence`` from
    ``draws`` bootstrap samples of the games, or, with ``over_maps`` (games, draws), the bootstrap
    scores of each game, from samples of games and maps. Raises ValueError if a score is missing.
    """
    scores = np.asarray(scores, np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise ValueError(f"found scores {scores}, expected a finite one for each of some games")
    counts, edges = np.histogram(scores, bins)
    draws = draws if over_maps is None else over_maps.shape[1]
    indices = np.random.default_rng(seed).integers(0, len(scores), (draws, len(scores)))
    samples = (
        scores[indices] if over_maps is None else over_maps[indices, np.arange(draws)[:, None]]
    )
    mean = bootstrapped(float(scores.mean()), samples.mean(axis=1), confidence)
    quantiles = {
        level: bootstrapped(
            float(np.quantile(scores, level)), np.quantile(samples, level, axis=1), confidence
        )
        for level in (0.5, *QUANTILES)
    }
    median = quantiles.pop(0.5)
    return XentMeasure(len(scores), Histogram(edges, counts), mean, median, quantiles)


def common_edges(scores: Sequence[Scores], bins: int = 12) -> Scores:
    """Edges (bins + 1,) of comparable histograms, whose range includes 0."""
    every = np.concatenate([*scores, np.zeros(1)])
    low, high = float(every.min()), float(every.max())
    return np.linspace(low, high if high > low else low + 1, bins + 1)


def wasserstein(one: Scores, other: Scores) -> float:
    """1-Wasserstein distance of two measures: the mean shift of a score, in its unit."""
    values = np.concatenate([one, other])
    order = np.sort(values)
    below = [
        np.searchsorted(np.sort(sample), order[:-1], "right") / len(sample)
        for sample in (one, other)
    ]
    return float((np.abs(below[0] - below[1]) * np.diff(order)).sum())
