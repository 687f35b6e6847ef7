"""Confidence intervals for means and for ratios of means over evaluation seeds, and from them gains
and transfer values (docs/specification.md, "Intervals" and "Transfer").

With one training seed, intervals are conditional on the adapters: they cover the choice of
evaluation seeds, not that of the training seed. Over several training seeds they cover both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from archive.plays import Plays, Scores
from archive.schema import Definition, GainKind

CONFIDENCE = 0.95
"""Confidence of the intervals of studies and views; that of a decision is a setting of its run."""


@dataclass(frozen=True)
class Interval:
    """``value`` with bounds; ``value`` is None if undefined, a bound is infinite if open.
    ``plays``: number of evaluation seeds, 0 if unknown; it takes no part in comparisons."""

    value: float | None
    low: float
    high: float
    plays: int = field(default=0, compare=False)


UNDEFINED = Interval(None, -math.inf, math.inf)


def mean_interval(sample: Scores, confidence: float) -> Interval:
    """Student interval of a mean; ``sample`` (n,) float64, n ≥ 2, or (R, n) (see
    :func:`squared_reach`)."""
    mean, reach = float(sample.mean()), math.sqrt(squared_reach(sample, sample, confidence))
    return Interval(mean, mean - reach, mean + reach, sample.shape[-1])


def ratio_interval(
    numerator: Scores,
    denominator: Scores,
    confidence: float,
    defined_at: float | None = None,
    paired: bool = True,
) -> Interval:
    """Fieller's interval for mean(numerator)/mean(denominator), (n,) or (R, n) float64: samples of
    one shape, or independent ones if not ``paired``.

    Undefined if the denominator is not significantly above 0 (the lower bound of its two-sided
    interval at ``defined_at``, by default ``confidence``). If it is significant at ``defined_at``
    but not at ``confidence``, the bounds are infinite.
    Fieller, E. C. (1954), Some problems in interval estimation, JRSS B 16(2).
    """
    a, b = float(numerator.mean()), float(denominator.mean())
    plays = numerator.shape[-1]
    if mean_interval(denominator, confidence if defined_at is None else defined_at).low <= 0:
        return replace(UNDEFINED, plays=plays)
    # the roots of (a − θb)² = above − 2θ joint + θ² below
    fewest = min(plays, denominator.shape[-1])
    above = squared_reach(numerator, numerator, confidence, fewest)
    below = squared_reach(denominator, denominator, confidence, fewest)
    joint = squared_reach(numerator, denominator, confidence) if paired else 0.0
    quadratic, half = b * b - below, a * b - joint
    if quadratic <= 0:
        return Interval(a / b, -math.inf, math.inf, plays)
    root = math.sqrt(max(half * half - quadratic * (a * a - above), 0.0))
    return Interval(a / b, (half - root) / quadratic, (half + root) / quadratic, plays)


def squared_reach(one: Scores, other: Scores, confidence: float, fewest: int = 0) -> float:
    """Covariance of two means, times the square of Student's quantile: its root is half the length
    of the interval of a mean. Samples (n,) over plays, or (R, n) over training seeds × plays;
    ``fewest``: plays that the quantile is of, by default n.

    With one training seed the plays are the sample, and bounds are conditional on the adapters.
    With R > 1 both vary, a crossed layout with random rows and columns: the sum over both of the
    mean square over R·n, times the square of the quantile at its own degrees of freedom, R − 1 and
    n − 1. One quantile for the sum, at degrees of freedom estimated from both, would take a few
    seeds that are alike by chance for no luck at all. Graybill, F. A. and Wang, C. M. (1980),
    Confidence intervals on nonnegative linear combinations of variances, JASA 75.
    """
    n = one.shape[-1]
    if n < 2:
        raise ValueError(f"an interval needs at least 2 plays, found {n}")
    a, b = one - one.mean(), other - other.mean()
    t = _t(confidence, (fewest or n) - 1)
    if one.ndim == 1 or len(one) == 1:
        return t * t * float((a * b).sum()) / (n - 1) / n
    rows = len(one)
    t_rows = _t(confidence, rows - 1)
    by_row = t_rows * t_rows * float(a.mean(1) @ b.mean(1)) / (rows - 1) / rows
    return by_row + t * t * float(a.mean(0) @ b.mean(0)) / (n - 1) / n


def quantile_interval(sample: Scores, probability: float, confidence: float) -> Interval:
    """A quantile of ``sample`` (n,) with values of the sample as bounds, whatever its distribution:
    the number of values up to the true quantile is binomial. A bound is open if n is too small.
    David, H. A. and Nagaraja, H. N. (2003), Order statistics, §7.1."""
    from scipy import special  # slow to load

    n = len(sample)
    up_to = special.bdtr(np.arange(n + 1), n, probability)
    low = int((up_to[:n] <= (1 - confidence) / 2).sum())
    high = 1 + int((up_to < (1 + confidence) / 2).sum())
    ordered = [-math.inf, *np.sort(sample).tolist(), math.inf]
    return Interval(float(np.quantile(sample, probability)), ordered[low], ordered[high], n)


def percentile_bounds(draws: Scores, confidence: float) -> tuple[float, float]:
    """Two-sided bounds from a bootstrap's ``draws`` (B,); draws without a value are left out, and
    the interval is open if none is left."""
    finite = draws[np.isfinite(draws)]
    if not len(finite):
        return -math.inf, math.inf
    low, high = np.quantile(finite, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


def bootstrapped(value: float, draws: Scores, confidence: float) -> Interval:
    """A statistic with the percentile bounds of its ``draws`` (B,)."""
    return Interval(value, *percentile_bounds(draws, confidence))


def two_sided(confidence: float) -> float:
    """Confidence of the two-sided interval whose bounds each hold at ``confidence``."""
    return max(0.0, 2 * confidence - 1)


def bounds_at(interval: Callable[[float], Interval], low: float, high: float) -> Interval:
    """``interval``, a function of its two-sided confidence, with one-sided bounds of confidence
    ``low`` and ``high``."""
    lower = interval(two_sided(low))
    upper = lower if high == low else interval(two_sided(high))
    return replace(lower, high=upper.high)


def bonferroni(confidence: float, comparisons: int) -> float:
    """Confidence of each of several intervals that hold together at ``confidence``."""
    return 1 - (1 - confidence) / max(1, comparisons)


def _t(confidence: float, freedom: float) -> float:
    """Two-sided Student quantile."""
    from scipy import special  # slow to load, and a worker that plays needs none of it

    return float(special.stdtrit(freedom, 0.5 + confidence / 2))


def gains(policy: Plays, base: Plays, kind: GainKind = GainKind.TOTAL) -> Scores:
    """Per-play gains (n,) of a policy over the base, bits, paired by seeds. Raises ``ValueError``
    if the two were not played on the same seeds."""
    if not np.array_equal(policy.seeds, base.seeds):
        raise ValueError("a gain pairs plays of the same seeds, these are of different ones")
    return policy.kind(kind) - base.kind(kind)


def replicated_gains(policies: Sequence[Plays], base: Plays, kind: GainKind) -> Scores:
    """Gains of one fine-tune (n,), or of R fine-tunes under different training seeds (R, n)."""
    return over_seeds([gains(policy, base, kind) for policy in policies])


def over_seeds(gains: Sequence[Scores] | Scores) -> Scores:
    """Gains (R, n) of R fine-tunes under different training seeds; (n,) of one."""
    return gains[0] if len(gains) == 1 else np.stack(list(gains))


class TransferValues(NamedTuple):
    """Values of fine-tuning on a source for a target. ``captured`` is C = gain(G1→G2)/gain(G2→G2),
    ``def37`` is V = gain(G1→G2)/gain(G1→G1)."""

    gain: Interval
    captured: Interval
    def37: Interval

    def of(self, definition: Definition) -> Interval:
        """C or V."""
        return self.captured if definition == Definition.CAPTURED else self.def37


def transfer_values(
    cross: Scores,
    target_own: Scores,
    source_own: Scores | None,
    confidence: float,
    defined_at: float | None = None,
) -> TransferValues:
    """Values from per-play gains: source→target (n,), target→target (n,), source→source (m,), or
    (R, n), (R, n), (R, m) over R training seeds, which V assumes to be independent.

    Bounds hold at ``confidence``; whether a value is defined is tested at ``defined_at``, so that
    wider bounds make no value undefined. V is undefined if the source's own gains are unknown.
    """
    gain, def37 = mean_interval(cross, confidence), UNDEFINED
    captured = ratio_interval(cross, target_own, confidence, defined_at)
    if source_own is not None:
        def37 = ratio_interval(cross, source_own, confidence, defined_at, paired=False)
    return TransferValues(gain, captured, def37)


def cross_ratio(
    samples: Sequence[Scores], confidence: float, defined_at: float | None = None
) -> Interval:
    """The product of C in both directions: g(1→2)·g(2→1) / (g(2→2)·g(1→1)). A factor that scales
    all gains of a fine-tune cancels; the ratio is 1 for a copy, however badly trained.

    ``samples``: gains by play, (n,) or (R, n) over training seeds, bits, all on plays of the same
    seeds: 1→2, 2→2, 2→1, 1→1. Fieller's interval on the linear parts of both products (their
    jackknife pseudo-values to first order). Undefined if an own gain is not above 0, or the product
    of both not significantly at ``defined_at``. If both fine-tunes play the other game worse than
    the base, the product counts as negative.
    """
    there, there_own, back, back_own = samples
    if min(float(there_own.mean()), float(back_own.mean())) <= 0:
        return replace(UNDEFINED, plays=there.shape[-1])
    above = _product(there, back)
    if max(float(there.mean()), float(back.mean())) < 0:
        above = -above
    return ratio_interval(above, _product(there_own, back_own), confidence, defined_at)


def _product(one: Scores, other: Scores) -> Scores:
    """A sample whose mean is mean(one)·mean(other), and varies as that does (delta method)."""
    a, b = float(one.mean()), float(other.mean())
    return a * b + b * (one - a) + a * (other - b)
