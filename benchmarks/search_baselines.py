"""What the search's selection is worth: kept games, families and held-out coverage of searches that
have spent the same core-seconds, from the same seeds.

    python benchmarks/search_baselines.py [--seeds 60 61] [--seconds 2400] [--pool 2]
        [--samplers mutate local] [--training-seeds 1] [--size 3] [--root runs/baselines]
        [key=value …] [SAMPLER:key=value …] [held_out.key=value …]

*Searches* are real runs of ``+experiment=long_growth`` with ``budget.seconds``, one for each
meta-sampler and seed; ``mutate`` is the default search. A model for ``chat`` is named as in
``chat:meta_sampler.settings.model=…``.

*Selections* are replayed. Each seed has one more growth, the pool, that examines every candidate
(``growth.examined_share=1``) and runs ``--pool`` times as long. Its candidates are gone through in
the order in which they were proposed, and each is charged what it takes to know whether it is
playable: its proposal, its calibration, its scripts, its fine-tunes and its own plays; nothing of
what transfer to and from other games cost. What is playable by the time that ``--seconds`` are
charged is what a search without transfer would have had, and of that

* ``every playable`` keeps all;
* ``tree distance`` keeps as many as the default search accepted, each the farthest in tree edits
  from the initial games and those kept before;
* ``own gain`` keeps as many, those with the largest gains of the deciding kind.

So a replay chooses among children of the games that the pool accepted, not of those it keeps. A
star marks one whose pool was exhausted before the seconds were. *New* and *covered* are verdicts of
the full rule in the growth that a kept game is from; the others are undecided or help no game.

Then one run of ``+experiment=held_out`` learns all playable candidates of all growths again and has
them play programs that no growth saw. *Coverage* is the mean over programs of the share of a
program's own gain that the best kept game teaches, chosen on one half of the maps and measured on
the other; ``of N`` that of N kept games drawn at random, since more games cover more; initial games
count for no search. *Families* are the initial games from which kept games descend. Growths and the
held-out run go on where they stopped; rows are also written to ROOT/rows.jsonl. Seconds are those
of work as the archive has them: idle cores only. Those of ``chat`` include the waits for answers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from archive import Archive, Reason, RunEvent
from archive.query import find_run, newest_scope
from archive.schema import BASE_POLICY, SCRIPT_POLICY, Purpose, TaskId
from archive.statistics.studies.captured_gains import paid_shares_of_halves
from archive.statistics.studies.growth_candidates import (
    GrowthCandidate,
    playable_candidates,
    surely_learned,
)
from archive.statistics.studies.held_out_plays import read_held_out_plays
from archive.statistics.values.intervals import Scores
from archive.store.archive import MARKER
from xgl import Program, parse
from xgl.analysis.tree_distance import distance
from xgl.random_streams import stream

Row = dict[str, Any]
DEFAULT = "mutate"
POOL = "pool"
SPENDING = ("proposals", "scores", "rounds", "finetunes")
DRAWS = 1000
HEADS = (
    *("search", "seed", "core-seconds", "candidates", "fine-tuned", "playable", "kept", "new"),
    *("covered", "families", "held-out coverage"),
)
COVERED = (Reason.COVERED, Reason.SAME_SKILL)


@dataclass(frozen=True)
class Result:
    """One search under one seed, after ``seconds`` of work."""

    search: str
    seed: int
    seconds: float
    candidates: int
    """Judged ones."""
    finetuned: int
    playable: int
    kept: tuple[TaskId, ...]
    new: int
    """Kept games that the full rule accepted in the growth that they are from."""
    covered: int
    """Kept games that it refused there because a game of the scope teaches them."""
    families: int
    exhausted: bool = False


# -- runs ------------------------------------------------------------------------------------------


def run(folder: Path, arguments: Sequence[str]) -> Path:
    """The folder of a run, begun or gone on with where it is not at its end."""
    events: list[str] = []
    if (folder / "archive" / MARKER).exists():
        with Archive.open(folder) as archive:
            events = [row["event"] for row in archive.rows("runs", ["event"])]
    if events and events[-1] in (RunEvent.FINISHED, RunEvent.OUT_OF_BUDGET):
        return folder
    place = [f"archive.root={folder.parent}", f"name={folder.name}"]
    overrides = [f"resume={folder}"] if events else [*arguments, *place]
    command = [sys.executable, "-m", "evo.run", *overrides]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def grow(root: Path, name: str, seed: int, seconds: float, settings: Sequence[str]) -> Path:
    """A growth that nothing but its budget ends."""
    bounds = [f"seed={seed}", f"budget.seconds={seconds:g}", "growth.least_yield=0.0"]
    overrides = ["+experiment=long_growth", *bounds, *settings]
    return run(root / f"{name}-seed{seed}", overrides)


# -- what a growth holds ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Growth:
    """The rows of one growth that selection can be replayed from."""

    initial: tuple[TaskId, ...]
    programs: Mapping[str, Program]
    proposals: Sequence[Row]
    decisions: Mapping[TaskId, Row]
    finetuned: frozenset[TaskId]
    own_seconds: Mapping[TaskId, float]
    """By game: calibration, scripts, fine-tunes, and the plays of base and own fine-tunes on it."""
    seconds: float
    """Of all work."""

    @property
    def playable(self) -> list[TaskId]:
        """Candidates that their fine-tunes surely learned."""
        return [task for task, row in self.decisions.items() if surely_learned(row)]

    @property
    def accepted_games(self) -> list[TaskId]:
        """Candidates that joined."""
        return [task for task, row in self.decisions.items() if row["verdict"] == "accepted"]

    def verdicts(self, tasks: Sequence[TaskId]) -> tuple[int, int]:
        """How many of these were accepted, and how many were refused as covered."""
        reasons = [self.decisions[task]["reason"] for task in tasks]
        accepted = sum(reason == Reason.NEW_AND_USEFUL for reason in reasons)
        return accepted, sum(reason in COVERED for reason in reasons)

    def families(self, tasks: Sequence[TaskId]) -> int:
        """Initial games from which these descend."""
        parents = {
            TaskId.of(row): TaskId(row["parent_game_id"], row["parent_role"])
            for row in reversed(self.proposals)
            if row["outcome"] == "candidate"
        }
        return len({_root(task, parents) for task in tasks})


def _root(task: TaskId, parents: Mapping[TaskId, TaskId]) -> TaskId:
    while task in parents:
        task = parents[task]
    return task


def read_growth(folder: Path) -> Growth:
    """Of an ended growth."""
    with Archive.open(folder) as archive:
        run_id = find_run(archive).run_id
        _, members = newest_scope(archive, run_id)
        tables = {name: archive.rows(name) for name in SPENDING}
        decisions: dict[TaskId, Row] = {}
        for row in archive.rows("decisions"):
            task = TaskId.of(row)
            before = decisions.get(task)
            if before is None or before["verdict"] != "accepted":
                decisions[task] = row
        initial = tuple(m.task_id for m in members if m.parent_game_id is None)
        games = archive.rows("games", ["game_id", "code", "dialect"])
        return Growth(
            initial,
            {row["game_id"]: parse(row["code"], row["dialect"]) for row in games},
            tables["proposals"],
            {task: row for task, row in decisions.items() if task not in initial},
            frozenset(TaskId.of(row) for row in tables["finetunes"]),
            _own_seconds(tables),
            sum(row["seconds"] for rows in tables.values() for row in rows),
        )


def _own_seconds(tables: Mapping[str, Sequence[Row]]) -> dict[TaskId, float]:
    seconds: defaultdict[TaskId, float] = defaultdict(float)
    own: defaultdict[TaskId, set[str]] = defaultdict(set)
    for row in tables["finetunes"]:
        seconds[TaskId.of(row)] += row["seconds"]
        own[TaskId.of(row)].add(row["finetune_id"])
    for row in tables["rounds"]:
        seconds[TaskId.of(row)] += row["seconds"]
    for row in tables["scores"]:
        task, policy = TaskId.of(row), row["policy_id"]
        is_own = policy == BASE_POLICY or policy.startswith(SCRIPT_POLICY) or policy in own[task]
        if is_own and row["purpose"] != Purpose.ACCEPTANCE:
            seconds[task] += row["seconds"]
    return seconds


# -- selections ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """What a search without transfer would have had after so many seconds: candidates, those that
    it fine-tuned, and those that are playable, in the order in which they were proposed."""

    candidates: list[TaskId]
    finetuned: list[TaskId]
    playable: list[TaskId]
    seconds: float
    exhausted: bool


def affordable(growth: Growth, seconds: float) -> Pool:
    """The candidates that ``seconds`` pay for, the initial games first."""
    charges = list(_charges(growth))
    totals = list(accumulate((cost for _, cost in charges), initial=_initial_seconds(growth)))[1:]
    charged = [task for (task, _), at in zip(charges, totals, strict=True) if at <= seconds]
    candidates = [task for task in dict.fromkeys(charged) if task is not None]
    within = [at for at in totals if at <= seconds]
    return Pool(
        candidates,
        [task for task in candidates if task in growth.finetuned],
        [task for task in candidates if surely_learned(growth.decisions[task])],
        within[-1] if within else 0.0,
        len(charged) == len(charges),
    )


def _initial_seconds(growth: Growth) -> float:
    return sum(growth.own_seconds.get(task, 0.0) for task in growth.initial)


def _charges(growth: Growth) -> Iterator[tuple[TaskId | None, float]]:
    """Each proposal in turn, and with the first of a candidate all that its own game cost; those
    that the growth did not come to are left out."""
    charged: set[TaskId] = set()
    for row in growth.proposals:
        task = TaskId.of(row) if row["outcome"] == "candidate" else None
        if task is None or task in charged:
            yield None, row["seconds"]
        elif task in growth.decisions:
            charged.add(task)
            yield task, row["seconds"] + growth.own_seconds.get(task, 0.0)


def farthest(growth: Growth, tasks: Sequence[TaskId], count: int) -> list[TaskId]:
    """Each the farthest from the initial games and those before it, the first of several."""
    selection: list[TaskId] = []
    remaining = list(tasks)
    while remaining and len(selection) < count:
        programs = [growth.programs[each.game_id] for each in (*growth.initial, *selection)]
        best = max(
            remaining,
            key=lambda task: min(distance(growth.programs[task.game_id], one) for one in programs),
        )
        selection.append(best)
        remaining.remove(best)
    return selection


def strongest(growth: Growth, tasks: Sequence[TaskId], count: int) -> list[TaskId]:
    """Those with the largest own gains."""
    return sorted(tasks, key=lambda task: -growth.decisions[task]["own_gain"])[:count]


Selection = Callable[[Growth, Sequence[TaskId], int], list[TaskId]]
SELECTIONS: Mapping[str, Selection] = {
    "every playable": lambda growth, tasks, count: list(tasks),
    "tree distance": farthest,
    "own gain": strongest,
}


def search_result(name: str, seed: int, growth: Growth) -> Result:
    """A real run."""
    accepted_games = tuple(growth.accepted_games)
    finetuned = sum(task in growth.finetuned for task in growth.decisions)
    verdicts = growth.verdicts(accepted_games)
    playable, families = len(growth.playable), growth.families(accepted_games)
    counts = (len(growth.decisions), finetuned, playable)
    return Result(name, seed, growth.seconds, *counts, accepted_games, *verdicts, families)


def selection_results(seed: int, growth: Growth, seconds: float, count: int) -> Iterator[Result]:
    """Every selection from the pool of one seed; ``count``: games that the default accepted."""
    pool = affordable(growth, seconds)
    for name, selection in SELECTIONS.items():
        choice = tuple(selection(growth, pool.playable, count))
        yield Result(
            name,
            seed,
            pool.seconds,
            len(pool.candidates),
            len(pool.finetuned),
            len(pool.playable),
            choice,
            *growth.verdicts(choice),
            growth.families(choice),
            pool.exhausted,
        )


# -- held-out coverage -----------------------------------------------------------------------------


def captured_shares(folder: Path) -> dict[TaskId, Scores]:
    """(2, programs) by candidate: the share of each program's own gain that it teaches, mean over
    training seeds and each half of the maps, of the programs whose own gain is established."""
    with Archive.open(folder) as archive:
        plays = read_held_out_plays(archive, find_run(archive).run_id)
    tasks = [candidate.task_id for candidate in plays.candidates]
    shares = np.moveaxis(paid_shares_of_halves(plays), 1, 0)
    return dict(zip(tasks, shares, strict=True))


def coverage(shares: Scores) -> float:
    """Mean over programs of the share that the best game teaches; ``shares`` (games, 2, programs).
    The best on one half of the maps is measured on the other, in turn, since the largest of many
    noisy shares is too large."""
    programs = np.arange(shares.shape[-1])
    one, other = (shares[:, half].argmax(0) for half in range(2))
    return float(np.mean([shares[one, 1, programs], shares[other, 0, programs]]))


def coverages(shares: Mapping[TaskId, Scores], games: Sequence[TaskId], size: int) -> list[float]:
    """Of all games, and of ``size`` of them drawn at random; NaN where there are fewer, or where
    none was measured."""
    if not games or not shares:
        return [float("nan")] * 2
    table = np.stack([shares[task] for task in games])
    if len(games) < size:
        return [coverage(table), float("nan")]
    rng = stream("coverage of kept games", size)
    subsets = [rng.permutation(len(games))[:size] for _ in range(DRAWS)]
    return [coverage(table), float(np.mean([coverage(table[each]) for each in subsets]))]


# -- the command -----------------------------------------------------------------------------------


def results(arguments: argparse.Namespace, overrides: Sequence[str]) -> list[Result]:
    """Of every search and seed."""
    outcomes: list[Result] = []
    common = [each for each in overrides if not (_is_of_sampler(each) or _is_of_held_out(each))]
    for seed in arguments.seeds:
        growths = {}
        for sampler in dict.fromkeys([DEFAULT, *arguments.samplers]):
            own = [each.partition(":")[2] for each in overrides if each.startswith(f"{sampler}:")]
            settings = [f"meta_sampler={sampler}", *common, *own]
            folder = grow(arguments.root, sampler, seed, arguments.seconds, settings)
            growths[sampler] = read_growth(folder)
            outcomes.append(search_result(sampler, seed, growths[sampler]))
        examined = [*common, "growth.examined_share=1.0"]
        longer = arguments.pool * arguments.seconds
        pool = read_growth(grow(arguments.root, POOL, seed, longer, examined))
        accepted_count = len(growths[DEFAULT].accepted_games)
        outcomes += selection_results(seed, pool, arguments.seconds, accepted_count)
    return outcomes


def _is_of_sampler(override: str) -> bool:
    return ":" in override.partition("=")[0]


def _is_of_held_out(override: str) -> bool:
    return override.startswith("held_out.")


def held_out(arguments: argparse.Namespace, overrides: Sequence[str]) -> Path | None:
    """The run that plays all candidates of these growths on held-out programs; None if no list has
    an accepted candidate and another playable one, which that experiment requires."""
    seeds = arguments.seeds
    names = [*dict.fromkeys([DEFAULT, *arguments.samplers]), POOL]
    folders = [arguments.root / f"{name}-seed{seed}" for seed in seeds for name in names]
    candidates = {folder: _candidates(folder) for folder in folders}
    verdicts = defaultdict(set)
    for each in chain.from_iterable(candidates.values()):
        verdicts[each.list_key].add(each.accepted)
    if not any(len(both) == 2 for both in verdicts.values()):
        return None
    runs = ",".join(str(folder) for folder in folders if candidates[folder])
    name = "-".join(map(str, ["held_out", *names[:-1], *seeds]))
    settings = [f"held_out.runs=[{runs}]", f"held_out.seeds={arguments.training_seeds}"]
    own = [each for each in overrides if _is_of_held_out(each)]
    return run(arguments.root / name, ["+experiment=held_out", *settings, *own])


def _candidates(folder: Path) -> list[GrowthCandidate]:
    with Archive.open(folder) as archive:
        return playable_candidates(archive, find_run(archive).run_id)


def line(result: Result, coverage_values: Sequence[float]) -> str:
    """A row of the table."""
    star = "*" if result.exhausted else ""
    cells = [result.search, result.seed, f"{result.seconds:.0f}{star}"]
    cells += [result.candidates, result.finetuned, result.playable]
    cells += [len(result.kept), result.new, result.covered, result.families]
    coverage_cells = ["–" if np.isnan(each) else f"{each:.2f}" for each in coverage_values]
    return "| " + " | ".join(map(str, [*cells, *coverage_cells])) + " |"


def main() -> None:
    """Make the runs, print the table, write the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[60, 61])
    parser.add_argument("--seconds", type=float, default=2400.0)
    parser.add_argument("--pool", type=float, default=2.0)
    parser.add_argument("--samplers", nargs="+", default=[DEFAULT, "local"])
    parser.add_argument("--training-seeds", type=int, default=1)
    parser.add_argument("--size", type=int, default=3)
    parser.add_argument("--root", type=Path, default=Path("runs/baselines"))
    arguments, overrides = parser.parse_known_args()
    search_results = results(arguments, overrides)
    folder = held_out(arguments, overrides)
    shares = captured_shares(folder) if folder else {}
    heads = [*HEADS, f"of {arguments.size}"]
    print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    with (arguments.root / "rows.jsonl").open("w", encoding="utf-8") as file:
        for result in sorted(search_results, key=lambda each: (each.search, each.seed)):
            coverage_values = coverages(shares, result.kept, arguments.size)
            print(line(result, coverage_values))
            facts = asdict(result) | {
                "coverage": coverage_values[0],
                "coverage_of_size": coverage_values[1],
            }
            file.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
