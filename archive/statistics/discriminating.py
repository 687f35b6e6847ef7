"""The fewest games that tell models apart as a whole measure does (paper §5.5, (2)).

A model's score is the mean of its normalised scores over games. A subset keeps the measure if it
ranks the models alike, and if no model's score differs from that on all games by more than a share,
the tolerance, of the distance between the best and the worst model. This describes the models that
were measured: it may rank others differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from archive.statistics.intervals import Scores

MOST_SUBSETS = 1 << 20
"""Subsets of one size that are all tried; beyond, games are left out one by one."""


@dataclass(frozen=True)
class Discriminating:
    """Games ``members``, ascending indices; ``error``: the largest difference of a model's score,
    as a share of the distance between the best and the worst; ``gap``: the least difference of
    scores between models that all games tell apart. ``exact``: no smaller subset keeps the
    measure."""

    members: tuple[int, ...]
    error: float
    gap: float
    exact: bool


def discriminating_games(scores: Scores, tolerance: float) -> Discriminating:
    """The smallest subset of the games of ``scores`` (models, games) that keeps the measure; of
    several the one with the largest gap. Raises ValueError for scores of fewer than two models, or
    of equal ones, which no game tells apart."""
    if len(scores) < 2 or not np.isfinite(scores).all() or np.ptp(scores.mean(axis=1)) <= 0:
        raise ValueError("found no two models with different scores on all games")
    games = range(scores.shape[1])
    for size in range(1, len(games)):
        if math.comb(len(games), size) > MOST_SUBSETS:
            return _left_out(scores, tolerance)
        if found := _best(scores, combinations(games, size), tolerance):
            return _described(scores, found, True)
    return _described(scores, tuple(games), True)


def _best(scores: Scores, subsets: Iterable[tuple[int, ...]], tolerance: float) -> tuple[int, ...]:
    """The subset with the largest gap among those that keep the measure; empty without one."""
    kept = [each for each in subsets if _keeps(scores, each, tolerance)]
    return max(kept, key=lambda each: _described(scores, each, True).gap, default=())


def _keeps(scores: Scores, members: Sequence[int], tolerance: float) -> bool:
    found = _described(scores, members, True)
    return found.gap > 0 and found.error <= tolerance


def _described(scores: Scores, members: Sequence[int], exact: bool) -> Discriminating:
    whole, part = scores.mean(axis=1), scores[:, list(members)].mean(axis=1)
    error = float(np.abs(part - whole).max() / np.ptp(whole))
    above = whole[:, None] > whole[None]
    gap = float((part[:, None] - part[None])[above].min())
    return Discriminating(tuple(members), error, gap, exact)


def _left_out(scores: Scores, tolerance: float) -> Discriminating:
    """Games left out one by one, each time the one without which the gap is largest."""
    members = tuple(range(scores.shape[1]))
    while len(members) > 1:
        smaller = [tuple(m for m in members if m != out) for out in members]
        if not (found := _best(scores, smaller, tolerance)):
            break
        members = found
    return _described(scores, members, False)
