"""Thresholds of narms (Def. 42) from the base player's repeated plays in the archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archive.run import Run
from archive.schema import BASE_POLICY, TaskId
from archive.statistics.rounds import thresholds
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import Game

_COLUMNS = ["map_seed", "play_seed", "round", "score"]


def base_thresholds(run: Run, game: Game, role: str) -> dict[str, Any] | None:
    """b, θ, m, what they rest on and the floor of unfinished plays; None if the run holds no
    repeated play of the base player on the game, or its arms never rose."""
    filters = [("policy_id", "=", BASE_POLICY), ("control", "=", False)]
    of_base = levels(run.rows_of(TaskId(game.game_id, role), "rounds", _COLUMNS, *filters))
    return of_base and {**of_base, "floor": base_floor(run, game, role)}


def base_floor(run: Run, game: Game, role: str) -> float:
    """The score of an unfinished play, in bits: the lowest finished score of the base player, minus
    a bit for each move token (docs/specification.md, "The floor"); of calibration plays if there
    are any."""
    filters = [("policy_id", "=", BASE_POLICY), ("outcome", "=", "finished")]
    rows = run.rows_of(TaskId(game.game_id, role), "scores", ["purpose", "score"], *filters)
    first = [row for row in rows if row["purpose"] == "calibration"] or rows
    lowest: float = min((row["score"] for row in first), default=0.0)
    return lowest - analyse(game.program, game.metadata, role).move_tokens


def levels(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The thresholds of rows of repeated play; samples that ended early are left out."""
    scores = _scores(rows)
    base = thresholds(scores) if scores.size else None
    if base is None:
        return None
    return {
        "b": base.b,
        "theta": base.theta,
        "m": base.m,
        "rounds": base.rounds,
        "maps": base.samples,
        "k_m": base.k_m,
        "policy": BASE_POLICY,
    }


def _scores(rows: Iterable[Mapping[str, Any]]) -> NDArray[np.float64]:
    """(N, K) float64 bits: a sample's rounds in order."""
    by_sample: dict[tuple[int, int], dict[int, float]] = {}
    for row in rows:
        sample = by_sample.setdefault((row["map_seed"], row["play_seed"]), {})
        sample[row["round"]] = row["score"]
    rounds = max((len(sample) for sample in by_sample.values()), default=0)
    whole = [sample for sample in by_sample.values() if len(sample) == rounds]
    return np.array([[sample[k] for k in sorted(sample)] for sample in whole], dtype=float)
