"""From intervals to a verdict and its row: the pure end of a decision (SPEC §6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from archive import Purpose, Verdict
from archive.derive.decision import Answer, Gamma, helps, is_new
from archive.derive.intervals import UNDEFINED, Interval
from archive.derive.transfer import Definition, GainKind, Values

NO_VALUES = Values(UNDEFINED, UNDEFINED, UNDEFINED)
NO_GAMMA = Gamma(UNDEFINED, None)


@dataclass(frozen=True)
class Thresholds:
    """What a candidate is held against."""

    alpha1: float
    alpha2: float
    definition: Definition
    gain: GainKind


@dataclass(frozen=True)
class Evidence:
    """What was measured of one candidate.

    ``own`` and ``specific`` are gains on its own game (bits), ``share`` their ratio, ``values``
    what it teaches its parent, ``gamma`` what the scope teaches it. Parts that were not
    measured are undefined. ``confidence`` is that of each one-sided bound.
    """

    purpose: Purpose | None
    confidence: float
    own: Interval = UNDEFINED
    specific: Interval = UNDEFINED
    share: float | None = None
    values: Values = NO_VALUES
    gamma: Gamma = NO_GAMMA


@dataclass(frozen=True)
class Decision:
    """A verdict with its reason; ``decided`` says whether the intervals settled it."""

    verdict: Verdict
    reason: str
    decided: bool


def decide(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """The rule: α1 on the lower bound of what it gives its parent, 1 − α2 on γ's upper bound.

    A candidate whose own gain is not established has no defined C and is never accepted.
    """
    if evidence.own.low <= 0:
        return Decision(Verdict.UNDECIDED, "own gain not confirmed", False)
    useful = helps(evidence.values.of(thresholds.definition), thresholds.alpha1)
    new = is_new(evidence.gamma, thresholds.alpha2)
    if useful is Answer.NO:
        return Decision(Verdict.REFUSED, "does not help its parent", True)
    if new is Answer.NO:
        return Decision(Verdict.REFUSED, "covered by the scope", True)
    if useful is Answer.YES and new is Answer.YES:
        return Decision(Verdict.ACCEPTED, "helps and is new", True)
    open_question = "help to its parent" if useful is Answer.OPEN else "coverage"
    return Decision(Verdict.UNDECIDED, f"{open_question} not settled", False)


def decision_columns(
    decision: Decision, evidence: Evidence, thresholds: Thresholds, role: str
) -> dict[str, Any]:
    """The columns of the decisions table that hold numbers and verdict."""
    gamma = evidence.gamma
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "decided": decision.decided,
        "definition": thresholds.definition,
        "gain_kind": thresholds.gain,
        **_bounds("captured", evidence.values.captured),
        **_bounds("captured_def37", evidence.values.def37),
        **_bounds("gamma", gamma.interval),
        "gamma_game_id": gamma.game_id,
        "gamma_role": role if gamma.game_id else None,
        "alpha1": thresholds.alpha1,
        "alpha2": thresholds.alpha2,
        "confidence": evidence.confidence,
        "own_gain": evidence.own.value,
        "own_gain_low": _finite(evidence.own.low),
        "specific_gain": evidence.specific.value,
        "specific_gain_low": _finite(evidence.specific.low),
        "specific_share": evidence.share,
        "purpose": evidence.purpose,
    }


def _bounds(name: str, interval: Interval) -> dict[str, float | None]:
    return {
        name: interval.value,
        f"{name}_low": _finite(interval.low),
        f"{name}_high": _finite(interval.high),
    }


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
