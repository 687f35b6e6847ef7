"""What a Xent Measure says of a model: the histogram of its normalised scores (Def. 43)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archive.derive.intervals import Interval, Scores

STATISTICS = ("mean", "median", "lower quartile", "upper quartile")


@dataclass(frozen=True)
class Measure:
    """μ of one model: ``values`` (n,) one normalised score a game; ``edges`` (bins + 1,) and
    ``counts`` (bins,) of their histogram; the ``statistics`` by name, with intervals."""

    values: Scores
    edges: Scores
    counts: Scores
    statistics: Mapping[str, Interval]


def measure(values: Scores, draws: Scores, edges: Scores, confidence: float) -> Measure:
    """From normalised scores (n,) and, for each game, bootstrap draws of its own over maps
    (n, resamples): the intervals resample the games and, within each, its maps."""
    chance = np.random.default_rng(2)
    games = chance.integers(len(values), size=(draws.shape[1], len(values)))
    resampled = draws[games, np.arange(draws.shape[1])[:, None]]
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    found = {}
    for name, plain, spread in zip(
        STATISTICS, _statistics(values[None])[0], _statistics(resampled).T, strict=True
    ):
        low, high = np.quantile(spread, tails)
        found[name] = Interval(float(plain), float(low), float(high))
    return Measure(values, edges, np.histogram(values, edges)[0].astype(float), found)


def common_edges(values: Sequence[Scores], bins: int = 12) -> Scores:
    """Edges (bins + 1,) of histograms that can be laid side by side, 0 among what they span."""
    every = np.concatenate([*values, np.zeros(1)])
    low, high = float(every.min()), float(every.max())
    return np.linspace(low, high if high > low else low + 1, bins + 1)


def _statistics(values: Scores) -> Scores:
    """(…, n) scores to (…, 4): mean, median and quartiles."""
    quartiles = np.quantile(values, (0.5, 0.25, 0.75), axis=-1)
    return np.stack([values.mean(axis=-1), *quartiles], axis=-1)
