"""What views, the report and notebooks show of a game of the scope: the numbers of the decision
that accepted it; of a game that the run began with, those of all its plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from archive.run import Run
from archive.schema import SCRIPT_POLICY, GainKind, TaskId
from archive.statistics.decisions.decision_rule import OwnGain, bounds_of
from archive.statistics.decisions.scripts import ScriptComparison, shown_comparison
from archive.statistics.values.intervals import UNDEFINED, Interval
from archive.statistics.values.transfer_matrix import transfer_matrix


def own_gain(run: Run, task_id: TaskId) -> OwnGain:
    """Total and specific gain of a game's own fine-tune."""
    decision = run.accepted.get(task_id)
    if decision is not None and decision["total_gain"] is not None:
        total, specific = bounds_of(decision, "total_gain"), bounds_of(decision, "specific_gain")
    else:
        total, specific = (_mean_gain(run, task_id, kind) for kind in GainKind)
    whole, part = total.value or 0.0, specific.value
    share = part / whole if part is not None and whole > 0 else None
    return OwnGain(specific=specific, share=share, total=total)


def _mean_gain(run: Run, task_id: TaskId, kind: GainKind) -> Interval:
    only = [task_id]
    cell = transfer_matrix(run.plays, run.policies, only, only, kind).cells.get((task_id, task_id))
    return cell.values.gain if cell else UNDEFINED


def beside_scripts(run: Run, task_id: TaskId) -> ScriptComparison | None:
    """A game's fine-tune compared with the scripts; None if no script played it."""
    decision = run.accepted.get(task_id)
    decided = None if decision is None else comparison_of(decision)
    return decided or shown_comparison(run.plays, run.policies.get(task_id, ()), task_id)


def comparison_of(decision: Mapping[str, Any]) -> ScriptComparison | None:
    """The comparison that a row of ``decisions`` holds; None if no script played."""
    if decision["best_script"] is None or decision["script_gain"] is None:
        return None
    leads = (bounds_of(decision, f"{kind}beyond_scripts") for kind in ("", "specific_"))
    best, gain = SCRIPT_POLICY + decision["best_script"], decision["script_gain"]
    return ScriptComparison(decision["script_plays"], best, gain, *leads)
