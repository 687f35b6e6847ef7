"""Equilibrium ratings: processor seconds, and what copies do to ranks. See docs/ratings.md.

``speed``: a large table to the limit, and resamples of a measure. ``redundancy``: Fig. 3 and 11 of
Liu et al. on synthetic preferences. ``path``: Fig. 1. ``copies``: copies of the leader's worst game
on fresh maps.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from machine import described

from archive.ratings.affinity import distances, kernel, target
from archive.ratings.bradley_terry import elo
from archive.ratings.evaluation_games import KING, king_of_the_hill
from archive.ratings.improvement import PathSettings, System, improvement_path
from archive.ratings.leaderboard import copy_rule, leaderboard
from archive.ratings.logit_path import limiting_logit_equilibrium
from archive.ratings.near_copies import Copies
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, wins
from archive.ratings.rating import RatingSettings, Selection, Solution, ranks, rate
from archive.ratings.redundancy import (
    JITTER,
    adversarial_tasks,
    judged_preferences,
    with_copies,
)
from archive.ratings.uncertainty import bootstrap


def speed(arguments: argparse.Namespace) -> None:
    """Of one table, and of resamples."""
    print("| what | processor s | exploitability |\n| --- | --- | --- |")
    table = judged_preferences(arguments.tasks, arguments.models, np.random.default_rng(0))
    game = king_of_the_hill(table)
    start = time.process_time()
    aims = [target(kernel(distances(game, player))) for player in game.players]
    middle = time.process_time()
    found = limiting_logit_equilibrium(game, aims)
    end = time.process_time()
    shape = " × ".join(map(str, game.shape))
    print(f"| targets of {shape} | {middle - start:.2f} | |")
    limit = f"limit of {shape}, {found.steps} steps"
    print(f"| {limit} | {end - middle:.2f} | {found.exploitability:.0e} |")
    random = np.random.default_rng(0)
    outcomes = [wins(_played(random, random.normal(0, 1, 12), 20)) for _ in range(40)]
    rule = copy_rule(outcomes, Copies.EXACT)
    for solution in Solution:
        start = time.process_time()
        drawn = bootstrap(outcomes, solution, rule, arguments.resamples)
        taken = (time.process_time() - start) / arguments.resamples
        what = f"a resample of 40 games × 12 models, {solution}, {drawn.failed} failed"
        print(f"| {what} | {taken:.3f} | |", flush=True)


def _played(random: np.random.Generator, skills: Array, maps: int) -> Array:
    """Scores (models, maps) with noise of one bit."""
    return skills[:, None] + random.normal(0, 1, (len(skills), maps))


def redundancy(arguments: argparse.Namespace) -> None:
    """Rank of Elo's leader under more and more tasks against it."""
    systems = {
        "Elo": lambda table: elo(table, 1.0),
        "NE": _ratings(Solution.NE),
        "CCE": _ratings(Solution.CCE),
        "NE, Shannon": _ratings(Solution.NE, Selection.SHANNON),
        "CCE, Shannon": _ratings(Solution.CCE, Selection.SHANNON),
    }
    print(f"| copies | payoffs | {' | '.join(systems)} |\n{'| --- ' * (2 + len(systems))}|")
    for jitter in (0.0, JITTER):
        for count in (0, 30, 60, 180):
            placed: dict[str, list[int]] = {name: [] for name in systems}
            for trial in range(arguments.trials):
                random = np.random.default_rng(trial)
                table = judged_preferences(arguments.tasks, arguments.models, random)
                leader = int(np.argmax(elo(table, 1.0)))
                places = adversarial_tasks(table, leader, count, random)
                more = with_copies(table, places, random, jitter)
                for name, system in systems.items():
                    placed[name].append(int(ranks(system(more))[leader]))
            cells = " | ".join(", ".join(map(str, each)) for each in placed.values())
            print(f"| {count} | {'± 0.01' if jitter else 'equal'} | {cells} |", flush=True)


def _ratings(solution: Solution, selection: Selection = Selection.AFFINITY):  # type: ignore[no-untyped-def]
    chosen = RatingSettings(solution, selection)
    return lambda table: rate(king_of_the_hill(table), chosen).ratings[KING]


def path(arguments: argparse.Namespace) -> None:
    """Skill entropies at the start and at the end."""
    print("| system | prompts | of models | of prompts | processor s |\n" + "| --- " * 5 + "|")
    for system in System:
        for additional in (False, True):
            settings = PathSettings(system, additional, iterations=arguments.iterations)
            start = time.process_time()
            found = [improvement_path(settings, seed) for seed in range(arguments.trials)]
            taken = (time.process_time() - start) / arguments.trials
            models = np.array([each.model_entropies for each in found])
            prompts = np.array([each.prompt_entropies for each in found])
            name = "additional" if additional else "initial"
            print(
                f"| {system} | {name} | {_ends(models)} | {_ends(prompts)} | {taken:.0f} |",
                flush=True,
            )


def _ends(entropies: Array) -> str:
    return f"{entropies[:, 0].mean():.3f} → {entropies[:, -1].mean():.3f}"


def copies(arguments: argparse.Namespace) -> None:
    """How often copies of its worst game on fresh maps take the lead from the leader."""
    counts, rules = (0, 1, 5, 20), tuple(Copies)
    names = ["mean", "Elo", *(f"{s.upper()}, {c}" for c in rules for s in Solution)]
    print(f"| copies | {' | '.join(names)} |\n{'| --- ' * (1 + len(names))}|")
    for count in counts:
        lost = dict.fromkeys(names, 0)
        for trial in range(arguments.trials):
            for name, first in _leads(np.random.default_rng(trial), count).items():
                lost[name] += not first
        print(f"| {count} | {' | '.join(str(lost[name]) for name in names)} |", flush=True)


def _leads(random: np.random.Generator, count: int) -> dict[str, bool]:
    """Whether each system still has the leader of the games without copies first."""
    skills = random.normal(0, 0.7, (8, 5))
    scores = [_played(random, each, 24) for each in skills]
    outcomes = [wins(each) for each in scores]
    more = {}
    for solution in Solution:
        board = leaderboard(outcomes, solution, copy_rule(outcomes, Copies.EXACT))
        more[solution] = int(np.argmax(board.models))
    strength = elo(mean_preferences(outcomes), 1.0)
    mean = np.mean([each.mean(axis=1) for each in scores], axis=0)
    leader = int(np.argmax(mean))
    worst = int(np.argmin([each[leader] - np.delete(each, leader).mean() for each in skills]))
    fresh = [_played(random, skills[worst], 24) for _ in range(count)]
    every, table = [*scores, *fresh], [*outcomes, *map(wins, fresh)]
    mean_now = np.mean([each.mean(axis=1) for each in every], axis=0)
    found = {
        "mean": int(np.argmax(mean_now)) == leader,
        "Elo": int(np.argmax(elo(mean_preferences(table), 1.0))) == int(np.argmax(strength)),
    }
    for rule in Copies:
        known = copy_rule(table, rule)
        for solution in Solution:
            board = leaderboard(table, solution, known)
            found[f"{solution.upper()}, {rule}"] = bool(ranks(board.models)[more[solution]] == 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "redundancy", "path", "copies"))
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--models", type=int, default=17)
    parser.add_argument("--resamples", type=int, default=20)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=15)
    arguments = parser.parse_args()
    print(described() + "\n")
    {"speed": speed, "redundancy": redundancy, "path": path, "copies": copies}[arguments.what](
        arguments
    )


if __name__ == "__main__":
    main()
