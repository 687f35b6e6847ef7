"""Gains and transfer values from one table of per-seed scores
(docs/specification.md, "Transfer")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from archive.schema import Definition, GainKind
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    Scores,
    mean_interval,
    ratio_interval,
    unpaired_ratio_interval,
)
from archive.statistics.plays import Plays


def gains(policy: Plays, base: Plays, kind: GainKind = GainKind.TOTAL) -> Scores:
    """Per-play gains (n,) of a policy over the base, bits, paired by seeds.

    Raises ``ValueError`` when the two were not played on the same seeds.
    """
    if not np.array_equal(policy.seeds, base.seeds):
        raise ValueError("a gain pairs plays of the same seeds, these are of different ones")
    return policy.kind(kind) - base.kind(kind)


def replicated_gains(
    policies: Sequence[Plays], base: Plays, kind: GainKind = GainKind.TOTAL
) -> Scores:
    """Gains of one fine-tune (n,), or of several under as many training seeds (R, n)."""
    samples = [gains(policy, base, kind) for policy in policies]
    return samples[0] if len(samples) == 1 else np.stack(samples)


@dataclass(frozen=True)
class TransferValues:
    """What fine-tuning on a source teaches about a target.

    ``captured`` is C = gain(G1→G2)/gain(G2→G2), ``def37`` is V = gain(G1→G2)/gain(G1→G1).
    """

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
    (R, n), (R, n), (R, m) over R training seeds, which V then takes for independent.

    Bounds hold at ``confidence``; whether a value is defined is asked at ``defined_at``, so that
    wider bounds make no value disappear. V is undefined where the source's own gains are unknown.
    """
    def37 = UNDEFINED
    if source_own is not None:
        def37 = unpaired_ratio_interval(cross, source_own, confidence, defined_at)
    return TransferValues(
        gain=mean_interval(cross, confidence),
        captured=ratio_interval(cross, target_own, confidence, defined_at),
        def37=def37,
    )


def specific_share(policies: Sequence[Plays], base: Plays) -> float | None:
    """Share of the mean gain that is about the map: specific gain over total gain.

    None where the total gain is not positive. 1 − share is the map-independent part.
    """
    total = float(replicated_gains(policies, base, GainKind.TOTAL).mean())
    if total <= 0:
        return None
    return float(replicated_gains(policies, base, GainKind.SPECIFIC).mean()) / total


def forfeit_rate(outcomes: list[str]) -> float:
    """Share of plays that did not finish."""
    return float(np.mean([outcome != "finished" for outcome in outcomes])) if outcomes else 0.0
