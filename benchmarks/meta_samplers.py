"""What meta-samplers propose and what becomes of it: same parents, as many proposals, the cost.

    python benchmarks/meta_samplers.py [--samplers mutate local] [--proposals 12]
        [--parents rival] [--seeds 0] [--drafts] [--null] [--show]
        [--set local.attempts=1 …] [key=value …]

Every proposal is judged as a growth judges one, with the settings of the main job and the
overrides given. Unlike in a run, the scope stays the parent alone and every candidate that passes
selection is put to the acceptance test, so each verdict is about the proposal and not about its
list. Between lists a sampler gets its verdicts; samplers take turns. One process, one thread,
no Ray. ``--drafts`` stops before the judging; ``--show`` prints the programs, to be read.
``--null`` fine-tunes candidates, not their parents, on shuffled rewards: nothing should be
accepted then.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from machine import describe_machine

from archive import Archive
from archive.query import explanation, reason_of
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.jobs.job import Job, ModelHostSettings, Result, SerialExecutor
from evo.jobs.job import Outcome as JobOutcome
from evo.jobs.model_host import ModelHost
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import NullListener
from evo.search.growth import Candidate, Place, rank
from evo.search.initial_scope import initial_tasks, learn_initial_scope
from evo.search.oracle import TransferOracle
from evo.search.proposals import PROGRESS
from meta_sampler import MetaSampler, Outcome, Progress, Proposal, make
from meta_sampler.screening.normal_form import NormalForm, normal_form
from xgl import Game, ProgramError, analyse, parse
from xgl.analysis.tree_distance import distance

HELPLESS = (Progress.UNHELPFUL, Progress.UNCONFIRMED)
HEADS = (
    *("sampler", "proposals", "valid", "not degenerate", "new", "new and sound"),
    *("feasible", "playable", "may help", "accepted", "skeletons", "edits to parent"),
    *("tokens", "sampler's s", "judging s"),
)


class InProcess(SerialExecutor):
    """An executor of one model host in this process."""

    def __init__(self, model_host: ModelHost) -> None:
        self.model_host = model_host

    def do(self, jobs: Sequence[Job[JobOutcome]]) -> Iterator[Result[JobOutcome]]:
        return map(self.model_host.do, jobs)

    def close(self) -> None: ...


@dataclass
class Tally:
    """One sampler's proposals over all parents and seeds."""

    count: Counter[str] = field(default_factory=Counter)
    skeletons: set[tuple[str, ...]] = field(default_factory=set)
    edits: list[int] = field(default_factory=list)

    def add(self, proposal: Proposal, parent: Game, known_forms: set[NormalForm]) -> None:
        """Count a proposal before any play; ``known_forms`` are the normal forms met before."""
        self.count["proposals"] += 1
        self.count["tokens"] += proposal.provenance.tokens
        try:
            program = parse(proposal.text, parent.dialect)
        except ProgramError:
            return
        form = normal_form(program)
        self.count["valid"] += 1
        self.count["not degenerate"] += not analyse(program).degenerate
        self.count["new"] += form not in known_forms
        self.count["new and sound"] += proposal.game is not None
        known_forms.add(form)
        if proposal.game is not None:
            self.skeletons.add(skeleton(proposal.game))
            self.edits.append(distance(parent.program, proposal.game.program))

    def judge(self, progress: Progress) -> None:
        """Count a verdict by how far the candidate came."""
        feasible = progress is not Progress.UNPLAYABLE
        playable = feasible and progress is not Progress.UNLEARNED
        self.count["feasible"] += feasible
        self.count["playable"] += playable
        self.count["may help"] += playable and progress not in HELPLESS
        self.count["accepted"] += progress is Progress.ACCEPTED

    def row(self, name: str, with_judging: bool) -> str:
        """The table's row; what was not judged is left open."""
        whole = [str(self.count[head]) for head in HEADS[1:6]]
        fates = [str(self.count[head]) if with_judging else "" for head in HEADS[6:10]]
        edits = f"{statistics.median(self.edits):g}" if self.edits else ""
        cost = [f"{self.count['tokens']}", f"{self.count['seconds'] / 1000:.1f}"]
        last = [f"{self.count['judging'] / 1000:.0f}" if with_judging else ""]
        cells = [f"`{name}`", *whole, *fates, str(len(self.skeletons)), edits, *cost, *last]
        return "| " + " | ".join(cells) + " |"


def skeleton(game: Game) -> tuple[str, ...]:
    """Instruction types and their players, in order."""
    lines = zip(game.code.splitlines(), game.program.instructions, strict=True)
    return tuple(re.sub(r"\(.*", "", code) + getattr(line, "player", "") for code, line in lines)


class Trial:
    """One sampler, one parent, one seed."""

    def __init__(self, name: str, sampler: MetaSampler, parent: Task, tally: Tally) -> None:
        self.name, self.sampler, self.parent, self.tally = name, sampler, parent, tally
        self.known, self.forms = [parent.game], {normal_form(parent.game.program)}
        self.shown: list[str] = []

    def propose(self, round_: int, size: int, seed: int) -> dict[str, Proposal]:
        """A list of games by id; counts every proposal."""
        game, began = self.parent.game, time.perf_counter()
        proposals = self.sampler.propose(game, self.known, size, 1000 * (seed + 1) + round_)
        self.tally.count["seconds"] += round(1000 * (time.perf_counter() - began))
        for each in proposals:
            self.tally.add(each, game, self.forms)
            self.shown.append(description(self.name, each))
        candidates = {each.game.game_id: each for each in proposals if each.game is not None}
        self.known += [each.game for each in candidates.values() if each.game is not None]
        return candidates

    def judge(
        self, oracle: TransferOracle, candidates: dict[str, Proposal], place: Place[Task]
    ) -> None:
        """The growth's verdicts on a list, of which the sampler hears."""
        began = time.perf_counter()
        tasks = [Task(e.game, self.parent.role) for e in candidates.values() if e.game is not None]
        rows = verdicts(oracle, tasks, place)
        self.tally.count["judging"] += round(1000 * (time.perf_counter() - began))
        outcomes = [self._outcome(row, candidates[str(row["game_id"])]) for row in rows]
        self.sampler.observe(outcomes)
        for each in outcomes:
            self.tally.judge(each.progress)
            print(f"<!-- {self.name}: {each.explanation}: {each.code!r} -->", flush=True)

    def _outcome(self, row: dict[str, Any], proposal: Proposal) -> Outcome:
        assert proposal.game is not None
        return Outcome(
            proposal.game.game_id,
            proposal.provenance.operators,
            PROGRESS[reason_of(row)],
            f"{row['verdict']}: {explanation(row)}",
            self.parent.game_id,
            proposal.game.code,
            self.parent.game.code,
        )


def description(name: str, proposal: Proposal) -> str:
    """A proposal to be read: its intent or operators, its text, what is wrong with it."""
    origin = proposal.provenance
    fate = "" if proposal.game else f" [{proposal.fate}: {'; '.join(proposal.errors)}]"
    return f"-- {name}: {origin.intent or ' '.join(origin.operators)}{fate}\n{proposal.text}"


def verdicts(
    oracle: TransferOracle, games: Sequence[Task], place: Place[Task]
) -> list[dict[str, Any]]:
    """Decisions of a list, every one on its own; the scope is the parent."""
    before = len(oracle.ledger.decisions)
    candidates = [Candidate(game, place, index) for index, game in enumerate(games)]
    assessed = oracle.assess(candidates, [place.parent])
    for each in rank(assessed, oracle.thresholds.alpha1, oracle.thresholds.alpha2):
        oracle.confirm([each])
    return list(oracle.ledger.decisions.values())[before:]


def oracle_of(config: RunConfig, here: InProcess, folder: Path) -> TransferOracle:
    ledger = Ledger(Archive.create(folder), "samplers")
    unshuffled = frozenset(task.id for task in initial_tasks(config))
    collector = Collector(config, ledger, here, NullListener(), unshuffled)
    return TransferOracle(config, ledger, collector)


def settings_of(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """The sampler's configured settings, some replaced by ``overrides`` (name.key=value)."""
    config = load(["+experiment=scope_growth", f"meta_sampler={name}"])
    pairs = (each.split("=", 1) for each in overrides if each.startswith(f"{name}."))
    own = {key.partition(".")[2]: yaml.safe_load(value) for key, value in pairs}
    return asdict(config.meta_sampler.settings) | own


def add_parent(
    options: argparse.Namespace, config: RunConfig, samplers: dict[str, Tally], folder: Path
) -> list[str]:
    """Adds one parent under one seed to the tallies; returns the proposals, to be read."""
    settings = ModelHostSettings(config.judge, config.player, config.finetune)
    initial = initial_tasks(config)
    oracle = None
    if not options.drafts:
        here = InProcess(ModelHost(settings))
        oracle = oracle_of(config, here, folder / "archive")
        initial = learn_initial_scope(config, oracle.selection, initial)
    meta_samplers = {name: make(name, settings_of(name, options.set)) for name in samplers}
    for name in set(meta_samplers) & {
        "local",
    }:  # models are loaded before the clock starts
        meta_samplers[name].propose(initial[0].game, [initial[0].game], 1, 0)
    trials = [
        Trial(name, meta_samplers[name], initial[0], tally) for name, tally in samplers.items()
    ]
    for round_ in range(-(-options.proposals // options.list)):
        for number, each in enumerate(trials):
            size = min(options.list, options.proposals - round_ * options.list)
            games = each.propose(round_, size, config.seed)
            if oracle is not None:
                each.judge(oracle, games, Place(number, initial[0], round_))
    return [f"== children of\n{initial[0].game.code}", *(s for e in trials for s in e.shown)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samplers", nargs="+", default=["mutate", "local"])
    parser.add_argument("--parents", nargs="+", default=["rival"], help="names of the library")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--proposals", type=int, default=12, help="for each parent and seed")
    parser.add_argument("--list", type=int, default=6, help="proposals between two verdicts")
    parser.add_argument("--drafts", action="store_true", help="propose only")
    parser.add_argument("--null", action="store_true", help="shuffle candidates' rewards")
    parser.add_argument("--show", action="store_true", help="print what was proposed")
    parser.add_argument("--json", action="store_true", help="the tallies as JSON, last")
    parser.add_argument("--set", nargs="+", default=[], metavar="SAMPLER.KEY=VALUE")
    options, overrides = parser.parse_known_args()
    torch.set_num_threads(1)
    print(describe_machine(), flush=True)
    tallies = {name: Tally() for name in options.samplers}
    for seed in options.seeds:
        for parent in options.parents:
            keys = [f"seed={seed}", f"growth.initial_scope=[{parent}]", *overrides]
            keys += ["finetune.shuffle=true"] * options.null
            config = load(["+experiment=scope_growth", *keys])
            with tempfile.TemporaryDirectory() as folder:
                lines = add_parent(options, config, tallies, Path(folder))
            if options.show:
                print("\n\n".join(lines), flush=True)
    print("\n| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
    for name, tally in tallies.items():
        print(tally.row(name, not options.drafts))
    if options.json:
        print(json.dumps({name: dict(tally.count) for name, tally in tallies.items()}))


if __name__ == "__main__":
    main()
