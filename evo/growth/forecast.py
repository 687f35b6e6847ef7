"""What is expected of a candidate: before any fine-tune on it from the scores of scripted players
and of the scope's fine-tunes (docs/specification.md, "The open-ended schedule"), before an
acceptance test from its plays so far.

The chance that a test accepts orders tests and says which are worth their plays; no verdict depends
on it. Every bound that a decision rests on is taken as normal, and all of them as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from archive.schema import DecisionRule
from archive.statistics.intervals import Interval
from archive.statistics.rule import Evidence, Looks, Thresholds

LIKELY_HELP = 0.7
"""Share of what scripts earn on a game of the scope that a candidate's best script must earn there,
for the candidate to be expected to help it."""
LIKELY_COVERED = 0.45
"""Share of the gain to be had on a candidate that a fine-tune of the scope already earns; from this
share on the candidate is expected to be covered."""
SECOND_LOOK_BELOW = 0.6
"""The same at the first look, whose plays are few: below this a second one is worth its plays."""
LEAST_WORTH = 1.0
"""Least denominator of these shares, bits a play."""


@dataclass(frozen=True)
class Forecast:
    """Two shares that predict the outcome for a candidate before it is fine-tuned. ``help``: gain
    of the candidate's best script on a game of the scope over that of the game's best script, the
    maximum over games. ``coverage``: largest gain of a fine-tune of the scope on the candidate over
    what there is to gain on it; a lower bound unless ``complete``, since not all of those that are
    forecast from played."""

    help: float = 1.0
    coverage: float = 0.0
    complete: bool = True

    @property
    def promising(self) -> bool:
        """Whether a fine-tune on it is worth its cost."""
        return self.help >= LIKELY_HELP and self.coverage < LIKELY_COVERED

    @property
    def deserves_second_look(self) -> bool:
        """Whether, after the first look, a second one is worth its plays."""
        return self.help >= LIKELY_HELP and self.coverage < SECOND_LOOK_BELOW

    @property
    def order(self) -> tuple[bool, float]:
        """Sort key, the smallest is examined first: candidates that seem to help come first, among
        them the least covered."""
        return self.help < LIKELY_HELP, self.coverage

    def __str__(self) -> str:
        bound = "" if self.complete else "at least "
        return f"expected help {self.help:.2f}, expected coverage {bound}{self.coverage:.2f}"


def expected_help(leads: Mapping[str, float], on_scope: Sequence[Mapping[str, float]]) -> float:
    """Gain of the candidate's best script on a game of the scope over the gain of the game's best
    script, the maximum over games: a player that learns the candidate learns what its best script
    does. ``leads``: mean gain over the base player on the candidate, bits a play, by script;
    ``on_scope``: the same for each game of the scope, of at least these scripts."""
    best = max(leads, key=leads.__getitem__)
    return max(each[best] / max(*each.values(), LEAST_WORTH) for each in on_scope)


def expected_coverage(leads: Iterable[float], scope_gains: Sequence[float]) -> float:
    """Largest gain on the candidate of a fine-tune of the scope (``scope_gains``), over the largest
    known gain on it: the maximum of ``scope_gains``, of the scripts' ``leads`` and of
    ``LEAST_WORTH``. All in bits a play."""
    return max(scope_gains) / max(*leads, *scope_gains, LEAST_WORTH)


def power(evidence: Evidence, thresholds: Thresholds, test: Looks, is_fresh: bool = False) -> float:
    """The chance that a test accepts at its last look: those of its bounds, multiplied.

    If the plays of the evidence go on up to there: the conditional power of each bound that is
    still open, at its estimate (Spiegelhalter, Freedman and Blackburn 1986, Monitoring clinical
    trials: conditional or predictive power?, Controlled Clinical Trials 7). ``is_fresh``, on fresh
    plays after a selection: the predictive power, as uncertain as the selection left it; bounds
    that were decided before its last look count as if they were from it."""
    if evidence.looks is None:
        return 0.0
    now, then = (
        float(stats.norm.ppf(each.confidence(each.plays[-1]))) for each in (evidence.looks, test)
    )
    ratio, chance = test.plays[-1] / evidence.looks.plays[-1], 1.0
    for interval, bar in _bounds(evidence, thresholds):
        if interval.low >= bar and not is_fresh:
            continue
        if interval.value is None or not math.isfinite(interval.low):
            return 0.0
        spread = (interval.value - interval.low) / now
        later = spread / math.sqrt(ratio)
        if spread <= 0:
            score = math.copysign(math.inf, interval.value - bar)
        elif is_fresh:
            score = (interval.value - bar - then * later) / math.hypot(spread, later)
        else:
            # conditional power: a share 1/ratio of the plays is known
            score = (interval.value - bar - then * later) / (later * math.sqrt(1 - 1 / ratio))
        chance *= float(stats.norm.cdf(score))
    return chance


def _bounds(evidence: Evidence, thresholds: Thresholds) -> list[tuple[Interval, float]]:
    """Pairs (interval, bar): an acceptance needs the lower bound of each interval above its bar.
    Conditions on upper bounds are negated."""
    above = [(evidence.own.gain, 0.0), (evidence.value(thresholds), thresholds.alpha1)]
    below = [*evidence.scope_values.values()]
    if thresholds.rule is not DecisionRule.VALUES:
        above += [(evidence.own.total, 0.0), (evidence.help_gain, 0.0)]
        below += evidence.ratios
    for each in below:
        negative = None if each.value is None else -each.value
        above.append((Interval(negative, -each.high, -each.low), thresholds.alpha2 - 1))
    return above
