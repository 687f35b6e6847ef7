"""What each meta-sampler of a run proposed: how far it came, and what it cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from archive.run import Row, Run
from archive.schema import DecisionRule, ProposalOutcome, Verdict
from archive.text import number
from archive.views.tables import add, table
from xgl import Program, ProgramError, game, parse

REPEATED = (ProposalOutcome.SEEN.value, "known")
"""Outcomes of proposals that were known games."""


def gather(run: Run) -> list[dict[str, Any]]:
    """A report for each meta-sampler of a run, by name.

    ``funnel``: proposals that passed each stage. ``valid``: programs of the language; ``new``: no
    game met before; ``candidates``: put to the base player; ``feasible``: fine-tuned;
    ``playable``: improved by it, significantly; ``accepted``: into the scope. ``tokens``,
    ``seconds`` and ``dollars`` are the sampler's own, ``judged_tokens`` the player's on its
    candidates.
    """
    dialects = {row["game_id"]: row["dialect"] for row in run.rows("games")}
    decisions = {row["game_id"]: row for row in run.decisions}
    by_sampler: dict[str, list[Row]] = defaultdict(list)
    for row in run.rows("proposals"):
        by_sampler[row["sampler"]].append(row)
    return [_report(name, rows, decisions, dialects) for name, rows in sorted(by_sampler.items())]


def _report(
    name: str, rows: Sequence[Row], decisions: Mapping[str, Row], dialects: Mapping[str, str]
) -> dict[str, Any]:
    readings = [(row, _program(row, dialects)) for row in rows]
    valid = [(row, program) for row, program in readings if program is not None]
    new = [(row, program) for row, program in valid if row["outcome"] not in REPEATED]
    candidates = [row for row, _ in new if row["outcome"] == ProposalOutcome.CANDIDATE]
    verdicts = [decisions[row["game_id"]] for row in candidates if row["game_id"] in decisions]
    trained = [row for row in verdicts if row["finetune_id"] is not None]
    return {
        "sampler": name,
        "funnel": {
            "proposals": len(rows),
            "valid": len(valid),
            "new": len(new),
            "candidates": len(candidates),
            "feasible": len(trained),
            "playable": sum(map(_is_playable, trained)),
            "accepted": sum(row["verdict"] == Verdict.ACCEPTED for row in verdicts),
        },
        **{cost: sum(row[cost] for row in rows) for cost in ("tokens", "seconds", "dollars")},
        "judged_tokens": sum(row["tokens"] for row in verdicts),
    }


def _is_playable(row: Row) -> bool:
    """Whether its own gain is established, the total one too where the rule asks for it."""
    better_in_all = row["rule"] == DecisionRule.VALUES or (row["total_gain_low"] or 0) > 0
    return better_in_all and (row["own_gain_low"] or 0) > 0


def _program(row: Row, dialects: Mapping[str, str]) -> Program | None:
    """The canonical program of a proposal's text; None if it is none."""
    try:
        return game(parse(row["text"], dialects.get(row["parent_game_id"], "xent"))).program
    except ProgramError:
        return None


def show(reports: Sequence[Mapping[str, Any]], console: Console) -> None:
    """How far proposals came, and what they cost."""
    for view in (_funnels(reports), _costs(reports)):
        console.print(view)


def _funnels(reports: Sequence[Mapping[str, Any]]) -> Table:
    steps = ("proposals", "valid", "new", "candidates", "feasible", "playable", "accepted")
    view = table("How far proposals came", "sampler", *steps, numbers=True)
    for report in reports:
        add(view, report["sampler"], *(report["funnel"][step] for step in steps))
    return view


def _costs(reports: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("its tokens", "seconds", "dollars", "player tokens after it")
    view = table("Cost", "sampler", *columns, numbers=True)
    for report in reports:
        tokens, after = f"{report['tokens']:,}", f"{report['judged_tokens']:,}"
        costs = number(report["seconds"], 1), number(report["dollars"], 4)
        add(view, report["sampler"], tokens, *costs, after)
    return view
