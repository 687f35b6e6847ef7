"""Confidence intervals for means and for ratios of means over evaluation seeds (SPEC §6).

All intervals are conditional on the adapters: they say how well the evaluation seeds pin a
value down, not how another training run would have come out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """``value`` with bounds; ``value`` is None where undefined, bounds are infinite where open."""

    value: float | None
    low: float
    high: float

    @property
    def defined(self) -> bool:
        return self.value is not None


UNDEFINED = Interval(None, -math.inf, math.inf)


def mean_interval(sample: Scores, confidence: float) -> Interval:
    """Student interval of a mean; ``sample`` (n,) float64, n ≥ 2."""
    mean, error = _mean_error(sample)
    reach = _t(confidence, len(sample)) * error
    return Interval(mean, mean - reach, mean + reach)


def ratio_interval(
    numerator: Scores, denominator: Scores, confidence: float, defined_at: float | None = None
) -> Interval:
    """Fieller's interval for mean(numerator)/mean(denominator), paired samples (n,) float64.

    Undefined where the denominator is not significantly above 0 (the lower bound of its two-sided
    interval at ``defined_at``, by default ``confidence``): a ratio to nothing is no value. Where
    it is significant at ``defined_at`` but not at ``confidence``, the bounds are infinite.
    Fieller, E. C. (1954), Some problems in interval estimation, JRSS B 16(2).
    """
    if len(numerator) != len(denominator):
        raise ValueError(f"{len(numerator)} numerators, {len(denominator)} denominators")
    n = len(numerator)
    covariance = np.cov(numerator, denominator, ddof=1) / n
    means = float(numerator.mean()), float(denominator.mean())
    return _fieller(means, covariance, _t(confidence, n), _t(defined_at or confidence, n))


def unpaired_ratio_interval(
    numerator: Scores, denominator: Scores, confidence: float, defined_at: float | None = None
) -> Interval:
    """Fieller's interval for a ratio of means of independent samples (n,), (m,)."""
    variances = (_mean_error(numerator)[1] ** 2, _mean_error(denominator)[1] ** 2)
    means = float(numerator.mean()), float(denominator.mean())
    n = min(len(numerator), len(denominator))
    return _fieller(means, np.diag(variances), _t(confidence, n), _t(defined_at or confidence, n))


def _fieller(
    means: tuple[float, float], covariance: Scores, t: float, t_defined: float
) -> Interval:
    """Roots of (a − θb)² = t²(v_aa − 2θ v_ab + θ² v_bb)."""
    a, b = means
    vaa, vab, vbb = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    error = math.sqrt(max(vbb, 0.0))
    if b <= t_defined * error or b <= 0:
        return UNDEFINED
    if b <= t * error:
        return Interval(a / b, -math.inf, math.inf)
    quadratic = b * b - t * t * vbb
    half = a * b - t * t * vab
    root = math.sqrt(max(half * half - quadratic * (a * a - t * t * vaa), 0.0))
    return Interval(a / b, (half - root) / quadratic, (half + root) / quadratic)


def _mean_error(sample: Scores) -> tuple[float, float]:
    if len(sample) < 2:
        raise ValueError(f"an interval needs at least 2 plays, found {len(sample)}")
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(len(sample)))


@lru_cache
def _t(confidence: float, n: int) -> float:
    """Two-sided Student quantile."""
    return float(stats.t.ppf(0.5 + confidence / 2, n - 1))
