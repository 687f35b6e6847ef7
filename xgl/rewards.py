"""Rewards of games for training frameworks, from rows of ``archive export --format dataset``.

A row's ``info`` says which game was to be played on which map; the reward of a completion is what
its moves score there. Nothing is executed: the game is parsed and played as anywhere else.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xgl.language.canonical import Game, Metadata, game
from xgl.language.parser import parse
from xgl.players import ScriptedPlayer
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Judge, Seeds, StoryRequest

Completion = str | Sequence[Mapping[str, Any]]
"""A text, or chat messages of which the last one is the answer."""
Info = str | Mapping[str, Any]


@dataclass(frozen=True)
class _Row:
    """What one row of the data set asks for: a game, its map and what an unfinished play counts."""

    game: Game
    role: str
    map_seed: int
    stories: tuple[str, ...]
    floor: float

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """The map's texts, as a story source."""
        return [self.stories[request.site] for _, request in requests]


class Rewards:
    """Bits of the measured player for each completion; call it as TRL's trainers do.

    >>> trainer = GRPOTrainer(reward_funcs=Rewards(judge), train_dataset=rows, …)  # doctest: +SKIP

    ``info``: of each row. The completions of one prompt are scored in one batch.
    """

    __name__ = "xent"

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def __call__(
        self, completions: Sequence[Completion], info: Sequence[Info], **_: object
    ) -> list[float]:
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(info):
            places[each if isinstance(each, str) else json.dumps(each)].append(place)
        rewards: dict[int, float] = {}
        for text, some in places.items():
            scores = self._scores(_read(text), [moves(completions[place]) for place in some])
            rewards.update(zip(some, scores, strict=True))
        return [rewards[place] for place in range(len(completions))]

    def one(self, completion: Completion, info: Info, **_: object) -> float:
        """The reward of one completion, as a rubric of `verifiers` asks for it."""
        return self([completion], [info])[0]

    def _scores(self, row: _Row, scripts: Sequence[tuple[str, ...]]) -> list[float]:
        seeds = [Seeds(row.map_seed, place) for place in range(len(scripts))]
        player = ScriptedPlayer(dict(zip(seeds, scripts, strict=True)))
        cast = Cast(self.judge, row, {row.role: player})
        plays = play_all([Instance(row.game, seed) for seed in seeds], cast)
        return [
            play.scores.get(row.role, 0.0)
            if play.outcome_for(row.role) == "finished"
            else row.floor
            for play in plays
        ]


def moves(completion: Completion) -> tuple[str, ...]:
    """What stands between <move> and </move>, in order; without such marks all that is said.

    >>> moves("<think>hm</think> so <move>a hen</move>")
    ('a hen',)
    """
    text = completion if isinstance(completion, str) else str(completion[-1]["content"])
    text = "".join(_split(text, "<think>", "</think>")[::2])
    return tuple(_split(text, "<move>", "</move>")[1::2]) or (text.strip(),)


def _split(text: str, opening: str, closing: str) -> list[str]:
    """What stands outside and inside of pairs of marks, by turns; a mark that is never closed is
    text. Linear in the text, unlike a pattern that looks for each closing mark again."""
    parts, start = list[str](), 0
    while (opened := text.find(opening, start)) >= 0:
        inside = opened + len(opening)
        if (closed := text.find(closing, inside)) < 0:
            break
        parts += [text[start:opened], text[inside:closed]]
        start = closed + len(closing)
    return [*parts, text[start:]]


@lru_cache(4096)
def _read(text: str) -> _Row:
    facts = json.loads(text)
    whole = game(parse(facts["code"], facts["dialect"]), Metadata(**facts["metadata"]))
    return _Row(whole, facts["role"], facts["map_seed"], tuple(facts["stories"]), facts["floor"])
