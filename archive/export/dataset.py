"""Games as prompts with scoring rules, for training frameworks that send one prompt (TRL).

Rows are JSON lines that ``datasets.load_dataset`` reads; the card says what each column is. A
completion is scored by ``xgl.environments.rewards`` from the row's ``info``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.export.judge import reference_of
from archive.export.readme import ENVIRONMENT_FEATURES, FEATURES, card, games_text, reasons
from archive.export.rows import MAPS, SPLITS, TaskRow, task_rows
from archive.export.selection import choose
from archive.run import Run
from archive.schema import TaskId
from archive.store.disk import require_free, write_folder
from xgl.environments.rows import Row
from xgl.errors import JudgeError, OversizeError
from xgl.escaping import json_text
from xgl.paths import user_path
from xgl.runtime.presentation import render
from xgl.runtime.prompt import first_messages
from xgl.runtime.requests import MoveRequest, ScoreRequest, TokenScores, TruthRequest


@dataclass(frozen=True)
class Dataset:
    """Rows written by split, and the games left out with the reason."""

    rows: dict[str, int]
    left_out: dict[TaskId, str]


def export_dataset(
    run: Run,
    folder: str | Path,
    eta: float | None = None,
    count: int = MAPS,
    judge: str | None = None,
) -> Dataset:
    """Writes `train.jsonl`, `test.jsonl`, the same in `environments` with all games and without
    prompts, and a card; at most `count` maps of a game in each. ``judge``: the run's judge, to be
    named where another user began the run.

    Raises what :func:`archive.export.xent.export_xent` raises of folder, run and η; ExportError
    when no game of the cover can be played from one prompt.
    """
    folder = user_path(folder)
    require_free(folder)
    rows = list(task_rows(run, choose(run, eta), count))
    by_task = {each.task_id: each.row for each in rows}
    if not by_task:
        raise ExportError("found no map whose texts are archived, expected a run that played")
    left_out = {task_id: why for task_id, row in by_task.items() if (why := misfit(row))}
    if len(left_out) == len(by_task):
        raise ExportError(f"found no game that one prompt can ask for: {reasons(left_out)}")
    prompts = [_columns(each) for each in rows if each.task_id not in left_out]
    splits = {split: [row for row in prompts if row["split"] == split] for split in SPLITS}
    text = card(
        games=games_text(len(by_task) - len(left_out)),
        run_id=run.run_id,
        judge=reference_of(run, judge),
        left_out=reasons(left_out),
    )

    def fill(aside: Path) -> None:
        (aside / "README.md").write_text(text, encoding="utf-8")
        (aside / "environments").mkdir()
        for split, some in splits.items():
            (aside / f"{split}.jsonl").write_text(_lines(some), encoding="utf-8")
            every = [_view_columns(each) for each in rows if each.split == split]
            path = aside / "environments" / f"{split}.jsonl"
            path.write_text(_lines(every), encoding="utf-8")

    write_folder(folder, fill)
    return Dataset({split: len(some) for split, some in splits.items()}, left_out)


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json_text(row)}\n" for row in rows)


def _columns(task_row: TaskRow) -> dict[str, Any]:
    """One row of the file; its keys are those of the card's features."""
    request = first_request(task_row.row)
    assert request is not None
    messages = first_messages(request, later=task_row.row.asks[1:])
    columns = task_row.columns() | {
        "prompt": messages,
        "prompt_text": "\n\n".join(message["content"] for message in messages),
        "view": render(request.view),
        "answer": "",
        "task": "xent",
        "info": task_row.info,
    }
    return {name: columns[name] for name in FEATURES}


def _view_columns(task_row: TaskRow) -> dict[str, Any]:
    """One row without a prompt, for an environment that shows its views itself."""
    columns = task_row.columns() | {"info": task_row.info}
    return {name: columns[name] for name in ENVIRONMENT_FEATURES}


def misfit(row: Row) -> str:
    """Why one prompt cannot ask for a game's moves; empty if it can."""
    others = [name for name in row.players if name != row.role]
    if others:
        return f"{', '.join(others)} would have to move as well"
    if not row.asks:
        return "nobody is asked for a move"
    return "" if first_request(row) else "what it shows before the first move takes the judge"


class _NoJudge:
    """A judge that fails: before the first move most games need none."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        raise JudgeError("a score before the first move")

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        raise JudgeError("a truth before the first move")

    def count(self, text: str) -> int:
        raise JudgeError("tokens before the first move")

    def truncate(self, text: str, max_len: int) -> str:
        raise JudgeError("tokens before the first move")

    def first_tokens(self, text: str, tokens: int) -> str:
        raise JudgeError("tokens before the first move")


def first_request(row: Row) -> MoveRequest | None:
    """The first request to the row's role, if it plays without others; None if it needs a judge."""
    try:
        turn = row.episode(_NoJudge()).turn
    except JudgeError:
        return None
    return turn.request if turn else None
