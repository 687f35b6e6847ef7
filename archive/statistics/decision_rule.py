"""The decision rule of scope growth under noise (docs/specification.md, "The decision rule").

A threshold is passed when the interval lies on its good side and failed when it lies on its
bad side; in between nothing is decided. γ is the largest of several values, so its bounds are
simultaneous over the scope (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from archive.schema import TaskId
from archive.statistics.intervals import UNDEFINED, Interval


class Answer(StrEnum):
    """Where an interval lies with respect to a threshold."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


@dataclass(frozen=True)
class Gamma:
    """γ with simultaneous bounds, and the game of the scope that attains it."""

    interval: Interval
    task_id: TaskId | None


def gamma(values: Mapping[TaskId, Interval]) -> Gamma:
    """γ = max over the scope; ``values`` are simultaneous intervals by game.

    Undefined values do not count for γ itself, but leave its upper bound open: what was not
    established was not excluded either.
    """
    defined = {key: value for key, value in values.items() if value.value is not None}
    if not defined:
        return Gamma(UNDEFINED, None)
    best = max(defined, key=lambda key: defined[key].value or -math.inf)
    low = max(value.low for value in defined.values())
    high = max(value.high for value in values.values())
    return Gamma(Interval(defined[best].value, low, high), best)


def helps(value: Interval, alpha1: float) -> Answer:
    """V_{G*}(G) ≥ α1? Open where it is undefined: that is no evidence against it either."""
    if value.low >= alpha1:
        return Answer.YES
    return Answer.NO if value.high < alpha1 else Answer.OPEN


def is_new(gamma: Gamma, alpha2: float) -> Answer:
    """γ ≤ 1 − α2? Open where γ is undefined or unbounded: newness wants evidence."""
    if gamma.interval.high <= 1 - alpha2:
        return Answer.YES
    return Answer.NO if gamma.interval.low > 1 - alpha2 else Answer.OPEN
