"""The card of a data set of prompts: what its columns are, and how to train on it."""

from __future__ import annotations

from collections.abc import Mapping

from archive.schema import TaskId

FEATURES: Mapping[str, tuple[str, str]] = {
    "id": ("string", "game, role and map"),
    "game_id": ("string", "the game"),
    "role": ("string", "who is asked for moves"),
    "split": ("string", "train, or test: maps that the run did not train on"),
    "prompt": ("messages", "chat messages that ask for the moves"),
    "prompt_text": ("string", "the same as one text"),
    "limits": ("integers", "judge tokens that each move may have; the rest is cut"),
    "base_mean": ("float64", "bits: mean score of the run's base player on the game"),
    "base_spread": ("float64", "bits: standard deviation of its scores"),
    "best_score": ("float64", "bits: the best score of any policy on the game"),
    "best_score_on_map": ("float64", "bits: the best score on this map; null: not played"),
    "answer": ("string", "empty: nothing is to be matched"),
    "task": ("string", '"xent"'),
    "info": ("string", "JSON: the game, its map, the floor and the base, to score an answer by"),
}
"""Type and meaning of each column."""

_TYPES = {
    "messages": "list:\n    - name: role\n      dtype: string\n    - name: content\n      "
    "dtype: string",
    "integers": "list: int64",
}

_CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: train.jsonl
  - split: test
    path: test.jsonl
dataset_info:
  features:
{features}
---
# Prompts of Xent Games

{games}, from run `{run_id}`. A row asks for the moves of a game on a map; an answer is scored in
bits by the judge (`{judge}` in the run), or counts as the game's floor where it breaks a rule.

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
reward = Rewards(TransformerJudge(judge), normalise=True)
trainer = GRPOTrainer(
    "MODEL", reward_funcs=reward, args=GRPOConfig(), train_dataset=rows["train"]
)
```

`normalise=True` gives standard deviations above the base player's mean, so that games of
different scales share a run; without it, bits. `reward.explain(completions, info)` says of each
completion its outcome, its moves as they were played, the moves it lacked, the tokens cut off
them, and the bits of every token.

| column | content |
| --- | --- |
{columns}

A move stands between `<move>` and `</move>`, outside of thoughts; of more moves than are asked for
the last count. Games with several moves ask for all at once. Left out, since a single prompt cannot
ask for their moves: {left_out}. `archive export --format verifiers` leaves out none.
"""


def card(games: str, run_id: str, judge: str, left_out: str) -> str:
    """The card's text."""
    features = [f"  - name: {name}\n    {_type(kind)}" for name, (kind, _) in FEATURES.items()]
    columns = [f"| `{name}` | {meaning} |" for name, (_, meaning) in FEATURES.items()]
    return _CARD.format(
        features="\n".join(features),
        columns="\n".join(columns),
        games=games,
        run_id=run_id,
        judge=judge,
        left_out=left_out,
    )


def _type(kind: str) -> str:
    return _TYPES.get(kind, f"dtype: {kind}")


def counted_games(count: int) -> str:
    """How many games, in words."""
    return "1 game" if count == 1 else f"{count} games"


def reasons(left_out: Mapping[TaskId, str]) -> str:
    """Which games were left out and why, in one line."""
    each = [f"{game_id} ({role}): {why}" for (game_id, role), why in left_out.items()]
    return "; ".join(each) or "none"
