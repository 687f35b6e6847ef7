"""Games as prompts with scoring rules, for training frameworks (TRL, `verifiers`).

Rows are JSON lines that ``datasets.load_dataset`` reads: ``prompt`` (chat messages), ``answer``
(empty: nothing is to be matched), ``task``, and ``info``, JSON that ``xgl.rewards`` scores a
completion by. Training maps and evaluation maps share neither a seed nor a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.export.exactness import TextsOf
from archive.export.selection import Map, Selection, Texts, archived, choose, story_limits
from archive.export.thresholds import base_floor
from archive.query import find_run, games
from archive.schema import TaskId
from archive.store.archive import Archive
from archive.store.disk import require_free, write_folder
from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.errors import JudgeError, OversizeError
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import (
    Item,
    Judge,
    Move,
    ScoreRequest,
    Seeds,
    TokenScores,
    TruthRequest,
    Turn,
)

SPLITS = {"train": ("training",), "test": ("acceptance", "selection", "calibration")}
MAPS = 256
"""Maps of a game in each split, at most, where nobody says otherwise."""

Row = dict[str, Any]

_CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: train.jsonl
  - split: test
    path: test.jsonl
---
# Prompts of Xent Games

{games}, from run `{run_id}`. A row's `prompt` asks for a move; its `info` says which game it is
and on which map, and so how a completion is scored: in bits, by the judge (`{judge}` in the run).

```python
import torch
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models.resolve import load
from xgl.rewards import Rewards

rows = load_dataset("THIS_FOLDER")
judge = LanguageModel(*load("{judge}"), torch.device("cpu"))
reward = Rewards(TransformerJudge(judge))
trainer = GRPOTrainer(
    "MODEL", reward_funcs=reward, args=GRPOConfig(), train_dataset=rows["train"]
)
```

With `verifiers`:
`vf.SingleTurnEnv(dataset=rows["train"], rubric=vf.Rubric(funcs=[reward.one]))`.

Maps of `train` were trained on in the run; those of `test` were not, and share no text with them.
An answer that breaks a rule of the game until its chances are used up counts as the game's floor.
Games with several moves ask for all of them at once. Left out, since a single prompt cannot ask
for their moves: {left_out}.
"""


@dataclass(frozen=True)
class Dataset:
    """Rows written by split, and the games left out with the reason."""

    rows: dict[str, int]
    left_out: dict[TaskId, str]


def export_dataset(
    archive: Archive,
    run_id: str | None,
    folder: str | Path,
    eta: float | None = None,
    count: int = MAPS,
) -> Dataset:
    """Writes `train.jsonl`, `test.jsonl` and a card; at most `count` maps of a game in each.

    Raises what :func:`archive.export.xent.export_xent` raises of folder, run and η; ExportError
    when no game of the cover can be played from one prompt.
    """
    folder = Path(folder)
    require_free(folder)
    run = find_run(archive, run_id)
    selection = choose(archive, run.run_id, eta)
    rows = games(archive, (game_id for game_id, _ in selection.covers))
    stored = {task_id: archived(rows[task_id.game_id]) for task_id in selection.covers}
    left_out = {task_id: why for task_id, of in stored.items() if (why := _unfit(of, task_id.role))}
    kept = {task_id: of for task_id, of in stored.items() if task_id not in left_out}
    splits = {s: list(_rows(archive, selection, kept, s, count, left_out)) for s in SPLITS}
    if set(left_out) == set(stored):
        raise ExportError(f"found no game that one prompt can ask for: {_reasons(left_out)}")
    if not any(splits.values()):
        raise ExportError("found no map whose texts are archived, expected a run that played")
    card = _CARD.format(
        games=_games(len(stored) - len(left_out)),
        run_id=run.run_id,
        judge=_judge(archive, run.run_id),
        left_out=_reasons(left_out),
    )

    def fill(aside: Path) -> None:
        (aside / "README.md").write_text(card, encoding="utf-8")
        for split, some in splits.items():
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some)
            (aside / f"{split}.jsonl").write_text(text, encoding="utf-8")

    write_folder(folder, fill)
    return Dataset({split: len(some) for split, some in splits.items()}, left_out)


def _rows(
    archive: Archive,
    selection: Selection,
    kept: dict[TaskId, Game],
    split: str,
    count: int,
    left_out: dict[TaskId, str],
) -> Iterator[Row]:
    texts = Texts(archive, SPLITS[split])
    for task_id, of in kept.items():
        game_id, role = task_id
        floor = base_floor(archive, selection.run_id, of, role)
        for one in _maps(texts, story_limits(of), count):
            items = opening(of, role, one)
            if items is None:
                left_out[task_id] = "what it shows before the first move takes the judge"
                break
            info = {
                "game_id": game_id,
                "role": role,
                "code": of.code,
                "dialect": of.dialect,
                "metadata": asdict(of.metadata),
                "map_seed": one.map_seed,
                "stories": list(one.stories),
                "floor": floor,
            }
            yield {
                "prompt": [{"role": "user", "content": prompt(of, role, items)}],
                "answer": "",
                "task": "xent",
                "info": json.dumps(info, ensure_ascii=False),
            }


def _maps(texts: Texts, limits: Sequence[int], count: int) -> list[Map]:
    if not limits:
        return [Map(seed, ()) for seed in texts.seeds[:1]]
    maps = (texts.map(seed, limits) for seed in texts.seeds)
    return [each for each in maps if each is not None][:count]


def _unfit(of: Game, role: str) -> str:
    """Why one prompt cannot ask for a game's moves; empty where it can."""
    others = [name for name in analyse(of.program).players if name != role]
    if others:
        return f"{', '.join(others)} would have to move as well"
    return ""


def _judge(archive: Archive, run_id: str) -> str:
    rows = archive.rows("runs", ["config_json"], [("run_id", "=", run_id)])
    try:
        return str(json.loads(rows[-1]["config_json"])["judge"]["model"])
    except (ValueError, KeyError, TypeError):
        return "embedded"


def _games(count: int) -> str:
    return "1 game" if count == 1 else f"{count} games"


def _reasons(left_out: dict[TaskId, str]) -> str:
    reasons = "; ".join(f"{game_id} ({role}): {why}" for (game_id, role), why in left_out.items())
    return reasons or "none"


_JOINED = {True: "with a space between", False: "as they are"}
_FIRST = {True: "every token", False: "every token but the first"}


class _FirstTurn:
    """A player that keeps its first turn and ends the game there."""

    def __init__(self) -> None:
        self.turn: Turn | None = None

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turn = self.turn or turns[0]
        return [OversizeError("only the first turn is of interest") for _ in turns]


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


def opening(of: Game, role: str, one: Map) -> tuple[Item, ...] | None:
    """What `role`, playing alone, sees at its first move; None where that takes a judge."""
    judge: Judge = _NoJudge()
    player = _FirstTurn()
    seeds = Seeds(one.map_seed, 0)
    try:
        play_all([Instance(of, seeds)], Cast(judge, TextsOf([one]), {role: player}))
    except JudgeError:
        return None
    return player.turn.request.view.items if player.turn else None


def prompt(of: Game, role: str, items: Sequence[Item]) -> str:
    """The game's rules, what is in sight, and what to answer."""
    dialect = DIALECTS[of.dialect]
    lines = [
        "You play a text game in which a language model, the judge, measures in bits how well "
        f"texts predict each other. You are {role}. The program of the game:",
        "",
        of.code,
        "",
        "Its rules, line by line:",
        *(f"{place}. {rule}" for place, rule in enumerate(in_words(of, role), 1)),
        f"Texts are joined by + {_JOINED[dialect.cat_space]}. A // B is what stands in A before "
        "the first B, A % B what stands after it. Of a predicted text "
        f"{_FIRST[dialect.scoring.first_token]} counts. More bits are better.",
        "",
        *(f"{item.label}: {item.text}" for item in items),
        "",
        _how_to_answer(of, role),
    ]
    return "\n".join(lines)


def _how_to_answer(of: Game, role: str) -> str:
    requests = analyse(of.program, of.metadata, role).elicits
    moves = sum(each.times for each in requests if each.player == role)
    if moves == 1:
        return "Write your move between <move> and </move>."
    return f"Write your {moves} moves in order, each between <move> and </move>."
