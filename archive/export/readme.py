"""The texts that describe an export: the README of a measure (how to play it, there and here), and
the card of a data set of prompts (what its columns are, and how to train on it)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from archive.export.configurations import ROUNDS, XENT_VERSION
from archive.export.selection import ExportedGame, GameSelection
from archive.text import plural
from xgl.escaping import code_block, code_span, python_string

_HEAD = """# A Xent Measure

{count}, found by scope growth (run {run_id}, scope {scope}){cover}.

## Play it in the authors' package

```
python3.12 -m venv xent-env && xent-env/bin/pip install xent=={xent}
xent-env/bin/xent run --config expanded.json --results-dir results --dont-analyze
```

in this folder{judge}. It needs Python 3.12 or newer and an environment of its own: its versions of
other packages are older than ours. `expanded.json` holds the maps that are measured on: {rounds}
rounds on each, the best round counts. As it stands a mock player sits in every chair: put yours
under `players`, as in

```
{{"name": "black", "id": "mine", "player_type": "default",
 "options": {{"model": "MODEL", "provider": "PROVIDER"}}}}
```

and under `npcs` who shall sit in the other chairs. `condensed.json` has the same games and lets
the package write new maps.

## Play it here

```
python -m evo.run +experiment=measure measure=THIS_FOLDER player=MODEL
python -m xgl play {file} --seed 1
```

## The games

| game | measured | covers | maps |
| --- | --- | --- | --- |
"""

_TAIL = """
`measure.json` says all of this for programs, with hashes of every file; docs/how-to/measure.md of
the project describes it. An empty move that is scored stops the authors' engine with an error; here
it is 0 bits.
"""


def readme(
    selection: GameSelection,
    members: Sequence[ExportedGame],
    with_judge: bool,
) -> str:
    """Markdown; programs and their reasons are indented blocks."""
    head = _HEAD.format(
        count=plural(len(members), "game"),
        run_id=code_span(selection.run_id),
        scope=selection.scope,
        cover=_cover(selection),
        xent=XENT_VERSION,
        rounds=ROUNDS,
        judge="" if with_judge else "; the judge's weights go into `judge/` first, in float32",
        file=members[0].file,
    )
    rows = [
        f"| `{member.name}` | {member.role} | {len(selection.covers[member.task_id])} "
        f"| {len(member.maps)} |\n"
        for member in members
    ]
    return head + "".join(rows) + "".join(map(_game, members)) + _TAIL


def _cover(selection: GameSelection) -> str:
    if selection.eta is None:
        return ": its whole scope"
    delta = "" if selection.delta is None else f", Δ = {selection.delta:.3f}"
    return (
        f": a smallest cover of its scope at η = {selection.eta:g} ({selection.definition}){delta}"
    )


def _game(member: ExportedGame) -> str:
    program = code_block(member.lowered_game.text)
    lowered_game = member.lowered_game
    remarks = "".join(
        f"* {kind}: {code_span(what)}\n"
        for kind, list_ in (
            ("said otherwise", lowered_game.changes),
            ("**not exact**", lowered_game.inexact),
            ("differs", lowered_game.notes),
        )
        for what in list_
    )
    return f"\n### {member.name}\n\n{program}\n{remarks}"


FEATURES: Mapping[str, tuple[str, str]] = {
    "id": ("string", "game, role and map"),
    "game_id": ("string", "the game"),
    "role": ("string", "who is asked for moves"),
    "split": ("string", "train, or test: maps that the run did not train on"),
    "prompt": ("messages", "chat messages that ask for the moves"),
    "prompt_text": ("string", "the same as one text"),
    "view": ("string", "what the player sees, for a model without a chat format"),
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
ENVIRONMENT_FEATURES = tuple(
    name for name in FEATURES if name not in ("prompt", "prompt_text", "view", "answer", "task")
)
"""Columns of the rows without a prompt, whose first view an environment shows."""

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
- config_name: environments
  data_files:
  - split: train
    path: environments/train.jsonl
  - split: test
    path: environments/test.jsonl
dataset_info:
- config_name: default
  features:
{features}
- config_name: environments
  features:
{environment_features}
---
# Prompts of Xent Games

For TRL 1.16 or newer (`pip install trl`) beside xent-evo with its extra `score`.

{games}, from run {run_id}. A row asks for the moves of a game on a map; an answer is scored in
bits by the judge ({judge_name} in the run), or counts as the game's floor where it breaks a rule.

## One answer for all moves

```python
from pathlib import Path

import torch
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from xgl.judge.loading import load_judge
from xgl.models.resolve import resolve
from xgl.environments.rewards import Rewards

rows = load_dataset(str(Path.cwd()))["train"]  # this folder
# The embedded model has no chat format: a view asks it, and the lines of its answer are moves.
# With a chat model, leave out the next line and `plain=True`.
rows = rows.map(lambda row: {{"prompt": "<|bos|>" + row["view"]}})
trainer = GRPOTrainer(
    str(resolve("embedded")),  # a model to try it with; yours goes here
    reward_funcs=Rewards(load_judge({judge}), normalise=True, plain=True),
    args=GRPOConfig(
        "trained",
        max_steps=3,
        logging_steps=1,
        max_completion_length=16,
        bf16=torch.cuda.is_available(),
    ),
    train_dataset=rows,
)
trainer.train()
```

Three steps of eight answers show that everything fits together, and teach nothing. No settings are
known here with which TRL teaches the embedded model: 40 steps of 64 answers on Rival (learning rate
0.001, one training seed) took the mean reward from 0.0 to −0.3 standard deviations. The project's
own fine-tunes (`python -m evo.run`) begin with imitation of a simple rule, and do teach it.

`normalise=True` gives standard deviations above the base player's mean, so that games of
different scales share a run; without it, bits. `reward.explain(completions, info)` says of each
completion its outcome, its moves as they were played, the moves it lacked, the tokens cut off
them, and the bits of every token.

## A rollout of several turns

```python
from pathlib import Path

import torch
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer
from xgl.environments.trl import environment_factory
from xgl.judge.loading import load_judge
from xgl.models.resolve import resolve
from xgl.players.local import LocalPolicy

judge = load_judge({judge})
trainer = GRPOTrainer(
    str(resolve("embedded")),
    environment_factory=environment_factory(
        judge, others=LocalPolicy(judge.lm), normalise=True
    ),
    args=GRPOConfig(
        "trained",
        max_steps=3,
        logging_steps=1,
        max_completion_length=64,
        bf16=torch.cuda.is_available(),
    ),
    train_dataset=load_dataset(str(Path.cwd()), "environments")["train"],
)
trainer.train()
```

Here all games are mixed, those of several players too: a move is a call of the tool `move`, retries
and later moves are turns, and `others` makes the moves of everybody but the row's role. A game that
the model leaves before its end counts as its floor. The embedded model calls no tools, so with it
every reward is the floor and nothing is learned: train a model that was taught to call them.

## Columns

| column | content |
| --- | --- |
{columns}

A move stands between `<move>` and `</move>`, outside of thoughts; of more moves than are asked for
the last count. Games with several moves ask for all at once. Left out of `default`, since a single
prompt cannot ask for their moves: {left_out}. `environments`, without prompts, leaves out none.
"""


def card(games: str, run_id: str, judge: str, left_out: str) -> str:
    """The card's text."""
    columns = [f"| `{name}` | {meaning} |" for name, (_, meaning) in FEATURES.items()]
    return _CARD.format(
        features=_features(FEATURES),
        environment_features=_features(ENVIRONMENT_FEATURES),
        columns="\n".join(columns),
        games=games,
        run_id=code_span(run_id),
        judge=python_string(judge),
        judge_name=code_span(judge),
        left_out=code_span(left_out) if left_out else "none",
    )


def _features(names: Iterable[str]) -> str:
    return "\n".join(f"  - name: {name}\n    {_type(FEATURES[name][0])}" for name in names)


def _type(kind: str) -> str:
    return _TYPES.get(kind, f"dtype: {kind}")
