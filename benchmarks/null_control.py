"""How often the search accepts a game although nothing can be learned from any candidate.

    python benchmarks/null_control.py FOLDER --seed 91 [--lists 30] [key=value …]

A growth by the open-ended schedule, with the settings of the main job and the overrides given, but
the rewards of each training step of a candidate are permuted among its moves
(``finetune.shuffle``); the initial games are trained as always. Every acceptance is an error. One
process, one thread: start one for each core, with other seeds. The run stays in FOLDER/null-seedN,
and one that was cut goes on there. Prints one row for docs/transfer.md of all runs in FOLDER.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from scipy import stats

from archive import Archive, Reason, Verdict
from evo.config.compose import load
from evo.config.schema import ClusterConfig
from evo.jobs.job import Executor, Job, ModelHostSettings, Outcome, Result, SerialExecutor
from evo.jobs.model_host import ModelHost
from evo.run import experiments, silence_libraries
from evo.runner import CommandLine, Services, complete
from evo.search.initial_scope import initial_tasks

UNLEARNED = frozenset({Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP, Reason.OWN_GAIN_OPEN})
HEADS = (
    "runs",
    "lists",
    "candidates",
    "fine-tuned",
    "learned",
    "accepted",
    "lists accepting, at most",
)


class ShuffledCandidates(SerialExecutor):
    """Jobs in this process; fine-tunes of games other than ``unshuffled`` get permuted rewards."""

    def __init__(self, settings: ModelHostSettings, unshuffled: frozenset[str]) -> None:
        assert settings.finetune is not None
        self.host, self.unshuffled = ModelHost(settings), unshuffled
        shuffled = replace(settings.finetune, shuffle=True)
        self.shuffled_host = ModelHost(replace(settings, finetune=shuffled))

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        for job in jobs:
            is_null = job.trains and job.task.game_id not in self.unshuffled
            yield (self.shuffled_host if is_null else self.host).do(job)

    def close(self) -> None: ...


def control(folder: Path, seed: int, lists: int, overrides: Sequence[str]) -> None:
    """Make the run of a seed, or go on with it."""
    words = ["+experiment=scope_growth", f"seed={seed}", "growth.max_accepted=null"]
    config = load([*words, *overrides])
    words += [f"archive.root={folder}", f"name=null-seed{seed}", "growth.least_yield=0"]
    words += [f"growth.max_candidates={lists * config.growth.list_size}", *overrides]
    unshuffled = frozenset(task.game_id for task in initial_tasks(config))

    def executor(_: ClusterConfig, settings: ModelHostSettings) -> Executor:
        return ShuffledCandidates(settings, unshuffled)

    run_folder = folder / f"null-seed{seed}"
    if run_folder.exists():
        command = CommandLine(None, str(run_folder), ())
    else:
        command = CommandLine("scope_growth", None, tuple(words))
    ended_run = complete(command, experiments(), Services(executor=executor))
    if ended_run is None or ended_run.outcome.exit_code:
        sys.exit(1)


def row(folders: Sequence[Path]) -> str:
    """The table's row; the bound is one-sided, Clopper–Pearson's at 95 %."""
    counts, accepting = Counter[str](), 0
    for folder in folders:
        with Archive.open(folder / "archive") as archive:
            decisions, proposals = archive.rows("decisions"), archive.rows("proposals")
            initial = {
                each["game_id"] for each in archive.rows("scopes") if not each["accepted_in"]
            }
            trained = {each["game_id"] for each in archive.rows("finetunes")} - initial
        list_of = {each["game_id"]: (each["parent_game_id"], each["round"]) for each in proposals}
        accepted = {each["game_id"] for each in decisions if each["verdict"] == Verdict.ACCEPTED}
        counts["lists"] += len({list_of[each["game_id"]] for each in decisions})
        counts["candidates"] += len(decisions)
        counts["fine-tuned"] += len(trained)
        counts["learned"] += sum(
            each["game_id"] in trained and each["reason"] not in UNLEARNED for each in decisions
        )
        counts["accepted"] += len(accepted)
        accepting += len({list_of[game_id] for game_id in accepted})
    lists = counts["lists"]
    bound = stats.beta.ppf(0.95, accepting + 1, lists - accepting) if accepting < lists else 1.0
    cells = [len(folders), *(counts[head] for head in HEADS[1:6]), f"{bound:.1%}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lists", type=int, default=30, help="lists of candidates to judge")
    arguments, overrides = parser.parse_known_args()
    torch.set_num_threads(1)
    silence_libraries()
    control(arguments.folder, arguments.seed, arguments.lists, overrides)
    print("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
    print(row(sorted(arguments.folder.glob("null-seed*"))))


if __name__ == "__main__":
    main()
