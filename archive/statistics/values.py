"""Gains and transfer values from one table of per-seed scores
(docs/specification.md, "Transfer")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from archive.plays import Plays
from archive.schema import Definition, GainKind
from archive.statistics.intervals import (
    UNDEFINED,
    Interval,
    Scores,
    mean_interval,
    ratio_interval,
    unpaired_ratio_interval,
)


def gains(policy: Plays, base: Plays, kind: GainKind = GainKind.TOTAL) -> Scores:
    """Per-play gains (n,) of a policy over the base, bits, paired by seeds.

    Raises ``ValueError`` if the two were not played on the same seeds.
    """
    if not np.array_equal(policy.seeds, base.seeds):
        raise ValueError("a gain pairs plays of the same seeds, these are of different ones")
    return policy.kind(kind) - base.kind(kind)


def replicated_gains(
    policies: Sequence[Plays], base: Plays, kind: GainKind = GainKind.TOTAL
) -> Scores:
    """Gains of one fine-tune (n,), or of R fine-tunes under different training seeds (R, n)."""
    return over_seeds([gains(policy, base, kind) for policy in policies])


def over_seeds(gains: Sequence[Scores] | Scores) -> Scores:
    """Gains (R, n) of R fine-tunes under different training seeds; (n,) of one."""
    return gains[0] if len(gains) == 1 else np.stack(list(gains))


@dataclass(frozen=True)
class TransferValues:
    """Values of fine-tuning on a source for a target.

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
    (R, n), (R, n), (R, m) over R training seeds, which V assumes to be independent.

    Bounds hold at ``confidence``; whether a value is defined is tested at ``defined_at``, so that
    wider bounds make no value undefined. V is undefined if the source's own gains are unknown.
    """
    def37 = UNDEFINED
    if source_own is not None:
        def37 = unpaired_ratio_interval(cross, source_own, confidence, defined_at)
    return TransferValues(
        gain=mean_interval(cross, confidence),
        captured=ratio_interval(cross, target_own, confidence, defined_at),
        def37=def37,
    )


@dataclass(frozen=True)
class CrossGains:
    """Per-play gains between two games, (n,) or (R, n) over training seeds, bits, all on plays of
    the same seeds: of each fine-tune on the other's game and on its own."""

    there: Scores
    there_own: Scores
    back: Scores
    back_own: Scores

    def ratio(self, confidence: float, defined_at: float | None = None) -> Interval:
        """The product of C in both directions: g(1→2)·g(2→1) / (g(2→2)·g(1→1)). A factor that
        scales all gains of a fine-tune cancels; the ratio is 1 for a copy, however badly trained.

        Fieller's interval on the linear parts of both products (their jackknife pseudo-values to
        first order). Undefined if an own gain, or the product of both, is not significantly above 0
        at ``defined_at``. If both fine-tunes play the other game worse than the base, the product
        counts as negative.
        """
        there, back = float(self.there.mean()), float(self.back.mean())
        there_own, back_own = float(self.there_own.mean()), float(self.back_own.mean())
        if min(there_own, back_own) <= 0:
            return UNDEFINED
        above = _product(self.there, self.back)
        if max(there, back) < 0:
            above = -above
        below = _product(self.there_own, self.back_own)
        ratio = ratio_interval(above, below, confidence, defined_at)
        return replace(ratio, terms=((there, back), (there_own, back_own)))


def _product(one: Scores, other: Scores) -> Scores:
    """A sample whose mean is mean(one)·mean(other), and varies as that does (delta method)."""
    a, b = float(one.mean()), float(other.mean())
    return a * b + b * (one - a) + a * (other - b)


def unfinished_rate(outcomes: list[str]) -> float:
    """Share of plays that did not finish: forfeits and oversize plays."""
    return float(np.mean([outcome != "finished" for outcome in outcomes])) if outcomes else 0.0
