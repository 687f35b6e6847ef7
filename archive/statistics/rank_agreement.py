"""Whether two families of games rank the same models alike: Spearman's ρ, its interval, its null.

The interval resamples the games of both families (and the plays of games with counted wins), given
the models; the p-value permutes the models' order on one family.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from archive.statistics.intervals import CONFIDENCE, Scores

DRAWS = 4_000
MOST_EXACT = 8
"""Largest number of models whose orders are all enumerated."""
_TINY = 1e-9


@dataclass(frozen=True)
class RankAgreement:
    """ρ of the mean scores, its bounds, and the share of orders of the models with a ρ at least as
    far from 0. ``undefined_share``: share of draws without a ρ since one family had only ties;
    these are left out."""

    models: int
    rho: float
    low: float
    high: float
    p_value: float
    undefined_share: float


def spearman(left: Scores, right: Scores) -> float:
    """ρ of scores (models,) with mean ranks for ties; NaN if one side has only ties."""
    return float(_spearman_rows(left[None], right[None])[0])


def _spearman_rows(left: Scores, right: Scores) -> Scores:
    """ρ (n,) of each row of (n, models)."""
    middle = (left.shape[1] + 1) / 2
    a, b = rankdata(left, axis=1) - middle, rankdata(right, axis=1) - middle
    scale = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return np.where(scale > 0, (a * b).sum(1) / np.where(scale > 0, scale, 1), math.nan)


def rank_agreement(
    scores: Scores, wins: NDArray[np.int_], plays: NDArray[np.int_], confidence: float = CONFIDENCE
) -> RankAgreement:
    """Agreement over the models that both families have scored.

    ``scores`` (models, games) of one family, finite; ``wins`` and ``plays`` (models, games) of the
    other, plays ≥ 1. A model's score is its mean over games. Raises ValueError for fewer than
    three models.
    """
    models = len(scores)
    if models < 3:
        raise ValueError(f"found {models} models, expected at least 3")
    rates = wins / plays
    rho = spearman(scores.mean(1), rates.mean(1))
    draws = _spearman_rows(*_redrawn(scores, wins, plays))
    defined_draws = draws[np.isfinite(draws)]
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = np.quantile(defined_draws, tails) if len(defined_draws) else (math.nan, math.nan)
    p_value = _p_value(scores.mean(1), rates.mean(1), rho)
    return RankAgreement(
        models, rho, float(low), float(high), p_value, 1 - len(defined_draws) / DRAWS
    )


def _redrawn(
    scores: Scores, wins: NDArray[np.int_], plays: NDArray[np.int_]
) -> tuple[Scores, Scores]:
    """Mean scores (draws, models) on either family; all models have the same resampled games."""
    rng = np.random.default_rng(len(scores))
    score_games, win_games = scores.shape[1], wins.shape[1]
    score_means, rate_means = np.empty((2, DRAWS, len(scores)))
    for draw in range(DRAWS):
        some_scores = scores[:, rng.integers(score_games, size=score_games)]
        indices = rng.integers(win_games, size=win_games)
        counts = plays[:, indices]
        rates = rng.binomial(counts, wins[:, indices] / counts) / counts
        score_means[draw], rate_means[draw] = some_scores.mean(1), rates.mean(1)
    return score_means, rate_means


def _p_value(left: Scores, right: Scores, rho: float) -> float:
    """Two-sided p-value over all orders, or over ``DRAWS`` random ones."""
    if not math.isfinite(rho):
        return math.nan
    others = right[np.array(list(_orders(len(left))))]
    correlations = _spearman_rows(np.broadcast_to(left, others.shape), others)
    return float((np.abs(correlations) >= abs(rho) - _TINY).mean())


def _orders(models: int) -> Iterator[Sequence[int]]:
    if models <= MOST_EXACT:
        yield from permutations(range(models))
        return
    rng = np.random.default_rng(models)
    yield range(models)
    for _ in range(DRAWS - 1):
        yield rng.permutation(models).tolist()
