"""The sampler ``learned``: a small model of XGL reads the parent and writes a child in the grammar.

It ships with the package (``model/``, trained by ``python -m training.xgl_model.train``) and
learns from the verdicts of a run, at commits only. Its state is what it was told: the weights
follow from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import torch

from meta_sampler.base import Outcome, Proposal, Provenance, SamplerError
from meta_sampler.constrained.decoding import Writer
from meta_sampler.constrained.drafts import DECODE, DraftRequest, written
from meta_sampler.learned.adaptation import Lesson, adapted, one_thread
from meta_sampler.learned.rewards import REWARDS
from meta_sampler.settings import LearnedSettings
from xgl import Game
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding
from xgl.models.resolve import load

NAME = "learned"
MODEL = Path(__file__).with_name("model")


class Learned:
    """A :class:`~meta_sampler.base.MetaSampler` that learns from verdicts, on one CPU thread.

    Weights are worked out when next asked for, after the lessons have changed.
    """

    def __init__(self, settings: LearnedSettings | None = None) -> None:
        self.settings = settings or LearnedSettings()
        self._lessons: tuple[Lesson, ...] = ()
        self._writer: Writer | None = None

    @cached_property
    def _shipped(self) -> Writer:
        model, tokenizer = shipped()
        lm = LanguageModel(model, tokenizer, torch.device("cpu"))
        decoding = Decoding(self.settings.temperature, self.settings.top_p)
        return Writer(lm, decoding, self.settings.max_tokens)

    @property
    def writer(self) -> Writer:
        """The model as the lessons made it."""
        if self._writer is None:
            lm = self._shipped.lm
            tokenizer = lm.tokenizer.backend_tokenizer
            learned = adapted(lm.model, tokenizer, self._lessons, self.settings)
            self._writer = self._shipped.with_weights(learned)
        return self._writer

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """``n`` proposals, in order; those given up have no game, and say why."""
        with one_thread():
            lm, room = self.writer.lm, self.writer.room
            prompt = (lm.bos, *lm.encode(parent.code)[-(room - 2) :], lm.bos)
            origin = Provenance(
                NAME,
                (DECODE,),
                (parent.game_id,),
                model=NAME,
                prompt_hash=hashlib.sha256(parent.code.encode()).hexdigest()[:16],
            )
            task = DraftRequest(parent, scope, prompt, origin, seed)
            return written(task, self.writer, self.settings, n)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from committed decisions; those without the game's text teach nothing."""
        new = [Lesson(o.parent_code, o.code, REWARDS[o.progress]) for o in outcomes if o.code]
        self._learn((*self._lessons, *new))

    def _learn(self, lessons: Sequence[Lesson]) -> None:
        kept = tuple(lessons[-self.settings.memory :])
        if kept != self._lessons:
            self._lessons, self._writer = kept, None

    def state(self) -> dict[str, Any]:
        """The lessons: parents, children and rewards."""
        return {"lessons": [asdict(lesson) for lesson in self._lessons]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from lessons that ``state`` gave; raises :class:`SamplerError` for others."""
        told = state.get("lessons")
        if not isinstance(told, Sequence) or not all(map(_is_lesson, told)):
            raise SamplerError("the state is not of learned, expected its lessons")
        self._learn([Lesson(**each) for each in told])


def _is_lesson(told: Any) -> bool:
    return isinstance(told, Mapping) and set(told) == {item.name for item in fields(Lesson)}


@lru_cache(maxsize=1)
def shipped() -> tuple[Any, Any]:
    """The shipped model and its tokenizer, which nobody changes."""
    return load(str(MODEL), device="cpu", dtype="float32")
