"""How many skills a finished growth holds: every fine-tune of its scope on every game of it.

    python benchmarks/skills.py RUN [--plays 96] [--json FILE]

The newest fine-tune of each game of the scope plays every game on new maps, the same for all; an
unfinished play counts FLOOR bits. Prints the games with their line of descent and what training
gains beyond the best scripted player, then specific gains, and their participation ratio
(archive/statistics/values/skills.py) beside that of copies of one game, measured as badly. One
process, one thread.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from archive import Archive, Verdict
from archive.query import ScopeRow, find_run, newest_scope
from archive.schema import GainKind
from archive.statistics.values.intervals import Interval, mean_interval
from archive.statistics.values.plays import Plays
from archive.statistics.values.skills import (
    effective_skills,
    effective_skills_of_copies,
    skills_interval,
)
from archive.statistics.values.transfer_values import gains
from evo.config.compose import load
from evo.experiments.known_games import archived_tasks
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds
from evo.jobs.job import Evaluation, ModelHostSettings
from evo.jobs.model_host import ModelHost, single_threaded

CONFIDENCE = 0.95
FLOOR = -50.0
RAW = argparse.RawDescriptionHelpFormatter


def sample(scores: Sequence[ScoredPlay]) -> Plays:
    return Plays(
        np.array([(s.seeds.map_seed, s.seeds.play_seed) for s in scores]),
        np.array([s.score for s in scores]),
        np.array([s.permuted_score for s in scores]),
    )


def adapters_of(archive: Archive, members: Sequence[ScopeRow]) -> list[bytes]:
    """The newest fine-tune of each member."""
    newest = {row["game_id"]: row["adapter_hash"] for row in archive.rows("finetunes")}
    return [archive.get_adapter(newest[member.game_id]) for member in members]


def play(host: ModelHost, task: Task, adapters: Sequence[bytes | None], plays: int) -> list[Plays]:
    seeds = tuple(evaluation_seeds("skills", 0, plays))
    outcome = host.do(Evaluation(task, tuple(adapters), seeds)).outcome
    assert isinstance(outcome, list)
    return [sample(scores) for scores in outcome if isinstance(scores, list)]


def shown(value: Interval) -> str:
    assert value.value is not None
    return f"{value.value:.1f} ± {(value.high - value.low) / 2:.1f}"


def print_table(names: Sequence[str], cells: Sequence[Sequence[Interval]]) -> None:
    print("| trained on | " + " | ".join(names) + " |")
    print("| --- " * (len(names) + 1) + "|")
    for name, row in zip(names, cells, strict=True):
        print(f"| {name} | " + " | ".join(map(shown, row)) + " |")


def print_members(archive: Archive, run_id: str, members: Sequence[ScopeRow]) -> None:
    accepted = [("run_id", "=", run_id), ("verdict", "=", Verdict.ACCEPTED)]
    decisions = {row["game_id"]: row for row in archive.rows("decisions", filters=accepted)}
    print("| game | parent | line of descent | γ | beyond the best script, bits |")
    print("| --- | --- | --- | --- | --- |")
    for member in members:
        row = decisions.get(member.game_id)
        beyond = low = high = float("nan")
        if row is not None and row["beyond_scripts"] is not None:
            beyond, low, high = (row["beyond_scripts" + end] for end in ("", "_low", "_high"))
        parent = (member.parent_game_id or "")[:8]
        gamma = "" if member.gamma is None else f"{member.gamma:.2f}"
        script = "" if row is None else f"{beyond:.1f} [{low:.1f}, {high:.1f}]"
        print(f"| {member.game_id[:8]} | {parent} | {member.accepted_in} | {gamma} | {script} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RAW)
    parser.add_argument("run", type=Path)
    parser.add_argument("--plays", type=int, default=96, help="maps a game")
    parser.add_argument("--json", type=Path, help="where to write the gains by map")
    arguments = parser.parse_args()
    single_threaded()
    with Archive.open(arguments.run) as archive:
        run_id = find_run(archive).run_id
        _, members = newest_scope(archive, run_id)
        games = archived_tasks(archive, [member.task_id for member in members])
        tasks = [replace(task, floor=FLOOR) for task in games.values()]
        adapters = adapters_of(archive, members)
        print_members(archive, run_id, members)
    config = load(["+experiment=scope_growth"])
    host = ModelHost(ModelHostSettings(config.judge, config.player, config.finetune))
    samples = np.empty((len(members), len(members), arguments.plays))
    console = Console(stderr=True)
    for column, task in enumerate(track(tasks, "games played", console=console)):
        base, *fine_tuned = play(host, task, (None, *adapters), arguments.plays)
        for row, plays in enumerate(fine_tuned):
            samples[row, column] = gains(plays, base, GainKind.SPECIFIC)
    if arguments.json:
        arguments.json.write_text(json.dumps(samples.tolist()))
    print("\nSpecific gain in bits ± half of the 95 % interval\n")
    names = [member.game_id[:8] for member in members]
    print_table(names, [[mean_interval(cell, CONFIDENCE) for cell in row] for row in samples])
    means, errors = samples.mean(-1), samples.std(-1, ddof=1) / np.sqrt(arguments.plays)
    low, high = skills_interval(samples, CONFIDENCE)
    print(
        f"\nEffective number of skills: {effective_skills(means):.2f} [{low:.2f}, {high:.2f}] of "
        f"{len(members)} games; {len(members)} copies, measured as badly: "
        f"{effective_skills_of_copies(means, errors):.2f}"
    )


if __name__ == "__main__":
    main()
