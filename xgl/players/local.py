"""A local language model as player (SPEC §3, §4: sampled, temperature 1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from xgl.errors import OversizeError
from xgl.lm import LanguageModel
from xgl.presentation import STOP, render
from xgl.random import stream
from xgl.requests import Move, Turn
from xgl.sampling import Continuation, sample, stop_tokens


class LocalPolicy:
    """Samples moves from ``lm`` as it is now (adapters included).

    ``batch_rows`` moves are sampled at once, in the order asked, so that batches are functions
    of the task. Counts what it processed: ``prompt_tokens`` for each rollout's whole prompt,
    ``new_tokens`` sampled.
    """

    def __init__(self, lm: LanguageModel, temperature: float = 1.0, batch_rows: int = 128) -> None:
        self.lm = lm
        self.temperature = temperature
        self.batch_rows = batch_rows
        self.prompt_tokens = self.new_tokens = 0
        self._stops = stop_tokens(lm, STOP)
        self._encode = lru_cache(maxsize=8192)(lm.encode)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn; an error value where the view does not fit the model's window."""
        prompts = [(self.lm.bos, *self._encode(render(turn.request.view))) for turn in turns]
        answers: list[Move | OversizeError] = [OversizeError("view too long")] * len(turns)
        fitting = [i for i, turn in enumerate(turns) if self._fits(prompts[i], turn)]
        for first in range(0, len(fitting), self.batch_rows):
            batch = fitting[first : first + self.batch_rows]
            moves = self._sample([turns[i] for i in batch], [prompts[i] for i in batch])
            for index, move in zip(batch, moves, strict=True):
                answers[index] = move
        return answers

    def _fits(self, prompt: tuple[int, ...], turn: Turn) -> bool:
        return len(prompt) + turn.request.max_len <= self.lm.window

    def _sample(self, turns: Sequence[Turn], prompts: Sequence[tuple[int, ...]]) -> list[Move]:
        limits = [turn.request.max_len for turn in turns]
        uniforms = np.stack([_uniforms(turn, max(limits)) for turn in turns])
        drawn = sample(self.lm, prompts, limits, uniforms, self._stops, self.temperature)
        return [self._move(p, c) for p, c in zip(prompts, drawn, strict=True)]

    def _move(self, prompt: tuple[int, ...], drawn: Continuation) -> Move:
        self.prompt_tokens += len(prompt)
        self.new_tokens += len(drawn.ids)
        text = self.lm.decode(drawn.ids).split(STOP)[0].strip()
        return Move(text, prompt, drawn.ids, drawn.logprobs, len(prompt), len(drawn.ids))


def _uniforms(turn: Turn, width: int) -> np.ndarray:
    seeds = turn.seeds
    rng = stream("move", seeds.map_seed, seeds.play_seed, turn.request.turn)
    return rng.random(width)
