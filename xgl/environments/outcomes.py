"""The reward of one seat of a finished play, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from xgl.environments.rows import Row
from xgl.runtime.requests import Play

METRICS: Mapping[str, str] = {
    "score": "bits of the seat, at least the floor, which it is after a forfeit, in a play that "
    "outgrows a window, and where an answer held no move",
    "normalised": "the same in standard deviations above the base's mean; measured role only",
    "finished": "1 where the seat's play came to its end",
    "forfeit": "1 where the seat failed an ensure too often",
    "oversize": "1 where the play outgrew a window or a budget of tokens",
    "moves": "moves that it made, retries included",
    "failed_ensures": "moves that an ensure sent back",
    "format_failures": "moves that no answer held, played as empty ones",
    "cut_moves": "moves that were longer than their limit",
    "cut_tokens": "judge tokens cut off them",
}
"""Name and meaning of each metric."""


def seat_names(row: Row) -> tuple[str, ...]:
    """The players of a row's game, the measured role first."""
    return (row.role, *(name for name in row.players if name != row.role))


def metrics(
    row: Row, play: Play, player: str, normalise: bool = False
) -> tuple[float, dict[str, float]]:
    """The reward of a seat and its :data:`METRICS`, in bits unless their meaning says otherwise.

    ``normalise``: the reward of the measured role is its normalised score; that of other roles,
    whose base is not known, is in bits.
    """
    score, outcome = row.score(play, player), play.outcome_for(player)
    values = {"score": score} | {
        name: float(outcome == name) for name in ("finished", "forfeit", "oversize")
    }
    values |= {name: float(count) for name, count in asdict(play.move_counts(player)).items()}
    if player != row.role or row.base is None:
        return score, values
    values["normalised"] = row.base.normalise(score)
    return (values["normalised"] if normalise else score), values
