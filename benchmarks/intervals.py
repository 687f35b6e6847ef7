"""How often intervals at 95 % hold the true value.

    python benchmarks/intervals.py [--trials 20000]

Samples of per-play gains are drawn from known laws; *mean* is Student's interval, C Fieller's for a
ratio of paired means, V the same for independent samples, C·γ that of the cross-ratio of two games
of which one was trained half as well as the other, and *high* says how often its upper bound alone
lies above the true value, which is to be 97.5 %. Where the denominator's mean is hardly above its
error, an interval is mostly refused (*undefined*) and the coverage is of the others.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archive.statistics.values.intervals import Interval, mean_interval, ratio_interval
from archive.statistics.values.intervals import unpaired_ratio_interval as unpaired
from archive.statistics.values.transfer_values import CrossGains

Noise = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]
CONFIDENCE, SHARE = 0.95, 0.6


@dataclass(frozen=True)
class Law:
    """How plays scatter, at unit variance, and the mean gain in units of a play's spread."""

    title: str
    noise: Noise
    signal: float


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    return rng.normal(size=shape)


def _skewed(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    return rng.exponential(size=shape) - 1


def _heavy(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    return rng.standard_t(4, size=shape) / 2**0.5


def _forfeits(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """One play in twenty ends at a floor far below."""
    sample = rng.normal(size=shape) - 4 * (rng.random(shape) < 0.05)
    return (sample + 0.2) / (1 + 16 * 0.05 * 0.95) ** 0.5


LAWS = [
    Law("normal, clear gain (0.75 spreads)", _normal, 0.75),
    Law("normal, small gain (0.3 spreads)", _normal, 0.3),
    Law("exponential, clear gain", _skewed, 0.75),
    Law("Student's t with 4 degrees, clear gain", _heavy, 0.75),
    Law("forfeits, clear gain", _forfeits, 0.75),
    Law("normal, no denominator (0.02 spreads)", _normal, 0.02),
]


def row(law: Law, plays: int, trials: int, rng: np.random.Generator) -> list[str]:
    """Coverage of the three intervals and the share of undefined ones."""
    counts = {name: [0, 0] for name in ("mean", "C", "V", "C·γ", "high")}
    for _ in range(trials):
        common, alone = law.noise(rng, (1, plays)), law.noise(rng, (3, plays))
        cross, own, other = (common + alone) / 2**0.5
        own, other, cross = own + law.signal, other + law.signal, cross + SHARE * law.signal
        _count(counts["mean"], mean_interval(own, CONFIDENCE), law.signal)
        _count(counts["C"], ratio_interval(cross, own, CONFIDENCE), SHARE)
        fresh = law.noise(rng, (1, plays))[0] + law.signal
        _count(counts["V"], unpaired(cross, fresh, CONFIDENCE), SHARE)
        ratio = _cross_gains(law, plays, rng).ratio(CONFIDENCE)
        _count(counts["C·γ"], ratio, SHARE)
        _count(counts["high"], Interval(ratio.value, SHARE, math.inf), ratio.high)
    shares = [f"{good / max(1, of):.1%}" for good, of in counts.values()]
    return [law.title, str(plays), *shares, f"{1 - counts['C'][1] / trials:.1%}"]


def _cross_gains(law: Law, plays: int, rng: np.random.Generator) -> CrossGains:
    """Games 1 and 2, C = 2 and γ = 0.3: the fine-tune of game 2 learned half of what it could. The
    policies on one game share a part of their luck, and so do the games, which have their maps in
    common."""
    maps, games, alone = (law.noise(rng, (count, plays)) for count in (1, 2, 4))
    on_two, on_one = (
        maps / 2 + game / 2 + alone[k : k + 2] / 2**0.5
        for k, game in ((0, games[0]), (2, games[1]))
    )
    signal, half = law.signal, law.signal / 2
    return CrossGains(
        there=on_two[0] + 2 * half,
        there_own=on_two[1] + half,
        back=on_one[0] + SHARE * half,
        back_own=on_one[1] + signal,
    )


def _count(counts: list[int], interval: Interval, truth: float) -> None:
    if interval.defined:
        counts[0] += interval.low <= truth <= interval.high
        counts[1] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20000)
    arguments = parser.parse_args()
    titles = ["plays are", "plays", "mean", "C", "V", "C·γ", "C·γ high", "C undefined"]
    print("|", " | ".join(titles), "|\n" + "| --- " * len(titles) + "|")
    for law in LAWS:
        for plays in (32, 96, 192):
            rng = np.random.default_rng(plays)
            print("|", " | ".join(row(law, plays, arguments.trials, rng)), "|", flush=True)


if __name__ == "__main__":
    main()
