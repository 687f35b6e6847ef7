"""What is foreseen of a candidate before it is trained on, against what was then measured.

    python benchmarks/foresight.py RUN…

Of every candidate of finished runs whose help to its parent (C) or whose coverage (γ) was measured:
the share of what scripts earn on the parent that the candidate's best script earns there, and the
share of what scripts earn on the candidate that the best fine-tune of the scope earned
(docs/specification.md, "The open-ended schedule"). From the archives alone, on the first plays of
selection, as many as at the second look (of scripts as at the first, where they made no more); C
and γ are estimates on all plays that the decision rests on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from archive import Archive, Purpose
from archive.query import run_config
from archive.schema import BASE_POLICY, GainKind, PlaysKey, TaskId
from archive.statistics.values.plays import Plays, read_run_plays
from archive.statistics.values.transfer_values import gains
from evo.search.foresight import (
    LIKELY_COVERED,
    LIKELY_HELP,
    expected_coverage,
    expected_help,
)

SPECIFIC = GainKind.SPECIFIC
AllPlays = Mapping[PlaysKey, Plays]


@dataclass(frozen=True)
class Foreseen:
    """Of one candidate: foreseen and measured, help to its parent and coverage by the scope."""

    game_id: str
    help: float
    captured: float | None
    coverage: float | None
    gamma: float | None


def first(plays: AllPlays, policy: str, task: TaskId, count: int) -> Plays | None:
    """The first plays of selection of a policy on a game; None where it made fewer."""
    policy_plays = plays.get(PlaysKey(policy, task, Purpose.SELECTION))
    if policy_plays is None:
        return None
    places = np.flatnonzero(policy_plays.seeds[:, 1] < count)
    if len(places) < count:
        return None
    return Plays(
        policy_plays.seeds[places], policy_plays.own[places], policy_plays.permuted_scores[places]
    )


def lead(plays: AllPlays, policy: str, task: TaskId, count: int, kind: GainKind) -> float | None:
    """Mean gain of a policy over the base player, bits a play."""
    own, base = first(plays, policy, task, count), first(plays, BASE_POLICY, task, count)
    return None if own is None or base is None else float(gains(own, base, kind).mean())


def script_leads(plays: AllPlays, task: TaskId, count: int, kind: GainKind) -> dict[str, float]:
    """Of every script that played the game."""
    names = sorted(
        {key.policy_id for key in plays if key.scripted and key[1:3] == (task, Purpose.SELECTION)}
    )
    leads = {name: lead(plays, name, task, count, kind) for name in names}
    return {name: value for name, value in leads.items() if value is not None}


def foreseen(
    plays: AllPlays, scope: Set[str], row: Mapping[str, Any], looks: tuple[int, int]
) -> Foreseen | None:
    """Of the candidate of a decision; None where scripts did not play it and its parent.
    ``scope``: fine-tunes of the initial scope; ``looks``: plays that scripts and fine-tunes make
    first."""
    task, parent = TaskId.of(row), TaskId(row["parent_game_id"], row["parent_role"])
    for count in reversed(looks):
        own = script_leads(plays, task, count, GainKind.TOTAL)
        theirs = script_leads(plays, parent, count, GainKind.TOTAL)
        if own and own.keys() <= theirs.keys():
            break
    else:
        return None
    others = sorted(
        {key.policy_id for key in plays if key[1:] == (task, Purpose.SELECTION)} & scope
    )
    scope_values = [lead(plays, name, task, looks[1], SPECIFIC) for name in others]
    known_values = [value for value in scope_values if value is not None]
    worth = list(script_leads(plays, task, count, SPECIFIC).values())
    return Foreseen(
        row["game_id"],
        expected_help(own, [theirs]),
        row["captured"],
        expected_coverage(worth, known_values) if known_values else None,
        row["gamma"],
    )


def of_run(folder: str) -> Iterator[Foreseen]:
    """Of all candidates of a run folder's runs that were measured."""
    archive = Archive.open(folder)
    for run_id in dict.fromkeys(row["run_id"] for row in archive.rows("decisions", ["run_id"])):
        transfer = run_config(archive, run_id)["transfer"]
        looks = (transfer["script_plays"], transfer["selection_plays"][0])
        run_plays, mine = read_run_plays(archive, run_id), [("run_id", "=", run_id)]
        rows = archive.rows("finetunes", ["finetune_id", "game_id", "role"], mine)
        decisions = [r for r in archive.rows("decisions", None, mine) if r["captured"] is not None]
        parents = {TaskId(row["parent_game_id"], row["parent_role"]) for row in decisions}
        games = run_plays.scopes.get(0, parents)  # a retest archives no scope: it is the parent
        scope = {row["finetune_id"] for row in rows if TaskId.of(row) in games}
        for row in decisions:
            forecast = foreseen(run_plays.plays, scope, row, looks)
            if forecast is not None:
                yield forecast


def summary(forecasts: Sequence[Foreseen], alpha1: float = 0.3, alpha2: float = 0.2) -> str:
    """Two Markdown tables: help and coverage, foreseen and measured."""
    help_pairs = [(s.help, s.captured) for s in forecasts if s.captured is not None]
    lines = ["| foreseen help | candidates | with C ≥ α1 | mean C |", "| --- | --- | --- | --- |"]
    groups = {f"below {LIKELY_HELP:g}": False, f"from {LIKELY_HELP:g} on": True}
    for name, likely in groups.items():
        values = [captured for help, captured in help_pairs if (help >= LIKELY_HELP) == likely]
        helped = sum(value >= alpha1 for value in values)
        mean = f"{np.mean(values):.2f}" if values else "–"
        lines.append(f"| {name} | {len(values)} | {helped} | {mean} |")
    both = [
        (s.coverage, s.gamma) for s in forecasts if s.coverage is not None and s.gamma is not None
    ]
    lines += ["", "| foreseen coverage | candidates | with γ ≤ 1 − α2 | mean γ |"]
    lines.append("| --- | --- | --- | --- |")
    for name, is_covered in {"below": False, "from": True}.items():
        gammas = [gamma for coverage, gamma in both if (coverage >= LIKELY_COVERED) == is_covered]
        new = sum(gamma <= 1 - alpha2 for gamma in gammas)
        mean = f"{np.mean(gammas):.2f}" if gammas else "–"
        lines.append(f"| {name} {LIKELY_COVERED:g} | {len(gammas)} | {new} | {mean} |")
    if len(both) > 2:
        rank = stats.spearmanr(*zip(*both, strict=True))
        lines.append(
            f"\nSpearman's ρ of coverage and γ: {rank.statistic:.2f} (p = {rank.pvalue:.2g})."
        )
    return "\n".join(lines)


def main() -> None:
    forecasts = [each for folder in sys.argv[1:] for each in of_run(folder)]
    for each in forecasts:
        print(each)
    print(f"\n{summary(forecasts)}")


if __name__ == "__main__":
    main()
