"""Rows from rounds: levels of the base player and normalised scores of the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from archive.schema import PlayOutcome
from archive.statistics.intervals import Scores, percentile_bounds
from archive.statistics.rounds import (
    Playability,
    ScoreLevels,
    above_control,
    arms,
    crosses_surely,
    narms,
    narms_draws,
    thresholds,
)
from evo.jobs.repeated_play import Row, Series, series
from evo.measure.folder import MeasureGame

MOVE_COUNTS = ("failed_ensures", "format_failures", "cut_moves", "cut_tokens")
"""Columns of ``rounds`` and ``measures`` that say how moves were made."""
EPSILON = 0.05
"""ε of (N, ε, θ, m); the bounds on the probability are archived, so another ε can be tried."""


Levels = tuple[ScoreLevels, str, Playability | None]
"""Normalisation of one game: its base player's levels, the base's name, and whether the game is
(N, ε, θ, m)-playable by it (None: its plays are not at hand)."""


def levels_of(rows: Sequence[Row], base: str, m: int) -> Levels | None:
    """Levels from the base player's rounds; None if its arms never rose."""
    own = series(rows).own
    levels = thresholds(own, m)
    if levels is None:
        return None
    return levels, base, crosses_surely(own, levels.b, levels.theta, m, EPSILON)


@dataclass(frozen=True)
class GameResult:
    """One player on one game after ``at_round`` rounds, ℓ; ``draws`` (resamples,) of its narms
    over maps."""

    policy: str
    member: MeasureGame
    levels: ScoreLevels
    series: Series
    at_round: int
    narms: float
    draws: Scores
    control: float | None

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Bounds of narms over maps, given the levels."""
        return percentile_bounds(self.draws, confidence)


def result(
    policy: str, member: MeasureGame, levels: ScoreLevels, rows: Sequence[Row]
) -> GameResult:
    """The normalised score of one player's rounds on one game."""
    plays = series(rows)
    at = min(levels.k_m, plays.own.shape[1])
    control = None if plays.control is None else narms(arms(plays.control), levels, at)
    score, draws = narms(arms(plays.own), levels, at), narms_draws(plays.own, levels, at)
    return GameResult(policy, member, levels, plays, at, score, draws, control)


def measures_row(
    result: GameResult,
    levels: Levels,
    rows: Sequence[Row],
    confidence: float,
    dollars: float | None,
) -> dict[str, Any]:
    """Row of the table ``measures``, but for the run's id."""
    (own, base, crosses), at, above = levels, result.at_round, None
    low, high = result.bounds(confidence)
    if (control := result.series.control) is not None:
        above = above_control(result.series.own[:, :at], control[:, :at], confidence)
    return {
        "policy_id": result.policy,
        "game_id": result.member.task.game_id,
        "role": result.member.task.role,
        "exported_game_id": result.member.origin,
        "base": base,
        **{name: getattr(own, name) for name in ("b", "theta", "m", "rounds", "k_m")},
        "maps": own.samples,
        "crosses_low": crosses.low if crosses else None,
        "crosses_high": crosses.high if crosses else None,
        "at_round": result.at_round,
        "floor": result.member.task.floor,
        "narms": result.narms,
        "narms_low": low,
        "narms_high": high,
        "confidence": confidence,
        "control_narms": result.control,
        "above_control": above.value if above else None,
        "above_control_low": above.low if above else None,
        "above_control_high": above.high if above else None,
        "forfeits": sum(row["outcome"] == PlayOutcome.FORFEIT for row in rows),
        **{name: sum(row[name] for row in rows) for name in MOVE_COUNTS},
        "tokens": sum(row["tokens"] for row in rows),
        "dollars": dollars,
        "seconds": sum(row["seconds"] for row in rows),
    }
