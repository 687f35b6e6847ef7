"""Samplers from the same parent at the same number of fine-tunes: what becomes of their proposals.

    python benchmarks/sampler_verdicts.py --samplers mutate learned --seeds 0 1 [key=value …]

Each sampler proposes ``--rounds`` lists of ``--list`` games related to the first game of the
initial scope, whose fine-tune is made once for a seed. Unlike in a run, the scope stays that game
alone and every candidate that passes selection is put to the acceptance test, so each verdict is
about the proposal and not about its list. Between lists a sampler is told the verdicts; samplers
take turns. One process, no Ray.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from machine import described
from rich.console import Console

from archive import Archive
from evo.config import RunConfig, load
from evo.display import Display
from evo.evaluate import Task
from evo.experiments import Experiments
from evo.growth import Place, rank
from evo.laboratory import Job, Laboratory, LaboratorySettings, Result
from evo.ledger import Ledger
from evo.scope import initial_tasks
from evo.transfer import TransferOracle
from meta_sampler import MetaSampler, Outcome, Proposal, make

UNFIT = ("never feasible", "too long to learn", "constant score", "forfeit rate")
UNPLAYABLE = ("not playable",)


class Here:
    """A workshop of one laboratory in this process."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def do(self, jobs: Sequence[Job]) -> Iterator[Result]:
        return map(self.laboratory.do, jobs)


def verdicts(
    oracle: TransferOracle, parent: Task, candidates: Sequence[Task], place: Place[Task]
) -> list[dict[str, object]]:
    """Decisions of a list, every one on its own; scope is the parent."""
    oracle.place = place
    oracle.indices = {task.game_id: index for index, task in enumerate(candidates)}
    before = len(oracle.ledger.decisions)
    assessed = oracle.assess(parent, candidates, [parent])
    for task in rank(assessed, oracle.thresholds.alpha1, oracle.thresholds.alpha2):
        oracle.confirm(parent, [task], [parent])
    return list(oracle.ledger.decisions.values())[before:]


class Trial:
    """One sampler under one seed: what became of its proposals, and the seconds they took."""

    def __init__(self, name: str, number: int, oracle: TransferOracle, parent: Task) -> None:
        self.name, self.number, self.oracle, self.parent = name, number, oracle, parent
        self.sampler: MetaSampler = make(name, _conf(name))
        self.known = [parent.game]
        self.total, self.seconds = Counter[str](), 0.0

    def list(self, round_: int, size: int) -> None:
        """Propose, judge, tell."""
        game, began = self.parent.game, time.perf_counter()
        proposals = self.sampler.propose(game, self.known, size, 1000 + round_)
        self.seconds += time.perf_counter() - began
        made = {p.game.game_id: p for p in proposals if p.game is not None}
        games = [p.game for p in made.values() if p.game is not None]
        self.known += games
        tasks = [Task(each, self.parent.role) for each in games]
        rows = verdicts(self.oracle, self.parent, tasks, Place(self.number, self.parent, round_))
        outcomes = [self._outcome(row, made[str(row["game_id"])]) for row in rows]
        self.total += Counter({"proposals": len(proposals), "games": len(games)})
        self.total += Counter(each.reason for each in outcomes)
        self.sampler.observe(outcomes)
        for each in outcomes:
            print(f"<!-- {self.name} {round_}: {each.reason}: {each.code!r} -->", flush=True)

    def _outcome(self, row: dict[str, object], proposal: Proposal) -> Outcome:
        assert proposal.game is not None
        return Outcome(
            proposal.game.game_id,
            proposal.provenance.operators,
            row["verdict"] == "accepted",
            str(row["verdict"]),
            str(row["reason"]),
            self.parent.game_id,
            proposal.game.code,
            self.parent.game.code,
        )


def _conf(name: str) -> dict[str, object]:
    """The settings that the sampler's configuration file gives."""
    config = load(["+experiment=scope_growth", f"meta_sampler={name}"])
    return dict(config.meta_sampler.settings)


def laboratory_of(config: RunConfig, laboratory: Laboratory, folder: Path) -> TransferOracle:
    console = Console(quiet=True)
    ledger = Ledger(Archive.create(folder), "verdicts")
    display = Display(console, "verdicts", None)
    return TransferOracle(config, ledger, Experiments(config, ledger, Here(laboratory), display))


def row(seed: int, name: str, total: Counter[str], seconds: float) -> str:
    unfit = sum(count for reason, count in total.items() if reason.startswith(UNFIT))
    learned = total["games"] - unfit - sum(total[reason] for reason in UNPLAYABLE)
    helps = learned - total["does not help its parent"] - total["own gain not confirmed"]
    cells = (seed, f"`{name}`", total["proposals"], total["games"], total["games"] - unfit, learned)
    last = (helps, total["helps and is new"], f"{seconds:.1f}")
    return "| " + " | ".join(map(str, (*cells, *last))) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samplers", nargs="+", default=["mutate", "learned"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--list", type=int, default=6)
    options, overrides = parser.parse_known_args()
    torch.set_num_threads(1)
    print(described())
    head = "seed | sampler | proposals | new and sound | feasible | playable | may help | accepted"
    print(f"\n| {head} | sampler's seconds |\n" + "| --- " * 9 + "|", flush=True)
    for seed in options.seeds:
        config = load(["+experiment=scope_growth", f"seed={seed}", *overrides])
        settings = LaboratorySettings(config.judge, config.player, config.finetune)
        with tempfile.TemporaryDirectory() as folder:
            oracle = laboratory_of(config, Laboratory(settings), Path(folder) / "archive")
            (parent,) = oracle.prepare(initial_tasks(config)[:1])
            trials = [Trial(n, i, oracle, parent) for i, n in enumerate(options.samplers)]
            for round_ in range(options.rounds):
                for each in trials:
                    each.list(round_, options.list)
            for each in trials:
                print(row(seed, each.name, each.total, each.seconds), flush=True)


if __name__ == "__main__":
    main()
