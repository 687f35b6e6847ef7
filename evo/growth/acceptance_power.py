"""The chance that an acceptance test accepts, given the plays of a candidate so far.

It orders tests and says which are worth their plays; no verdict depends on it. Every bound that a
decision rests on is taken as normal, and all of them as independent.
"""

from __future__ import annotations

import math

from scipy import stats

from archive.schema import DecisionRule
from archive.statistics.intervals import Interval
from archive.statistics.rule import Evidence, Looks, Thresholds


def power(evidence: Evidence, thresholds: Thresholds, doubled_looks: Looks) -> float:
    """The chance that a test accepts if its plays continue to twice their number: the conditional
    power of each bound that is still open, at its estimate (Spiegelhalter, Freedman and Blackburn
    1986, Monitoring clinical trials: conditional or predictive power?, Controlled Clinical Trials
    7), multiplied."""
    if evidence.looks is None:
        return 0.0
    now, then = _quantile(evidence.looks), _quantile(doubled_looks)
    ratio = doubled_looks.plays[-1] / evidence.looks.plays[-1]
    bounds = _bounds(evidence, thresholds)
    return math.prod(
        _chance_if_continued(interval, bar, now, then, ratio) for interval, bar in bounds
    )


def first_power(evidence: Evidence, thresholds: Thresholds, test: Looks) -> float:
    """The chance that a test on fresh plays accepts at its last look, after a selection: the
    predictive power of each bound, as uncertain as the selection left it, multiplied. Bounds that
    were decided before the last look of the selection count as if they were from it."""
    if evidence.looks is None:
        return 0.0
    now, then = _quantile(evidence.looks), _quantile(test)
    ratio = test.plays[-1] / evidence.looks.plays[-1]
    bounds = _bounds(evidence, thresholds)
    return math.prod(_chance_if_fresh(interval, bar, now, then, ratio) for interval, bar in bounds)


def _quantile(looks: Looks) -> float:
    return float(stats.norm.ppf(looks.confidence(looks.plays[-1])))


def _bounds(evidence: Evidence, thresholds: Thresholds) -> list[tuple[Interval, float]]:
    """Pairs (interval, bar): an acceptance needs the lower bound of each interval above its bar.
    Conditions on upper bounds are negated."""
    above = [(evidence.own.gain, 0.0), (evidence.value(thresholds), thresholds.alpha1)]
    below = [*evidence.scope_values.values()]
    if thresholds.rule is not DecisionRule.VALUES:
        above += [(evidence.own.total, 0.0), (evidence.help_gain, 0.0)]
        below += evidence.ratios
    return above + [(_negative(interval), thresholds.alpha2 - 1) for interval in below]


def _negative(interval: Interval) -> Interval:
    return Interval(
        None if interval.value is None else -interval.value, -interval.high, -interval.low
    )


def _chance_if_continued(
    interval: Interval, bar: float, now: float, then: float, ratio: float
) -> float:
    """Probability that the lower bound is at least ``bar`` after ``ratio`` times the plays, the
    present ones included; 1 if it is already. ``now``, ``then``: normal quantiles of the bounds."""
    if interval.low >= bar:
        return 1.0
    if interval.value is None or not math.isfinite(interval.low):
        return 0.0
    spread = (interval.value - interval.low) / now / math.sqrt(ratio)
    return float(stats.norm.cdf((interval.value - bar) / spread - then))


def _chance_if_fresh(
    interval: Interval, bar: float, now: float, then: float, ratio: float
) -> float:
    """Probability that the lower bound is at least ``bar`` on ``ratio`` times as many fresh
    plays."""
    if interval.value is None or not math.isfinite(interval.low):
        return 0.0
    spread = (interval.value - interval.low) / now
    if spread <= 0:
        return float(interval.value >= bar)
    fresh = spread / math.sqrt(ratio)
    return float(stats.norm.cdf((interval.value - bar - then * fresh) / math.hypot(spread, fresh)))
