"""Whether the base player can play a game at all, from its calibration plays
(docs/specification.md, "Calibration").

Checked before any fine-tuning: a game teaches nothing if it is never feasible, too often forfeited,
too long for the budget, or if all plays score the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from archive.schema import Reason
from archive.statistics.intervals import Scores, unfinished_rate
from archive.statistics.rule import Decision

REASONS = frozenset(
    {Reason.NEVER_FEASIBLE, Reason.FORFEIT_RATE, Reason.TOO_LONG, Reason.CONSTANT_SCORE}
)
"""Reasons for a refusal on calibration plays."""


@dataclass(frozen=True)
class Calibration:
    """The base player's calibration plays of one game: outcomes, player tokens of each play, scores
    with its own moves and with moves made for other maps, each (n,) float64 in bits."""

    outcomes: tuple[str, ...]
    tokens: tuple[int, ...]
    own: Scores
    permuted_scores: Scores


@dataclass(frozen=True)
class Limits:
    """Limits of a playable game: the largest share of unfinished plays, and of a fine-tuning the
    player ``tokens`` (0: no budget), ``plays`` in a gradient step, least number of steps that the
    tokens must pay for, and plays of its warm start, which gets at most half of the tokens."""

    max_forfeit_rate: float
    tokens: int
    plays: int
    min_steps: int
    warm_plays: int = 0


def refusal(calibration: Calibration, limits: Limits) -> Decision | None:
    """The refusal of a game that the base player cannot play; None if it can."""
    if "finished" not in calibration.outcomes:
        return Decision(Reason.NEVER_FEASIBLE, decided=True)
    rate, limit = unfinished_rate(list(calibration.outcomes)), limits.max_forfeit_rate
    if rate > limit:
        return Decision(Reason.FORFEIT_RATE, True, f"{rate:.2f} above {limit:.2f}")
    steps = affordable_steps(calibration, limits)
    if limits.tokens and steps < limits.min_steps:
        detail = (
            f"finetune.tokens pays for {steps} gradient steps, transfer.min_steps asks for "
            f"{limits.min_steps}"
        )
        return Decision(Reason.TOO_LONG, True, detail)
    own = calibration.own
    if not (own != calibration.permuted_scores).any() and not own.std() > 0:
        return Decision(Reason.CONSTANT_SCORE, decided=True)
    return None


def affordable_steps(calibration: Calibration, limits: Limits) -> int:
    """Number of gradient steps that a fine-tuning begins if plays stay as long as the base's."""
    play = sum(calibration.tokens) / len(calibration.tokens) if calibration.tokens else 0.0
    if not play:
        return 0
    remaining = limits.tokens - min(limits.warm_plays * play, limits.tokens / 2)
    return math.ceil(remaining / (limits.plays * play))


HEADROOM_BITS, HEADROOM_SHARE = 1.0, 0.1
"""A game has something to learn if this share of the base player's plays scores at least
``HEADROOM_BITS`` more on their own map than on another."""


def shows_headroom(calibration: Calibration) -> bool:
    """Whether enough calibration plays score more on their own map than on another."""
    is_finished = np.array([outcome == "finished" for outcome in calibration.outcomes])
    specific = (calibration.own - calibration.permuted_scores)[is_finished]
    return len(specific) > 0 and float((specific >= HEADROOM_BITS).mean()) >= HEADROOM_SHARE
