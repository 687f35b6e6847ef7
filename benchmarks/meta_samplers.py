"""What meta-samplers propose, side by side: the same parents, as many proposals, at what cost.

Drafts only, in seconds: ``python benchmarks/meta_samplers.py --sampler local --set model=smollm2``.
With ``--judge`` the growth's own stages judge each parent's proposals (bounded fine-tunes of the
embedded model): ``python benchmarks/meta_samplers.py --sampler mutate --proposals 10 --judge DIR``.
``--show`` prints the programs, to be read.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

import evo.run
from archive import Archive
from archive.samplers import sampler_reports
from evo.config import load
from evo.scope import initial_tasks
from meta_sampler import MetaSampler, Outcome, Proposal, make
from meta_sampler.local_settings import LocalSettings
from meta_sampler.meaning import meaning
from meta_sampler.sense import objections
from meta_sampler.soundness import complaint
from xgl import Game, ProgramError, analyse, game, parse
from xgl.distance import distance
from xgl.library import entries

GROWTH = (
    "+experiment=scope_growth",
    "growth.generations=1",
    "growth.unplayable_initial=stop",
    "finetune.tokens=60000",
    "transfer.calibration_plays=16",
    "transfer.selection_plays=[32,64]",
    "transfer.acceptance_plays=[96]",
)
"""A growth of one generation whose fine-tunes are bounded."""


@dataclass
class Recorded:
    """Gives proposals that were drawn before, once, so that every sampler is judged on its own
    fixed list."""

    proposals: list[Proposal]
    given: bool = field(default=False)

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        if self.given:
            return []
        self.given = True
        return self.proposals

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """A fixed list learns nothing."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


def library_parents() -> list[Game]:
    """The library's games of the xent dialect."""
    return [game(parse(e.text, e.dialect)) for e in entries() if e.dialect == "xent"]


def tally(parent: Game, scope: list[Game], proposals: list[Proposal]) -> Counter[str]:
    """How many proposals are valid programs, and what those are."""
    known, found = {meaning(each.program) for each in scope}, Counter[str]()
    for proposal in proposals:
        try:
            program = parse(proposal.text, parent.dialect)
        except ProgramError:
            continue
        told = meaning(program)
        found["valid"] += 1
        found["playable"] += not analyse(program).degenerate
        found["sensible"] += not analyse(program).degenerate and not objections(program)
        found["new"] += told not in known
        if not complaint(program, parent, LocalSettings()) and told not in known:
            found["distinct, new and sound"] += 1
            known.add(told)
    return found


def variety(drawn: Sequence[tuple[Game, list[Proposal]]]) -> dict[str, float]:
    """Distinct skeletons (instruction types and players in order) and median edits to the parent,
    over all games that were proposed."""
    games = [(parent, p.game) for parent, found in drawn for p in found if p.game is not None]
    skeletons = {
        tuple(
            re.sub(r"\(.*", "", line) + str(getattr(i, "player", ""))
            for line, i in zip(g.code.splitlines(), g.program.instructions, strict=True)
        )
        for _, g in games
    }
    far = [distance(parent.program, child.program) for parent, child in games]
    return {
        "games": len(games),
        "skeletons": len(skeletons),
        "median edits to parent": statistics.median(far) if far else 0,
    }


def drawn_from(sampler: MetaSampler, scope: list[Game], each: int, seed: int) -> list[Proposal]:
    """At most ``each`` proposals for the first game of ``scope``, whatever their fate; the sampler
    is asked until it has given so many, or nothing."""
    found: list[Proposal] = []
    while len(found) < each:
        more = sampler.propose(scope[0], scope, each - len(found), seed + len(found))
        if not more:
            break
        found += more
    return found[:each]


def judged(
    name: str, parent: str, sampler: MetaSampler, n: int, root: Path, keys: Sequence[str]
) -> dict[str, Any]:
    """The funnel of ``n`` proposals for one parent, judged as growth judges a list."""
    run = f"{name}-{parent}"
    config = load(
        [*GROWTH, f"archive.root={root}", f"name={run}", f"growth.initial_scope=[{parent}]",
         f"growth.list_size={n}", f"growth.max_candidates={n}", *keys]
    )  # fmt: skip
    initial = initial_tasks(config)
    proposals = drawn_from(sampler, [task.game for task in initial], n, seed=1)
    plan = evo.run.Plan(config, initial, Recorded(proposals), resumed=False)
    with Archive.create(config.folder / "archive") as archive:
        evo.run._run(plan, archive, Console(stderr=True))
        reports = {each.sampler: asdict(each) for each in sampler_reports(archive)}
        rows = archive.rows("decisions")
    report = reports.get(name, {})
    reasons = Counter(f"{row['verdict']}: {row['reason']}" for row in rows)
    return {"parent": parent, **report, "verdicts": dict(reasons)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sampler", default="local")
    options.add_argument("--drafts", "--proposals", type=int, default=200, dest="proposals")
    options.add_argument("--set", nargs="*", default=[], help="settings, key=value")
    options.add_argument("--parents", nargs="*", help="names of the library; default: all xent")
    options.add_argument("--judge", type=Path, help="folder for the runs that judge")
    options.add_argument("--run", nargs="*", default=[], help="keys of the runs, key=value")
    options.add_argument("--show", action="store_true", help="print what was proposed")
    given = options.parse_args()
    settings: dict[str, Any] = {
        k: yaml.safe_load(v) for k, v in (s.split("=", 1) for s in given.set)
    }
    sampler = make(given.sampler, settings)
    if given.judge:
        for parent in given.parents or ["rival"]:
            told = judged(given.sampler, parent, sampler, given.proposals, given.judge, given.run)
            print(json.dumps(told, indent=2))
        return
    scope, total = library_parents(), Counter[str]()
    if given.sampler in ("local", "learned"):
        sampler.propose(scope[0], scope, 1, 999)  # loads the model
    began = time.perf_counter()
    everything = []
    for parent in scope:
        others = [parent, *(each for each in scope if each is not parent)]
        drawn = drawn_from(sampler, others, given.proposals // len(scope), 1)
        total += tally(parent, scope, drawn) + Counter({"proposals": len(drawn)})
        everything.append((parent, drawn))
    seconds = time.perf_counter() - began
    origins = [each.provenance for _, drawn in everything for each in drawn]
    cost = {"tokens": sum(o.tokens for o in origins), "dollars": sum(o.dollars for o in origins)}
    print(given.sampler, settings, dict(total), variety(everything), cost, f"{seconds:.1f} s")
    if given.show:
        show(everything)


def show(everything: Sequence[tuple[Game, list[Proposal]]]) -> None:
    """Every proposal with its intent, its operators, and its errors."""
    for parent, drawn in everything:
        print(f"\n== children of\n{parent.code}")
        for each in drawn:
            told = each.provenance.intent or " ".join(each.provenance.operators)
            fate = "" if each.game else f" [{each.fate}: {'; '.join(each.errors)}]"
            print(f"\n-- {told}{fate}\n{each.text}")


if __name__ == "__main__":
    main()
