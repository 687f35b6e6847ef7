"""The candidates of a growth that their fine-tunes surely learned, accepted or not: the pool that a
growth chooses from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from archive.query import reason_of, scopes
from archive.schema import ProposalOutcome, Reason, TaskId, Verdict
from archive.store.archive import Archive

Row = Mapping[str, Any]


class ListKey(NamedTuple):
    """A list of proposals: made at once, for one parent, by one growth."""

    growth: str
    generation: int
    parent: TaskId
    round: int


@dataclass(frozen=True)
class GrowthCandidate:
    """A playable candidate, the list that it was proposed in, and the growth's verdict."""

    task_id: TaskId
    list_key: ListKey
    verdict: Verdict
    reason: Reason

    @property
    def accepted(self) -> bool:
        """Whether the growth accepted it; undecided counts as refused."""
        return self.verdict is Verdict.ACCEPTED

    def row(self) -> dict[str, Any]:
        """Its row of ``held_out_games``."""
        growth, generation, parent, number = self.list_key
        return {
            "game_id": self.task_id.game_id,
            "role": self.task_id.role,
            "program": None,
            "growth": growth,
            "generation": generation,
            "parent_game_id": parent.game_id,
            "parent_role": parent.role,
            "round": number,
            "verdict": self.verdict,
            "reason": self.reason,
        }

    @classmethod
    def of(cls, row: Row) -> Self:
        """The candidate of a row of ``held_out_games``."""
        key = ListKey(row["growth"], row["generation"], _parent(row), row["round"])
        return cls(TaskId.of(row), key, Verdict(row["verdict"]), reason_of(row))


def surely_learned(row: Row) -> bool:
    """Whether the candidate's own gain, in total and of the kind that decides, has a lower bound
    above 0 in a row of ``decisions``."""
    lows = (row["own_gain_low"], row["total_gain_low"])
    return all(low is not None and low > 0 for low in lows)


def playable_candidates(archive: Archive, run_id: str) -> list[GrowthCandidate]:
    """The playable candidates of a finished or interrupted growth, in the order of its decisions,
    without its initial games. If a game has several verdicts, the last one counts, unless it was
    accepted before. Raises :class:`DamagedError` for an unknown reason."""
    run_filter = [("run_id", "=", run_id)]
    lists = _lists(archive, run_id)
    members = (member for scope in scopes(archive, run_id).values() for member in scope)
    initial = {member.task_id for member in members if member.parent_game_id is None}
    candidates: dict[TaskId, GrowthCandidate] = {}
    for row in filter(surely_learned, archive.rows("decisions", filters=run_filter)):
        task_id = TaskId.of(row)
        before = candidates.get(task_id)
        if task_id not in initial and not (before and before.accepted):
            list_key = ListKey(run_id, row["generation"], _parent(row), row["round"])
            verdict = Verdict(row["verdict"])
            candidates[task_id] = GrowthCandidate(
                task_id, lists.get(task_id, list_key), verdict, reason_of(row)
            )
    return list(candidates.values())


def _lists(archive: Archive, run_id: str) -> dict[TaskId, ListKey]:
    """The list in which each candidate was proposed; a decision may name another parent, which the
    candidate helps."""
    filters = [("run_id", "=", run_id), ("outcome", "=", str(ProposalOutcome.CANDIDATE))]
    columns = ["game_id", "role", "generation", "parent_game_id", "parent_role", "round"]
    lists: dict[TaskId, ListKey] = {}
    for row in archive.rows("proposals", columns, filters):
        key = ListKey(run_id, row["generation"], _parent(row), row["round"])
        lists.setdefault(TaskId.of(row), key)
    return lists


def _parent(row: Row) -> TaskId:
    return TaskId(row["parent_game_id"], row["parent_role"])
