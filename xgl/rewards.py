"""Rewards of games for training frameworks, from rows of ``archive export --format dataset``.

A row's ``info`` says which game was to be played on which map; the reward of a completion is what
its moves score there. Nothing is executed: the game is parsed and played as anywhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xgl.batch import Cast, Instance, play_all
from xgl.canonical import Game, Metadata, game
from xgl.parse import parse
from xgl.players.simple import ScriptedPlayer
from xgl.requests import Judge, Seeds, StoryRequest

Completion = str | Sequence[Mapping[str, Any]]
"""A text, or chat messages of which the last one is the answer."""
Info = str | Mapping[str, Any]

_MOVE = re.compile(r"<move>(.*?)</move>", re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True)
class _Asked:
    """One row's question: a game, its map and what an unfinished play counts."""

    game: Game
    role: str
    map_seed: int
    stories: tuple[str, ...]
    floor: float


class Rewards:
    """Bits of the measured player for each completion; call it as TRL's trainers do.

    >>> trainer = GRPOTrainer(reward_funcs=Rewards(judge), train_dataset=rows, …)  # doctest: +SKIP

    ``info``: of each row. All completions of a call are scored in one batch.
    """

    __name__ = "xent"

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def __call__(
        self, completions: Sequence[Completion], info: Sequence[Info], **_: object
    ) -> list[float]:
        asked = [_read(each if isinstance(each, str) else json.dumps(each)) for each in info]
        seeds = [Seeds(each.map_seed, place) for place, each in enumerate(asked)]
        script = ScriptedPlayer(
            {seed: moves(said) for seed, said in zip(seeds, completions, strict=True)}
        )
        stories = _Told({seed: each.stories for seed, each in zip(seeds, asked, strict=True)})
        return [
            self._reward(each, seed, script, stories)
            for each, seed in zip(asked, seeds, strict=True)
        ]

    def one(self, completion: Completion, info: Info, **_: object) -> float:
        """The reward of one completion, as a rubric of `verifiers` asks for it."""
        return self([completion], [info])[0]

    def _reward(
        self, asked: _Asked, seed: Seeds, script: ScriptedPlayer, stories: _Told
    ) -> float:
        cast = Cast(self.judge, stories.of(seed), {asked.role: script})
        [play] = play_all([Instance(asked.game, seed)], cast)
        finished = play.outcome_for(asked.role) == "finished"
        return play.scores.get(asked.role, 0.0) if finished else asked.floor


def moves(completion: Completion) -> tuple[str, ...]:
    """What stands between <move> and </move>, in order; without such marks all that is said.

    >>> moves("<think>hm</think> so <move>a hen</move>")
    ('a hen',)
    """
    text = completion if isinstance(completion, str) else str(completion[-1]["content"])
    text = _THOUGHT.sub("", text)
    return tuple(_MOVE.findall(text)) or (text.strip(),)
