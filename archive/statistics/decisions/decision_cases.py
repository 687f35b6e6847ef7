"""The cases of a run: for each decision its candidate, scope and plays.
`archive.statistics.decisions.replay` repeats the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from archive.run import Row, Run
from archive.schema import (
    BASE_POLICY,
    DecisionRule,
    Definition,
    GainKind,
    Purpose,
    TaskId,
    Verdict,
)
from archive.statistics.decisions.calibration import Calibration, Limits
from archive.statistics.decisions.decision_rule import Thresholds
from archive.statistics.decisions.looks import Looks
from archive.statistics.decisions.replay import Case


def limits(run: Run) -> Limits | None:
    """The run's limits for calibration plays; None if its settings do not say."""
    parts = [run.setting("transfer", key) for key in ("max_forfeit_rate", "min_steps")]
    parts += [run.setting("finetune", key) for key in ("tokens", "maps", "rollouts")]
    warm = run.setting("finetune", "warm_start")
    if not all(isinstance(part, int | float) for part in parts) or not isinstance(warm, Mapping):
        return None
    rate, steps, tokens, maps, rollouts = parts
    first = warm["rounds"] * (warm["maps"] * warm["rollouts"] + warm["demonstrations"])
    return Limits(rate, tokens, maps * rollouts, steps, int(first))


def calibrations(run: Run) -> dict[TaskId, Calibration]:
    """The base player's calibration plays of each game."""
    columns = ["game_id", "role", "outcome", "tokens", "score", "permuted_score"]
    filters = [("policy_id", "=", BASE_POLICY), ("purpose", "=", Purpose.CALIBRATION.value)]
    rows: dict[TaskId, list[Row]] = {}
    for row in run.rows("scores", columns, filters):
        rows.setdefault(TaskId.of(row), []).append(row)
    return {
        task_id: Calibration(
            tuple(row["outcome"] for row in plays),
            tuple(row["tokens"] for row in plays),
            *(np.array([row[name] for row in plays], float) for name in columns[4:]),
        )
        for task_id, plays in rows.items()
    }


def cases(run: Run) -> Iterator[tuple[Row, Case | None]]:
    """Every decision with its case; None if it was taken without plays of the candidate's own
    fine-tuning. The scope of a case is Σ_k and the games that earlier lists of k accepted (Ω_k), or
    only Σ_k under ``growth.coverage_against: scope``; all games of a list have the same scope.
    Under the open-ended schedule it is the first ``scope_size`` games, in order of acceptance."""
    if run.is_open_ended:
        yield from _open_cases(run)
        return
    alone = run.setting("growth", "coverage_against") == "scope"
    pending: dict[int, dict[TaskId, tuple[str, str, int]]] = {}
    for row in run.decisions:
        number = row["generation"] - 1
        accepted_lists = pending.setdefault(number, {})
        scope = [m.task_id for m in run.scopes.get(number, ())]
        list_key = (row["parent_game_id"], row["parent_role"], row["round"])
        if not alone:
            scope += [task_id for task_id, other in accepted_lists.items() if other != list_key]
        yield row, _case(row, tuple(scope))
        if row["verdict"] == Verdict.ACCEPTED:
            accepted_lists.setdefault(TaskId.of(row), list_key)


def _open_cases(run: Run) -> Iterator[tuple[Row, Case | None]]:
    members = [member.task_id for member in run.scopes.get(0, ())]
    for row in run.decisions:
        yield row, _case(row, tuple(members[: row["scope_size"]]))
        if row["verdict"] == Verdict.ACCEPTED:
            members.append(TaskId.of(row))


def _case(row: Row, scope: tuple[TaskId, ...]) -> Case | None:
    columns = ("purpose", "finetune_id", "alpha1", "alpha2", "confidence")
    if any(row[name] is None for name in columns) or not row["looks"]:
        return None
    if row["parent_game_id"] is None or row["parent_role"] is None:
        return None
    return Case(
        candidate=TaskId.of(row),
        parent=TaskId(row["parent_game_id"], row["parent_role"]),
        scope=scope,
        purpose=row["purpose"],
        looks=Looks(tuple(row["looks"]), 1 - row["confidence"]),
        thresholds=Thresholds(
            row["alpha1"],
            row["alpha2"],
            Definition(row["definition"]),
            GainKind(row["gain_kind"]),
            DecisionRule(row["rule"]),
        ),
        first_play=row["first_play"] or 0,
    )
