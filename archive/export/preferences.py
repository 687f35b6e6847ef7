"""Archived moves as rows for supervised fine-tuning and for preference training (TRL's
SFTTrainer and DPOTrainer)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.export.dataset import first_request, misfit
from archive.export.rows import MAPS, TaskRow, task_rows
from archive.export.selection import choose
from archive.run import Run
from archive.store.disk import require_free, write_folder
from xgl.escaping import code_span, json_text
from xgl.runtime.prompt import first_messages

KINDS = ("sft", "dpo")
_README = """---
configs:
- config_name: default
  data_files: train.jsonl
---
# Moves of run {run_id} for {trainer}

{count} rows for `load_dataset(FOLDER)`. {what} Beside them stand
`id`, `game_id`, `role`, `map_seed` and scores in bits. The maps are those that the run evaluated
its fine-tunes on, where its moves are archived.
"""
_WHAT = {
    "sft": (
        "TRL's `SFTTrainer`",
        "`prompt` asks for the moves of a game on a map, `completion` holds those of the best "
        "finished play of any policy.",
    ),
    "dpo": (
        "TRL's `DPOTrainer`",
        "`prompt` asks for the moves of a game on a map; `chosen` holds those of the best finished "
        "play of any policy, `rejected` those of the worst.",
    ),
}
Play = tuple[float, tuple[str, ...]]


def export_moves(
    run: Run,
    folder: str | Path,
    kind: str,
    eta: float | None = None,
    count: int = MAPS,
) -> int:
    """Writes rows of `kind`, sft or dpo, and a card; returns the number of rows.

    Raises what :func:`archive.export.xent.export_xent` raises of folder, run and η; ExportError
    if no archived play makes a row.
    """
    folder = Path(folder)
    require_free(folder)
    plays = _plays(run)
    rows = [
        row
        for task_row in task_rows(run, choose(run, eta), count)
        if not misfit(task_row.row)
        for row in _rows(task_row, plays[(*task_row.task_id, task_row.row.map_seed)], kind)
    ]
    if not rows:
        raise ExportError(
            "found no finished play of a game that one prompt can ask for"
            + (", and a worse one on the same map" if kind == "dpo" else "")
        )
    trainer, what = _WHAT[kind]

    def fill(aside: Path) -> None:
        text = _README.format(
            run_id=code_span(run.run_id), trainer=trainer, count=len(rows), what=what
        )
        (aside / "README.md").write_text(text, encoding="utf-8")
        lines = "".join(f"{json_text(row)}\n" for row in rows)
        (aside / "train.jsonl").write_text(lines, encoding="utf-8")

    write_folder(folder, fill)
    return len(rows)


def _plays(run: Run) -> defaultdict[tuple[str, str, int], list[Play]]:
    """Finished plays by game, role and map."""
    columns = ["game_id", "role", "map_seed", "score", "moves", "outcome"]
    plays: defaultdict[tuple[str, str, int], list[Play]] = defaultdict(list)
    for row in run.rows("scores", columns):
        if row["outcome"] == "finished":
            key = row["game_id"], row["role"], row["map_seed"]
            plays[key].append((row["score"], tuple(row["moves"])))
    return plays


def _rows(task_row: TaskRow, plays: Sequence[Play], kind: str) -> Iterator[dict[str, Any]]:
    asks = task_row.row.asks
    whole = sorted(play for play in plays if len(play[1]) == len(asks))
    request = first_request(task_row.row)
    if not whole or request is None:
        return
    row = {
        "id": task_row.id,
        "game_id": task_row.row.game.game_id,
        "role": task_row.row.role,
        "map_seed": task_row.row.map_seed,
        "prompt": first_messages(request, later=asks[1:]),
    }
    (worst, said_worst), (best, said_best) = whole[0], whole[-1]
    if kind == "sft":
        yield row | {"completion": _answer(said_best), "score": best}
    elif best > worst:
        scores = {"chosen_score": best, "rejected_score": worst}
        yield row | {"chosen": _answer(said_best), "rejected": _answer(said_worst)} | scores


def _answer(moves: Sequence[str]) -> list[dict[str, str]]:
    text = "\n".join(f"<move>{move}</move>" for move in moves)
    return [{"role": "assistant", "content": text}]
