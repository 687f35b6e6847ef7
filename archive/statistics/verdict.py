"""From intervals to a verdict and its row: the pure end of a decision (docs/specification.md,
"The decision rule")."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from archive.schema import Definition, GainKind, Purpose, Reason, TaskId, Verdict
from archive.statistics.decision_rule import Answer, Gamma, gamma, helps, is_new
from archive.statistics.intervals import UNDEFINED, Interval
from archive.statistics.looks import Looks
from archive.statistics.transfer_values import TransferValues

NO_VALUES = TransferValues(UNDEFINED, UNDEFINED, UNDEFINED)


@dataclass(frozen=True)
class Own:
    """What fine-tuning on a game did for the game itself: its gain (bits) of the kind that
    decides, the specific gain (bits) and its share of the total, and the total (bits)."""

    gain: Interval = UNDEFINED
    specific: Interval = UNDEFINED
    share: float | None = None
    total: Interval = UNDEFINED


@dataclass(frozen=True)
class Thresholds:
    """What a candidate is held against."""

    alpha1: float
    alpha2: float
    definition: Definition
    gain: GainKind


@dataclass(frozen=True)
class Evidence:
    """What was measured of one candidate; what was not is undefined.

    ``own`` of its own game, ``values`` of what it teaches its parent, ``taught`` of what each
    game of the scope teaches it, simultaneous over the scope. ``looks`` says how sure
    each bound is; None where nothing was played.
    """

    purpose: Purpose | None = None
    looks: Looks | None = None
    own: Own = Own()
    values: TransferValues = NO_VALUES
    taught: Mapping[TaskId, Interval] = field(default_factory=dict)

    @property
    def gamma(self) -> Gamma:
        """γ over the games that were played, with bounds."""
        return gamma(self.taught)

    def value(self, thresholds: Thresholds) -> Interval:
        """What it teaches its parent, by the definition that decides."""
        return self.values.of(thresholds.definition)


@dataclass(frozen=True)
class Decision:
    """Why a candidate was accepted or not; ``decided`` says whether the intervals decided it,
    ``detail`` the numbers behind the reason where it has any."""

    reason: Reason
    decided: bool
    detail: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict that the reason stands for."""
        return self.reason.verdict

    def __str__(self) -> str:
        return self.reason if self.detail is None else f"{self.reason}: {self.detail}"


def decide(evidence: Evidence, thresholds: Thresholds) -> Decision:
    """The rule: α1 on the lower bound of what it gives its parent, 1 − α2 on γ's upper bound.

    A candidate whose own gain is not established has no defined C and is never accepted.
    """
    if evidence.own.gain.low <= 0:
        return Decision(Reason.OWN_GAIN_OPEN, decided=False)
    useful = helps(evidence.value(thresholds), thresholds.alpha1)
    new = is_new(evidence.gamma, thresholds.alpha2)
    if useful is Answer.NO:
        return Decision(Reason.NO_HELP, decided=True)
    if new is Answer.NO:
        return Decision(Reason.COVERED, decided=True)
    if useful is Answer.YES and new is Answer.YES:
        return Decision(Reason.NEW_AND_USEFUL, decided=True)
    reason = Reason.HELP_OPEN if useful is Answer.OPEN else Reason.COVERAGE_OPEN
    return Decision(reason, decided=False)


def decision_columns(
    decision: Decision, evidence: Evidence, thresholds: Thresholds, scope_size: int
) -> dict[str, Any]:
    """The columns of the decisions table that hold numbers and verdict."""
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "detail": decision.detail,
        "decided": decision.decided,
        "definition": thresholds.definition,
        "gain_kind": thresholds.gain,
        "alpha1": thresholds.alpha1,
        "alpha2": thresholds.alpha2,
        "confidence": 1 - evidence.looks.error if evidence.looks else None,
        "looks": list(evidence.looks.plays) if evidence.looks else [],
        "purpose": evidence.purpose,
        **value_columns(evidence, scope_size),
    }


def value_columns(evidence: Evidence, scope_size: int) -> dict[str, Any]:
    """Those of them that are computed from scores; γ looks at ``scope_size`` games."""
    most = evidence.gamma
    return {
        **_bounds("captured", evidence.values.captured),
        **_bounds("captured_def37", evidence.values.def37),
        **_bounds("gamma", most.interval),
        "gamma_game_id": most.task_id.game_id if most.task_id else None,
        "gamma_role": most.task_id.role if most.task_id else None,
        "scope_size": scope_size,
        "own_gain": evidence.own.gain.value,
        "own_gain_low": _finite(evidence.own.gain.low),
        "specific_gain": evidence.own.specific.value,
        "specific_gain_low": _finite(evidence.own.specific.low),
        "specific_share": evidence.own.share,
    }


def _bounds(name: str, interval: Interval) -> dict[str, float | None]:
    return {
        name: interval.value,
        f"{name}_low": _finite(interval.low),
        f"{name}_high": _finite(interval.high),
    }


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
