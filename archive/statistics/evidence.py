"""Reads the plays that a matrix of transfer values is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archive.query import replicates, run_config, scopes
from archive.schema import PlaysKey, TaskId
from archive.statistics.matrix import PURPOSES, SCORE_COLUMNS, Plays, plays_of, policies_of
from archive.store.archive import Archive


@dataclass(frozen=True)
class Evidence:
    """All that values of one run can be derived from.

    ``policies``: by fine-tuned game, all of Υ; ``scopes``: games by generation, in their order.
    """

    plays: Mapping[PlaysKey, Plays]
    policies: Mapping[TaskId, tuple[str, ...]]
    scopes: Mapping[int, tuple[TaskId, ...]]

    @property
    def finetuned(self) -> tuple[TaskId, ...]:
        """Υ: every fine-tuned game of the run, in the order of fine-tuning."""
        return tuple(self.policies)


def evidence(archive: Archive, run_id: str) -> Evidence:
    """Plays, policies and scopes of a run. Raises ArchiveError when the archive is damaged."""
    mine = ("run_id", "=", run_id)
    found = archive.table("scores", list(SCORE_COLUMNS), [mine, ("purpose", "in", list(PURPOSES))])
    finetunes = archive.rows("finetunes", ["finetune_id", "game_id", "role"], [mine])
    members = {
        generation: tuple(member.task_id for member in scope)
        for generation, scope in scopes(archive, run_id).items()
    }
    size = replicates(run_config(archive, run_id))
    return Evidence(plays_of(found), policies_of(finetunes, size), members)
