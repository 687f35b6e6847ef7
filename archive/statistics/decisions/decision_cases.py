"""The cases of a run: for each decision its candidate, scope and plays.
`archive.statistics.decisions.replay` repeats the decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from archive.query import ScopeRow, is_open_ended, replicates, run_config, scopes
from archive.schema import (
    BASE_POLICY,
    DecisionRule,
    Definition,
    GainKind,
    PlaysKey,
    Purpose,
    TaskId,
    Verdict,
)
from archive.statistics.decisions.calibration import Calibration, Limits
from archive.statistics.decisions.decision_rule import Thresholds
from archive.statistics.decisions.looks import Looks
from archive.statistics.decisions.replay import Case
from archive.statistics.values.plays import SCORE_COLUMNS, Plays, plays_of, policies_of
from archive.store.archive import Archive

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunRecord:
    """Rows of one run in order, plays by policy, game, role and purpose, and the ``config`` that
    the run began with (empty if it is no JSON object)."""

    run_id: str
    config: Mapping[str, Any]
    scopes: Mapping[int, Sequence[ScopeRow]]
    finetunes: Sequence[Row]
    decisions: Sequence[Row]
    plays: Mapping[PlaysKey, Plays]
    calibrations: Mapping[TaskId, Calibration]

    def setting(self, section: str, key: str) -> Any:
        """One setting of the run, or None."""
        settings = self.config.get(section)
        return settings.get(key) if isinstance(settings, Mapping) else None

    @property
    def open_ended(self) -> bool:
        """Whether it grew by the open-ended schedule."""
        return is_open_ended(self.config)

    @property
    def limits(self) -> Limits | None:
        """The limits for calibration plays; None if the settings do not say."""
        parts = [self.setting("transfer", key) for key in ("max_forfeit_rate", "min_steps")]
        parts += [self.setting("finetune", key) for key in ("tokens", "maps", "rollouts")]
        if not all(isinstance(part, int | float) for part in parts):
            return None
        rate, steps, tokens, maps, rollouts = parts
        return Limits(rate, tokens, maps * rollouts, steps, self._warm_plays)

    @property
    def _warm_plays(self) -> int:
        """Plays of a fine-tune before its first step of REINFORCE."""
        warm = self.setting("finetune", "warm_start")
        if not isinstance(warm, Mapping) or "demonstrations" not in warm:
            return 0  # versions without demonstrations did not count warm plays
        return int(warm["rounds"] * (warm["maps"] * warm["rollouts"] + warm["demonstrations"]))

    @cached_property
    def _finetunes_by_game(self) -> dict[TaskId, tuple[str, ...]]:
        """All fine-tunings of each game, the oldest first."""
        return policies_of(self.finetunes, len(self.finetunes) or 1)

    def newest(self) -> dict[TaskId, tuple[str, ...]]:
        """The newest fine-tunings of each game, one under each training seed."""
        return policies_of(self.finetunes, replicates(self.config))

    def policies(self, decision: Row) -> dict[TaskId, tuple[tuple[str, ...], ...]]:
        """The policies that represented each game at a decision, by attempt, the best first: those
        that its row names, else the oldest; for its candidate those
        from the named fine-tuning on."""
        size = replicates(self.config)
        finetunes = self._finetunes_by_game
        policy_ids, first = decision["scope_finetunes"], decision["finetune_id"]
        policies: dict[TaskId, tuple[tuple[str, ...], ...]] = {
            task_id: (ids[:size],) for task_id, ids in finetunes.items()
        }
        for task_id, ids in finetunes.items():
            if best_first := [policy for policy in policy_ids if policy in ids]:
                policies[task_id] = tuple(_from(ids, policy, size) for policy in best_first)
        if first is not None:
            task_id = TaskId.of(decision)
            policies[task_id] = (_from(finetunes.get(task_id, ()), first, size),)
        return policies


def _from(ids: Sequence[str], first: str, size: int) -> tuple[str, ...]:
    """``size`` ids, beginning with ``first``."""
    start = ids.index(first) if first in ids else 0
    return tuple(ids[start : start + size]) if first in ids else (first,)


def read_record(archive: Archive, run_id: str) -> RunRecord:
    """Reads a run; its plays take about 100 bytes each. Raises DamagedError."""
    run_filter = [("run_id", "=", run_id)]
    finetunes = archive.rows(
        "finetunes", ["finetune_id", "game_id", "role", "adapter_hash"], run_filter
    )
    return RunRecord(
        run_id,
        run_config(archive, run_id),
        scopes(archive, run_id),
        finetunes,
        archive.rows("decisions", filters=run_filter),
        plays_of(_scores(archive, run_id)),
        _calibrations(archive, run_id),
    )


def cases(record: RunRecord) -> Iterator[tuple[Row, Case | None]]:
    """Every decision with its case; None if it was taken without plays of the candidate's own
    fine-tuning. The scope of a case is Σ_k and the games that earlier lists of k accepted (Ω_k), or
    only Σ_k under ``growth.coverage_against: scope``; all games of a list have the same scope.
    Under the open-ended schedule it is the first ``scope_size`` games, in order of acceptance."""
    if record.open_ended:
        yield from _open_cases(record)
        return
    alone = record.setting("growth", "coverage_against") == "scope"
    pending: dict[int, dict[TaskId, tuple[str, int]]] = {}
    for row in record.decisions:
        generation = row["generation"]
        accepted_lists = pending.setdefault(generation, {})
        scope = [m.task_id for m in record.scopes.get(generation, ())]
        list_key = (row["parent_game_id"], row["round"])
        if not alone:
            scope += [task_id for task_id, other in accepted_lists.items() if other != list_key]
        yield row, _case(row, tuple(scope))
        if row["verdict"] == Verdict.ACCEPTED:
            accepted_lists.setdefault(TaskId.of(row), list_key)


def _open_cases(record: RunRecord) -> Iterator[tuple[Row, Case | None]]:
    members = [member.task_id for member in record.scopes.get(0, ())]
    for row in record.decisions:
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


def _scores(archive: Archive, run_id: str) -> pa.Table:
    filters = [("run_id", "=", run_id), ("purpose", "!=", "training")]
    return archive.table("scores", list(SCORE_COLUMNS), filters)


def _calibrations(archive: Archive, run_id: str) -> dict[TaskId, Calibration]:
    filters = [("policy_id", "=", BASE_POLICY), ("purpose", "=", Purpose.CALIBRATION.value)]
    columns = ["game_id", "role", "outcome", "tokens", "score", "permuted_score"]
    rows: dict[TaskId, list[Row]] = {}
    for row in archive.rows("scores", columns, [("run_id", "=", run_id), *filters]):
        rows.setdefault(TaskId.of(row), []).append(row)
    return {
        task_id: Calibration(
            tuple(row["outcome"] for row in plays),
            tuple(row["tokens"] for row in plays),
            *(np.array([row[name] for row in plays], float) for name in columns[4:]),
        )
        for task_id, plays in rows.items()
    }
