"""Which calibrated games are worth a fine-tune: cheap filters before expensive ones
(docs/specification.md, "Scores and playability").

Everything is computed from rows that are archived already; a decision's columns hold the numbers,
so a filter can be applied again under another threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from archive import Reason
from archive.statistics.decision_rule import Answer, Decision
from archive.statistics.intervals import Interval
from archive.statistics.repeated_play import (
    Playability,
    WellPosed,
    above_control,
    best_kept,
    increases_surely,
)
from evo.config.schema import PlayabilityConfig
from evo.jobs.repeated_play import series

Row = dict[str, Any]


@dataclass(frozen=True)
class FewShot:
    """What repeated play by the base player showed of a game."""

    rises: Playability
    above: Interval


def well_posed(rows: Iterable[Row]) -> WellPosed | None:
    """From calibration rows of ``scores``: the two moves scored on each map, that made for it and
    that made for the next map. None where no clipped score was computed."""
    kept = list(rows)
    if not kept or any(row["permuted_clipped_score"] is None for row in kept):
        return None
    plain = np.array([(row["score"], row["permuted_score"]) for row in kept])
    clipped = np.array([(row["clipped_score"], row["permuted_clipped_score"]) for row in kept])
    return best_kept(plain, clipped)


def few_shot(rows: Sequence[Row], config: PlayabilityConfig, confidence: float) -> FewShot | None:
    """From a game's calibration rows of ``rounds``; None where there are none."""
    if not rows:
        return None
    rounds = series(rows)
    assert rounds.control is not None
    m, epsilon = config.few_shot_steps, config.few_shot_epsilon
    rises = increases_surely(rounds.own, m, epsilon, confidence=confidence)
    both = max(0.0, 2 * confidence - 1)  # each of the two bounds at ``confidence``
    return FewShot(rises, above_control(rounds.own, rounds.control, both))


def ill_posed(
    posed: WellPosed | None, config: PlayabilityConfig, confidence: float
) -> Decision | None:
    """The refusal of a game whose best moves clipping changes too often; None where it does not
    surely do."""
    if posed is None or not posed.maps:
        return None
    n, kept = posed.maps, posed.stable_maps
    high = 1.0 if kept == n else float(special.betaincinv(kept + 1, n - kept, confidence))
    if high >= config.best_kept:
        return None
    return Decision(Reason.ILL_POSED, True, f"clipping keeps the best move on {kept} of {n} maps")


def not_few_shot(shot: FewShot | None, config: PlayabilityConfig) -> Decision | None:
    """The refusal of a game that is not established to be playable in few-shot mode; None if it
    is."""
    if shot is None:
        return None
    if shot.rises.answer is not Answer.YES:
        detail = (
            f"arms rises with probability {shot.rises.low:.2f} at least, expected "
            f"{1 - config.few_shot_epsilon:.2f}"
        )
        return Decision(Reason.NOT_FEW_SHOT, True, detail)
    if config.few_shot_above_control and shot.above.low <= 0:
        detail = f"{shot.above.value:.2f} bits above the control"
        return Decision(Reason.FEW_SHOT_LUCK, True, detail)
    return None


def evidence_columns(posed: WellPosed | None, shot: FewShot | None) -> dict[str, float | None]:
    """The columns of ``decisions`` that hold what the filters saw."""
    return {
        "best_kept": posed.share if posed else None,
        "few_shot_low": shot.rises.low if shot else None,
        "few_shot_high": shot.rises.high if shot else None,
        "few_shot_above_control": shot.above.value if shot else None,
        "few_shot_above_control_low": shot.above.low if shot else None,
    }
