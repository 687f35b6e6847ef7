"""Which calibrated games are worth a fine-tune: cheap filters before expensive ones
(docs/specification.md, "Scores and playability").

Everything is computed from rows that are archived already; a decision's columns hold the numbers,
so a filter can be applied again under another threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from archive import Reason
from archive.schema import SCRIPT_POLICY, SEARCH_POLICIES
from archive.statistics import rounds
from archive.statistics.intervals import UNDEFINED, Interval, two_sided
from archive.statistics.rounds import Playability, WellPosed
from archive.statistics.rule import Decision, bounds_columns
from evo.config.schema import PlayabilityConfig
from evo.jobs.evaluation import Row

FewShot = tuple[Playability, Interval]
"""Of repeated play by the base player: whether arms rises, and how far it is above the control."""
SEARCHED_MAPS = 8
"""Calibration maps on which random moves are tried at a time."""
UNLIKELY = tuple(each.removeprefix(SCRIPT_POLICY) for each in SEARCH_POLICIES)
"""Policies, after ``script:``, of the best and the median of the random moves on each map."""


def well_posed(rows: Sequence[Row]) -> WellPosed | None:
    """Well-posedness from calibration rows of ``scores``: two moves on each map, made for it and
    for the next map. None if no clipped score was computed."""
    if not rows or any(row["permuted_clipped_score"] is None for row in rows):
        return None
    scores = np.array([(row["score"], row["permuted_score"]) for row in rows])
    clipped = np.array([(row["clipped_score"], row["permuted_clipped_score"]) for row in rows])
    return rounds.best_kept(scores, clipped)


def likely_best(
    best: Sequence[Row], median: Sequence[Row], base: Sequence[Row]
) -> WellPosed | None:
    """Whether good play goes without improbable words, from rows of the best and the median of
    random moves on the same maps; a calibration play of ``base`` may be better on its map. None
    without a search."""
    if not best:
        return None
    own = {row["map_seed"]: row for row in base}
    tops = [
        max((row, own.get(row["map_seed"], row)), key=lambda each: float(each["raw_score"]))
        for row in best
    ]
    scores, clipped_scores, medians = (
        np.array([row[name] if np.isfinite(row["raw_score"]) else np.nan for row in rows])
        for rows, name in ((tops, "score"), (tops, "clipped_score"), (median, "score"))
    )
    return rounds.best_is_likely(scores, clipped_scores, medians)


def few_shot(rows: Sequence[Row], config: PlayabilityConfig, confidence: float) -> FewShot | None:
    """Few-shot results from a game's calibration rows of ``rounds``; None if there are none."""
    if not rows:
        return None
    own, control = rounds.series(rows)
    assert control is not None
    rises = rounds.increases_surely(own, config.few_shot_steps, confidence=confidence)
    return rises, rounds.above_control(own, control, two_sided(confidence))


def ill_posed(
    clipping: Iterable[WellPosed], config: PlayabilityConfig, confidence: float
) -> Decision | None:
    """The refusal of a game whose best moves, of one of the searches, clipping changes too often;
    None if it does not surely do."""
    for each in clipping:
        kept = np.array([each.stable_maps])
        _, [high] = rounds.clopper_pearson(kept, each.maps, 1 - confidence)
        if high < config.best_kept:
            detail = f"clipping keeps the best move on {each.stable_maps} of {each.maps} maps"
            return Decision(Reason.ILL_POSED, True, detail)
    return None


def not_few_shot(shot: FewShot | None, config: PlayabilityConfig) -> Decision | None:
    """The refusal of a game that is not shown to be playable in few-shot mode; None if it is."""
    least = 1 - config.few_shot_epsilon
    if shot and shot[0].low < least:
        low = shot[0].low
        detail = f"arms rises with probability {low:.2f} at least, expected {least:.2f}"
        return Decision(Reason.NOT_FEW_SHOT, True, detail)
    return None


def evidence_columns(
    clipping: Sequence[WellPosed], shot: FewShot | None
) -> dict[str, float | None]:
    """The columns of ``decisions`` that hold the filters' numbers."""
    rises, above = shot or (None, UNDEFINED)
    return {
        "best_kept": min((each.share for each in clipping), default=None),
        "few_shot_low": rises and rises.low,
        "few_shot_high": rises and rises.high,
        **bounds_columns("few_shot_above_control", above, high=False),
    }
