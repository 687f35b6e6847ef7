"""Scores of repeated play: rounds on one map with the earlier ones in view (paper §4.1.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from archive.statistics.intervals import Scores
from evo.jobs.evaluation import (
    ScoredPlay,
    Task,
    all_moves,
    floor_of,
    play_row,
    scored_play,
)
from xgl.runtime.lockstep import Round, rounds_shown
from xgl.runtime.requests import MoveCounts

Row = dict[str, Any]


@dataclass(frozen=True)
class RoundScore(ScoredPlay):
    """One play of a series, in bits; ``number`` counts from 1. ``control``: the rounds that it
    was shown, ``rounds_shown`` at least, came from another map."""

    number: int = 1
    control: bool = False
    rounds_shown: int = 0
    new_tokens: int = 0
    counts: MoveCounts = field(default_factory=MoveCounts)
    reason: str = ""
    """What was too large for an oversize play."""


def round_score(round_: Round, task: Task, most_bits: float | None, seconds: float) -> RoundScore:
    """What a round earned and cost; ``most_bits`` is −log₂ ε of the clipped scores."""
    play, role = round_.play, task.role
    return RoundScore(
        **vars(scored_play(task, round_.seeds, play, None, most_bits, seconds)),
        number=round_.number,
        control=round_.control,
        rounds_shown=rounds_shown(play, role),
        new_tokens=sum(move.new_tokens for move in all_moves(play, role)),
        counts=play.move_counts(role),
        reason=play.reason,
    )


def round_floor(plays: Sequence[tuple[int, str, float]], task: Task) -> float:
    """Score of an unfinished play of the game, from the base player's plays (round, outcome, bits):
    from those of round 1, before it saw other rounds; from those of all rounds if none of these
    finished, and 0 if none did (docs/specification.md, "The floor")."""
    first = [each for each in plays if each[:2] == (1, "finished")]
    return floor_of([play[1:] for play in first or plays], task)


def with_round_floor(score: RoundScore, floor: float) -> RoundScore:
    """The score, at least the floor, which an unfinished play counts as and one in which an answer
    held no move."""
    if score.outcome == "finished" and not score.counts.format_failures:
        return replace(score, score=max(score.score, floor))
    clipped_floor = None if score.clipped_score is None else floor
    return replace(score, score=floor, clipped_score=clipped_floor)


def round_rows(policy_id: str, task: Task, purpose: str, scores: Iterable[RoundScore]) -> list[Row]:
    """Rows of the table ``rounds``, without the run's id."""
    return [
        {
            **play_row(policy_id, task, purpose, each),
            "round": each.number,
            "control": each.control,
            "rounds_shown": each.rounds_shown,
            "new_tokens": each.new_tokens,
            "failed_ensures": each.counts.failed_ensures,
            "format_failures": each.counts.format_failures,
            "cut_moves": each.counts.cut_moves,
            "cut_tokens": each.counts.cut_tokens,
        }
        for each in scores
    ]


@dataclass(frozen=True)
class Series:
    """Scores of one player on one game, both (N, K) bits in the order of the maps' seeds: ``own``
    and ``control`` (None if none was played); ``clipped_scores`` as ``own``."""

    own: Scores
    control: Scores | None
    clipped_scores: Scores | None


def series(rows: Sequence[Row]) -> Series:
    """The arrays of one player's rows on one game. Round 1 is its own control."""
    maps = sorted({(row["map_seed"], row["play_seed"]) for row in rows})
    rounds = max(row["round"] for row in rows)
    map_index = {key: index for index, key in enumerate(maps)}
    own, control, clipped_scores = (np.full((len(maps), rounds), math.nan) for _ in range(3))
    for row in rows:
        at = map_index[row["map_seed"], row["play_seed"]], row["round"] - 1
        (control if row["control"] else own)[at] = row["score"]
        if row["clipped_score"] is not None and not row["control"]:
            clipped_scores[at] = row["clipped_score"]
    control[:, 0] = own[:, 0]
    return Series(
        own,
        None if np.isnan(control).any() else control,
        None if np.isnan(clipped_scores).any() else clipped_scores,
    )
