"""The finished run in docs/example: tests look up what they say of it, so that another run can take
its place."""

from __future__ import annotations

from pathlib import Path

from archive import Archive, Run

EXAMPLE = Path(__file__).parents[3] / "docs" / "example" / "run"
with Archive.open(EXAMPLE / "archive") as _archive:
    _run = Run(_archive)
    _tasks = [member.task_id for member in _run.newest_scope[1]]
    GAMES = [task.game_id for task in _tasks]
    """Of its newest scope, the initial one first."""
    FINETUNES = _run.finetunes
    FINETUNE = _run.policies[_tasks[0]][0]
    """Of its first game."""
    [SHA] = {row["adapter_hash"] for row in FINETUNES if row["finetune_id"] == FINETUNE}
