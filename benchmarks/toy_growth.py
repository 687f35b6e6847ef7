"""Scope growth on toy games of many skills: what 100,000 candidates cost, by size of the scope.

    OMP_NUM_THREADS=1 python benchmarks/toy_growth.py [--scopes 250 500 …] [--threads 2]

Each row is one call of `evo.search.growth.grow` with an initial scope of random games and a budget
of candidates. α2 is such that no candidate is new: the scope keeps its size, and the γ of every
candidate is the largest of as many values. Prints a Markdown table, for docs/toy.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from machine import describe_machine, median

from evo.config.schema import GrowthSettings
from evo.experiments.toy.world import Neighbourhood, ToyGame, ToyOracle, random_games
from evo.search.growth import Place, grow

RADIUS = 2e-5
"""Small beside the games' entries, which are of the order of 1/d², so that draws stay in space."""


SKILLS = 64


@dataclass
class Counted:
    """The neighbourhood, and how many candidates it gave."""

    inner: Neighbourhood
    proposals: int = 0

    def propose(self, place: Place[ToyGame], scope: Sequence[ToyGame], n: int) -> list[ToyGame]:
        listed = self.inner.propose(place, scope, n)
        self.proposals += len(listed)
        return listed


def seconds(scope: int, candidates: int, threads: int, seed: int) -> tuple[float, float]:
    """Wall-clock and processor seconds of one growth that judges ``candidates`` against ``scope``
    games throughout."""
    games = random_games(np.random.default_rng(seed), scope, SKILLS)
    settings = GrowthSettings(
        alpha1=0.5,
        alpha2=0.5,
        generations=1,
        list_size=max(100, math.ceil(candidates / scope)),
        max_candidates=candidates,
    )
    sampler = Counted(Neighbourhood(RADIUS, seed))
    initial = [ToyGame.of(game) for game in games]
    start, worked = time.perf_counter(), time.process_time()
    *_, last = grow(initial, ToyOracle(threads), sampler, settings, seed)
    durations = time.perf_counter() - start, time.process_time() - worked
    if len(last) != scope or sampler.proposals != candidates:
        raise SystemExit(f"found {len(last)} games, {sampler.proposals} candidates")
    return durations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, nargs="+", default=[250, 500, 1000, 2000, 4000])
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    print(f"{describe_machine()}; {options.threads} threads for γ; medians of {options.repeats}\n")
    print("| games in the scope | seconds | processor seconds | against the row above |")
    print("| --- " * 4 + "|")
    before = None
    for scope in options.scopes:
        runs = [
            seconds(scope, options.candidates, options.threads, r) for r in range(options.repeats)
        ]
        wall, work_seconds = (median(each) for each in zip(*runs, strict=True))
        ratio = f"× {work_seconds / before:.2f}" if before else ""
        print(f"| {scope} | {wall:.1f} | {work_seconds:.1f} | {ratio} |", flush=True)
        before = work_seconds


if __name__ == "__main__":
    main()
