"""Processor seconds of covers: exact up to 400 games, then greedy. See docs/covers.md.

Games have twelve skills; what one teaches of another is the share of skills that they have in
common (the values of the toy model of §6.1.2).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from machine import describe_machine

from archive.statistics.covers.best_cover import best_cover


def toy_values(games: int, seed: int, skills: int) -> np.ndarray:
    """V (games, games): Σ_i min(g_i, g~_i)/|g~| of random games."""
    skill_vectors = np.random.default_rng(seed).gamma(0.5, 1.0, (games, skills))
    shared = np.zeros((games, games))
    for skill in skill_vectors.T:
        shared += np.minimum(skill[:, None], skill[None])
    return shared / skill_vectors.sum(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, nargs="+", default=[100, 300, 5000])
    parser.add_argument("--etas", type=float, nargs="+", default=[0.3, 0.6, 0.8])
    parser.add_argument("--skills", type=int, default=12)
    arguments = parser.parse_args()
    print(describe_machine())
    print("| games | η | processor s | cover | at least | Δ | Δ at most |\n" + "| --- " * 7 + "|")
    for games in arguments.games:
        values = toy_values(games, 0, arguments.skills)
        for eta in arguments.etas:
            start = time.process_time()
            cover = best_cover(values, eta)
            seconds = time.process_time() - start
            print(
                f"| {games:,} | {eta:g} | {seconds:.1f} | {len(cover.members)} | {cover.least} | "
                f"{cover.delta:.4f} | {cover.delta_bound:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
