"""What meta-samplers propose, first drafts only: valid, new, worth a trial, distinct, seconds.

``python benchmarks/meta_samplers.py --sampler local --set model=smollm2 --drafts 50``
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import yaml

from meta_sampler import Proposal, make
from meta_sampler.local_settings import LocalSettings
from meta_sampler.meaning import meaning
from meta_sampler.sense import objections
from meta_sampler.soundness import complaint
from xgl import Game, ProgramError, analyse, game, parse
from xgl.library import entries


def parents() -> list[Game]:
    """The library's games of the xent dialect: each gets an equal share of the drafts."""
    return [game(parse(e.text, e.dialect)) for e in entries() if e.dialect == "xent"]


def tally(parent: Game, scope: list[Game], proposals: list[Proposal]) -> Counter[str]:
    """How many drafts are valid programs, and what those are."""
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


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--sampler", default="local")
    options.add_argument("--drafts", type=int, default=200)
    options.add_argument("--set", nargs="*", default=[], help="settings, key=value")
    given = options.parse_args()
    settings: dict[str, Any] = {k: yaml.safe_load(v) for k, v in (s.split("=") for s in given.set)}
    sampler, scope, total = make(given.sampler, settings), parents(), Counter[str]()
    sampler.propose(scope[0], scope, 1, 999)  # loads the model
    began = time.perf_counter()
    for parent in scope:
        drawn = sampler.propose(parent, scope, given.drafts // len(scope), 1)
        total += tally(parent, scope, drawn) + Counter({"proposals": len(drawn)})
    print(given.sampler, settings, dict(total), f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
