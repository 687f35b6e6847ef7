"""Repeated play: running maxima, score normalisation and few-shot playability
(docs/specification.md, "Scores and playability").

``scores`` is always an (N, K) float64 array in bits: N samples (a map seed and a play seed each), K
rounds on each of them. Sampling luck raises a running maximum, so every curve has a control, in
which the earlier rounds in the player's view come from other maps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from archive.statistics.intervals import CONFIDENCE, Interval, Scores, mean_interval

CLOSE = 1e-9
"""Relative difference up to which a running mean counts as equal to a threshold."""


def running_maxima(scores: Scores) -> Scores:
    """max_{j ≤ k} S_j of each sample: (N, K) bits from (N, K) bits."""
    return np.maximum.accumulate(scores, axis=1)


def arms(scores: Scores) -> Scores:
    """arms_{N,k}, the average running max score for k = 1..K: (K,) bits (Def. 33)."""
    return np.asarray(running_maxima(scores).mean(axis=0))


def above_control(scores: Scores, control: Scores, confidence: float) -> Interval:
    """arms_{N,K} of ``scores`` above that of ``control``, bits, with Student's interval over
    samples; both (N, K) of the same samples in the same order, N ≥ 2.

    The excess above 0 was learned from the map's earlier rounds: luck raises both equally.
    """
    difference = running_maxima(scores)[:, -1] - running_maxima(control)[:, -1]
    return mean_interval(difference, confidence)


@dataclass(frozen=True)
class ScoreLevels:
    """Levels b + jθ, j = 1..m, of the base player, which normalise a game's scores (Def. 42).

    ``b`` bits: the base's mean score at round 1. ``theta`` > 0 bits: (its arms at round K − b)/m.
    ``m``: number of increments. ``rounds``: K; ``samples``: N. ``k_m``: the first round at which
    its arms reached b + mθ; scores are normalised for at most k_m rounds.
    """

    b: float
    theta: float
    m: int
    rounds: int
    samples: int
    k_m: int

    def __post_init__(self) -> None:
        are_finite = math.isfinite(self.b) and 0 < self.theta < math.inf
        if not are_finite or self.m < 1 or not 1 < self.k_m <= self.rounds:
            raise ValueError(f"found {self}, expected finite b, θ > 0, m ≥ 1 and 1 < k_m ≤ rounds")

    @property
    def top(self) -> float:
        """b + mθ, bits: the highest level, which the base reached."""
        return self.b + self.m * self.theta


def thresholds(scores: Scores, m: int) -> ScoreLevels | None:
    """Levels from the base player's ``scores`` (N, K) bits; None if its arms never rose.

    As θ is chosen from round K, the base's arms never exceed b + mθ; a level counts as crossed when
    it is reached.
    """
    curve = arms(scores)
    b, last = float(curve[0]), float(curve[-1])
    if not last - b > CLOSE * max(1.0, abs(last)):
        return None
    samples, rounds = scores.shape
    k_m = int(np.argmax(curve >= last - CLOSE * max(1.0, abs(last)))) + 1
    return ScoreLevels(b, (last - b) / m, m, rounds, samples, k_m)


def narms(curve: Scores, levels: ScoreLevels, rounds: int) -> float:
    """The normalised score of Def. 42 after ℓ = ``rounds`` ≤ k_m rounds.

    ``curve`` (≥ ℓ,) bits is :func:`arms` of the measured player. Let τ be the last k ≤ ℓ with
    arms_k ≤ b + mθ. If τ = ℓ the score is (arms_ℓ − b)/θ, below 0 if the player is worse than the
    base at round 1. For a player faster than the base, 1 ≤ τ < ℓ, it is mℓ/τ if arms_τ is b + mθ
    exactly and, between the rounds τ and τ + 1, the affine interpolation; if arms_1 is already
    above, it is mℓ.
    """
    top = levels.top
    above = curve[:rounds] > top + CLOSE * max(1.0, abs(top))
    if above.all():
        return float(levels.m * rounds)
    tau = int(np.flatnonzero(~above)[-1]) + 1
    at = float(curve[tau - 1])
    if tau == rounds:
        return (at - levels.b) / levels.theta
    share = max(0.0, (top - at) / (float(curve[tau]) - at))
    return levels.m * rounds * ((1 - share) / tau + share / (tau + 1))


def series(rows: Sequence[Mapping[str, Any]]) -> tuple[Scores, Scores | None]:
    """Scores (N, K) of one player's rows on one game, in bits and in the order of the maps' seeds:
    its own and those of the control, None if none was played. Round 1 is its own control."""
    maps = sorted({(row["map_seed"], row["play_seed"]) for row in rows})
    rounds = max(row["round"] for row in rows)
    map_index = {key: index for index, key in enumerate(maps)}
    own, control = (np.full((len(maps), rounds), math.nan) for _ in range(2))
    for row in rows:
        at = map_index[row["map_seed"], row["play_seed"]], row["round"] - 1
        (control if row["control"] else own)[at] = row["score"]
    control[:, 0] = own[:, 0]
    return own, None if np.isnan(control).any() else control


def narms_draws(scores: Scores, levels: ScoreLevels, rounds: int) -> Scores:
    """:func:`narms` of 1,000 bootstrap samples of the maps, (1000,), given the levels.

    ``scores`` (N, K ≥ rounds) bits of the measured player. The resampling is the same at every
    call, so that players measured on the same maps have the same resamples.
    """
    draw = np.random.default_rng(1)
    highest = running_maxima(scores)[:, :rounds]
    resampled_maps = draw.integers(len(scores), size=(1000, len(scores)))
    return np.array([narms(highest[each].mean(axis=0), levels, rounds) for each in resampled_maps])


class Playability(NamedTuple):
    """Bounds of the probability that decides whether a game is playable in few-shot mode: it must
    be at least 1 − ε."""

    low: float
    high: float


def increases_surely(
    scores: Scores, m: int, samples: int | None = None, confidence: float = CONFIDENCE
) -> Playability:
    """(N, ε, m)-playable in few-shot mode (Def. 33)? How probably does arms over N samples increase
    strictly at each of the first m steps, "for a while"?

    ``scores`` (M, K) bits, K > m; ``samples`` is N (None: M). arms rises at a step exactly when
    some sample does, so a step at which one sample rises with probability r fails with
    probability (1 − r)^N. r has Clopper–Pearson bounds from M samples, all m of them together at
    ``confidence``; the union bound over steps gives ``low``, the worst step ``high``.
    """
    count = samples or len(scores)
    risen = (np.diff(running_maxima(scores), axis=1)[:, :m] > 0).sum(axis=0)
    error = (1 - confidence) / m
    low, high = clopper_pearson(risen, len(scores), error)
    least = max(0.0, 1.0 - float(((1 - low) ** count).sum()))
    return Playability(least, float((1 - (1 - high) ** count).min()))


def crosses_surely(scores: Scores, b: float, theta: float, m: int) -> Playability:
    """(N, ε, θ, m)-playable in few-shot mode (Def. 33)? How probably does arms over N samples first
    reach b + jθ at rounds k_1 < … < k_m?

    ``scores`` (N, K) bits. The probability is estimated by bootstrap over samples (Efron), with
    Clopper–Pearson bounds for the finite number of resamples; they do not cover the choice of the
    N samples. The resampling is the same at every call.
    """
    draw, resamples = np.random.default_rng(0), 2000
    levels = b + theta * np.arange(1, m + 1)
    levels = levels - CLOSE * np.maximum(1.0, np.abs(levels))
    highest = running_maxima(scores)
    successes = 0
    for _ in range(resamples):
        curve = highest[draw.integers(len(scores), size=len(scores))].mean(axis=0)
        first = (curve[:, None] < levels).sum(axis=0)  # rounds before each crossing
        successes += bool(first[-1] < len(curve) and (np.diff(first) > 0).all())
    low, high = clopper_pearson(np.array([successes]), resamples, 1 - CONFIDENCE)
    return Playability(float(low[0]), float(high[0]))


def clopper_pearson(hits: NDArray[np.int_], n: int, error: float) -> tuple[Scores, Scores]:
    """One-sided exact bounds of binomial shares, each at 1 − ``error``."""
    low = np.where(hits > 0, special.betaincinv(hits, n - hits + 1, error), 0.0)
    high = np.where(hits < n, special.betaincinv(hits + 1, n - hits, 1 - error), 1.0)
    return low, high


class WellPosed(NamedTuple):
    """``stable_maps``: number of ``maps`` on which ε-clipping keeps the best move found."""

    maps: int
    stable_maps: int

    @property
    def share(self) -> float:
        """Share of stable maps; 1 if no map had two different scores to compare."""
        return self.stable_maps / self.maps if self.maps else 1.0


def best_kept(scores: Scores, clipped_scores: Scores) -> WellPosed:
    """Whether optimal play stays the same if log P is clipped at log ε (Def. 30, ε-well-posed).

    ``scores`` and ``clipped_scores`` (maps, moves) bits: the same sampled moves of each map,
    without and with clipping. A map counts if its moves score differently; it is stable if no move
    scores more than its best move under clipping.
    """
    tops, most = scores.max(axis=1), clipped_scores.max(axis=1)
    differ = tops > scores.min(axis=1)
    best = np.where(scores == tops[:, None], clipped_scores, -np.inf).max(axis=1)
    stable = best >= most - CLOSE * np.maximum(1.0, np.abs(most))
    return WellPosed(int(differ.sum()), int((differ & stable).sum()))


def best_is_likely(scores: Scores, clipped_scores: Scores, median_scores: Scores) -> WellPosed:
    """Whether good play goes without improbable words (Def. 30, Remark 31).

    ``scores`` and ``clipped_scores`` (maps,) bits of the best move that a search found on each map,
    ``median_scores`` (maps,) of the median of random moves; NaN where none finished. A map counts
    if the best move leads; it is stable if what clipping takes from it is less than its lead.
    """
    leads = scores > median_scores
    stable = leads & (clipped_scores > median_scores)
    return WellPosed(int(leads.sum()), int(stable.sum()))
