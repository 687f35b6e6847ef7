"""Equilibrium ratings: processor seconds, and what copies do to ranks. See docs/ratings.md.

``speed``: a large table to the limit, and resamples of a measure. ``copies``: copies of the
leader's worst game on fresh maps, simulated; on a real measure: ``near_copies.py``.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from machine import describe_machine

from archive.ratings.affinity import distances, kernel, target
from archive.ratings.bradley_terry import elo
from archive.ratings.evaluation_games import king_of_the_hill
from archive.ratings.leaderboard import copy_rule, leaderboard
from archive.ratings.logit_path import limiting_logit_equilibrium
from archive.ratings.near_copies import Copies
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, wins
from archive.ratings.rating import EquilibriumKind, ranks
from archive.ratings.simulations import (
    judged_preferences,
)
from archive.ratings.uncertainty import bootstrap


def speed(arguments: argparse.Namespace) -> None:
    """Of one table, and of resamples."""
    print("| what | processor s | beside |\n| --- | --- | --- |")
    table = judged_preferences(arguments.tasks, arguments.models, np.random.default_rng(0))
    game = king_of_the_hill(table)
    start = time.process_time()
    aims = [target(kernel(distances(game, player))) for player in game.players]
    middle = time.process_time()
    equilibrium = limiting_logit_equilibrium(game, aims)
    end = time.process_time()
    shape = " × ".join(map(str, game.shape))
    print(f"| targets of {shape} | {middle - start:.2f} | |")
    limit = f"limit of {shape}, {equilibrium.steps} steps"
    note = f"exploitability {equilibrium.exploitability:.0e}"
    print(f"| {limit} | {end - middle:.2f} | {note} |")
    random = np.random.default_rng(0)
    outcomes = [wins(_noisy_scores(random, random.normal(0, 1, 12), 20)) for _ in range(40)]
    rule = copy_rule(outcomes, Copies.EXACT)
    for solution in EquilibriumKind:
        start, before = time.perf_counter(), os.times()
        resamples = bootstrap(
            outcomes, solution, rule, arguments.resamples, workers=arguments.workers
        )
        wall, after = time.perf_counter() - start, os.times()
        cpu_times = [b - a for a, b in zip(before[:4], after[:4], strict=True)]
        what = f"{arguments.resamples} resamples of 40 games × 12 models, {solution}"
        note = f"{wall:.0f} s on {arguments.workers} processes, {resamples.failures} failed"
        print(f"| {what} | {sum(cpu_times):.0f} | {note} |", flush=True)


def _noisy_scores(random: np.random.Generator, skills: Array, maps: int) -> Array:
    """Scores (models, maps) with noise of one bit."""
    return skills[:, None] + random.normal(0, 1, (len(skills), maps))


def copies(arguments: argparse.Namespace) -> None:
    """How often copies of its worst game on fresh maps take the lead from the leader."""
    counts, rules = (0, 1, 5, 20), tuple(Copies)
    names = ["mean", "Elo", *(f"{s.upper()}, {c}" for c in rules for s in EquilibriumKind)]
    print(f"| copies | {' | '.join(names)} |\n{'| --- ' * (1 + len(names))}|")
    for count in counts:
        lead_changes = dict.fromkeys(names, 0)
        for trial in range(arguments.trials):
            for name, first in _leads(np.random.default_rng(trial), count).items():
                lead_changes[name] += not first
        print(f"| {count} | {' | '.join(str(lead_changes[name]) for name in names)} |", flush=True)


def _leads(random: np.random.Generator, count: int) -> dict[str, bool]:
    """Whether each system still has the leader of the games without copies first."""
    skills = random.normal(0, 0.7, (8, 5))
    scores = [_noisy_scores(random, each, 24) for each in skills]
    outcomes = [wins(each) for each in scores]
    more = {}
    for solution in EquilibriumKind:
        board = leaderboard(outcomes, solution, copy_rule(outcomes, Copies.EXACT))
        more[solution] = int(np.argmax(board.models))
    strength = elo(mean_preferences(outcomes), 1.0)
    mean = np.mean([each.mean(axis=1) for each in scores], axis=0)
    leader = int(np.argmax(mean))
    worst = int(np.argmin([each[leader] - np.delete(each, leader).mean() for each in skills]))
    fresh = [_noisy_scores(random, skills[worst], 24) for _ in range(count)]
    every, table = [*scores, *fresh], [*outcomes, *map(wins, fresh)]
    mean_now = np.mean([each.mean(axis=1) for each in every], axis=0)
    leads = {
        "mean": int(np.argmax(mean_now)) == leader,
        "Elo": int(np.argmax(elo(mean_preferences(table), 1.0))) == int(np.argmax(strength)),
    }
    for rule in Copies:
        fitted_rule = copy_rule(table, rule)
        for solution in EquilibriumKind:
            board = leaderboard(table, solution, fitted_rule)
            leads[f"{solution.upper()}, {rule}"] = bool(ranks(board.models)[more[solution]] == 1)
    return leads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "copies"))
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--models", type=int, default=17)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trials", type=int, default=4)
    arguments = parser.parse_args()
    print(describe_machine() + "\n")
    {"speed": speed, "copies": copies}[arguments.what](arguments)


if __name__ == "__main__":
    main()
