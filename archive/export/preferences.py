"""Archived moves as rows for supervised fine-tuning and for preference training (TRL's
SFTTrainer and DPOTrainer)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.export.dataset import first_request, misfit
from archive.export.folder import Files, Options, json_lines
from archive.export.rows import task_rows
from archive.run import Run
from xgl.escaping import code_span
from xgl.runtime.prompt import first_messages

_CARD = """---
configs:
- config_name: default
  data_files: train.jsonl
---
# Moves of run {run_id}

{count} rows for `load_dataset(FOLDER)` and TRL's `{kind}Trainer`. `prompt` asks for the moves of a
game on a map; {moves}. Beside them stand `id`, `game_id`, `role`, `map_seed` and scores in bits.
The maps are those that the run evaluated its fine-tunes on, where its moves are archived.
"""
_MOVES = {
    "sft": "`completion` holds those of the best finished play of any policy",
    "dpo": "`chosen` holds those of the best finished play of any policy, `rejected` of the worst",
}


def contents(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """Rows of moves and a card. Raises ExportError if no archived play makes a row."""
    kind = options.format
    if not (rows := _rows(run, kind, options)):
        raise ExportError(
            "found no finished play of a game that one prompt can ask for"
            + (", and a worse one on the same map" if kind == "dpo" else "")
        )
    facts = {"run_id": code_span(run.run_id), "count": len(rows), "moves": _MOVES[kind]}
    card = _CARD.format(kind=kind.upper(), **facts)
    files: Files = {"README.md": card, "train.jsonl": json_lines(rows)}
    return files, [f"{len(rows)} rows written to {{folder}}; see its README.md"]


def _rows(run: Run, kind: str, options: Options) -> list[dict[str, Any]]:
    """Of each map the best finished play and, for dpo, the worst one where it is worse."""
    plays: defaultdict[tuple[Any, ...], list[tuple[float, list[str]]]] = defaultdict(list)
    for row in run.rows("scores", ["game_id", "role", "map_seed", "score", "moves", "outcome"]):
        if row["outcome"] == "finished":
            key = row["game_id"], row["role"], row["map_seed"]
            plays[key].append((row["score"], row["moves"]))
    rows = []
    for each in task_rows(run, options):
        task, asks, request = each.task_id, each.row.asks, first_request(each.row)
        whole = sorted(p for p in plays[(*task, each.row.map_seed)] if len(p[1]) == len(asks))
        if misfit(each.row) or request is None or not whole:
            continue
        prompt = first_messages(request, later=asks[1:])
        row = {"id": each.id, **task._asdict(), "map_seed": each.row.map_seed, "prompt": prompt}
        (worst, said_worst), (best, said_best) = whole[0], whole[-1]
        if kind == "sft":
            rows.append(row | {"completion": _answer(said_best), "score": best})
        elif best > worst:
            scores = {"chosen_score": best, "rejected_score": worst}
            answers = {"chosen": _answer(said_best), "rejected": _answer(said_worst)}
            rows.append(row | answers | scores)
    return rows


def _answer(moves: Sequence[str]) -> list[dict[str, str]]:
    text = "\n".join(f"<move>{move}</move>" for move in moves)
    return [{"role": "assistant", "content": text}]
