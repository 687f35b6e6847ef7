"""What the games of a growth's scope teach, measured anew: leads over scripts and effective skills.

    python benchmarks/scope_skills.py RUN [--plays 128] [--json FILE] [key=value …]

Every fine-tune of the newest scope, and the base player, play every game of it on the same fresh
maps, and scripts play each game. Prints a row for each game: what it descends from, its
generation, the gain of its own fine-tune and the lead over every script, in all and about the map
(one-sided bounds at 97.5 % over plays, given the fine-tune). *Effective skills* are the
participation ratio (Σ σ²)² / Σ σ⁴ of the singular values σ of the matrix of gains about the map
(fine-tunes, games): 1 where all fine-tunes teach the same, the number of games where each teaches
its own game alone; the interval resamples plays. The models must be those of the growth
(overrides as there).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from families import Study, bits
from machine import describe_machine

from archive import Archive
from archive.run import Run, stored_game
from archive.schema import GainKind
from archive.statistics.intervals import Scores, gains, mean_interval, percentile_bounds
from archive.statistics.scripts import SHOWN_CONFIDENCE, compare
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from xgl.random_streams import stream

DRAWS = 2_000
HEAD = ("game", "descends from", "generation", "gain", "best script", "lead", "about the map")


def participation_ratio(matrix: Scores) -> float:
    """Of a matrix (fine-tunes, games) of gains."""
    squares = np.linalg.svd(matrix, compute_uv=False) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def skills(scores: Scores, draws: int = DRAWS) -> tuple[float, tuple[float, float]]:
    """Effective skills by gains about the map (fine-tunes, games, plays), and 95 % bounds."""
    rng, plays = stream("effective skills"), scores.shape[-1]
    resampled = [
        participation_ratio(scores[..., rng.integers(plays, size=plays)].mean(-1))
        for _ in range(draws)
    ]
    return participation_ratio(scores.mean(-1)), percentile_bounds(np.array(resampled), 0.95)


def origin(place: int, parents: Sequence[int | None]) -> int:
    """The initial game that a member of the scope descends from."""
    while (parent := parents[place]) is not None:
        place = parent
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder of a scope growth")
    parser.add_argument("--plays", type=int, default=128)
    parser.add_argument("--json", type=Path, help="write gains about the map and leads")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    options = parser.parse_args()
    config = load(RunConfig, ["+experiment=long_growth", *options.overrides])
    study, level = Study(config, options.plays), 2 * SHOWN_CONFIDENCE - 1
    with Archive.open(options.run / "archive") as archive:
        run = Run(archive)
        members = sorted(run.newest_scope[1], key=lambda each: each.generation)
        rows = run.games(member.game_id for member in members)
        tasks = [Task(stored_game(rows[each.game_id]), each.role) for each in members]
        hashes = {row["finetune_id"]: row["adapter_hash"] for row in run.finetunes}
        adapters = [archive.get_adapter(hashes[run.policies[each.task_id][0]]) for each in members]
        names = [f"{run.titles[each.task_id]} ({each.game_id[:8]})" for each in members]
    ids = [member.game_id for member in members]
    parents = [None if m.parent_game_id is None else ids.index(m.parent_game_id) for m in members]
    print(f"{describe_machine()}\n\n| {' | '.join(HEAD)} |\n" + "| --- " * len(HEAD) + "|")
    columns, found = [], []
    for place, (task, member) in enumerate(zip(tasks, members, strict=True)):
        task, _ = study.calibrate(replace(task, floor=0.0))
        base, scripts = study.plays(task, None), study.script_plays(task)
        taught = [study.plays(task, adapter) for adapter in adapters]
        columns.append([gains(each, base, GainKind.SPECIFIC) for each in taught])
        lead = compare([taught[place]], scripts, base, SHOWN_CONFIDENCE)
        own = mean_interval(gains(taught[place], base, GainKind.TOTAL), level)
        found.append((names[place], lead.total.low > 0 and lead.specific.low > 0))
        cells = [names[place], names[origin(place, parents)], str(member.generation), bits(own)]
        cells += [f"{lead.best} {lead.best_gain:+.1f}", bits(lead.total), bits(lead.specific)]
        print("| " + " | ".join(cells) + " |", flush=True)
    scores = np.array(columns).swapaxes(0, 1)
    value, (low, high) = skills(scores)
    beyond = [name for name, is_beyond in found if is_beyond]
    print(f"\nbeyond every script: {len(beyond)} of {len(found)}: {'; '.join(beyond) or 'none'}")
    print(f"effective skills {value:.1f} [{low:.1f}, {high:.1f}] of {len(found)}")
    if options.json:
        numbers = {"names": names, "gains": scores.mean(-1).tolist(), "beyond": beyond}
        options.json.write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
