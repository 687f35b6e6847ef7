"""The sampler ``learned``: a small model of XGL reads the parent and writes a child in the grammar.

It ships with the package (``model/``, trained by ``python -m training.xgl_model.train``) and learns
from the verdicts of a run, at commits only. Its state is the list of verdicts: the weights are
computed from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import torch

from meta_sampler.base import Outcome, Proposal, Provenance, SamplerError, prompt_hash
from meta_sampler.constrained.decoding import Writer
from meta_sampler.constrained.drafts import DECODE, DraftRequest, write_proposals
from meta_sampler.learned.adaptation import REWARDS, ProposalLesson, adapt, one_thread
from meta_sampler.settings import LearnedSettings
from xgl import Game
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding
from xgl.models.resolve import load

NAME = "learned"
MODEL = Path(__file__).with_name("model")


class Learned:
    """A :class:`~meta_sampler.base.MetaSampler` that learns from verdicts, on one CPU thread.

    When the lessons have changed, weights are computed again at the next use.
    """

    def __init__(self, settings: LearnedSettings | None = None) -> None:
        self.settings = settings or LearnedSettings()
        self._lessons: tuple[ProposalLesson, ...] = ()
        self._writer: Writer | None = None

    @cached_property
    def _shipped_writer(self) -> Writer:
        model, tokenizer = shipped_model()
        lm = LanguageModel(model, tokenizer, torch.device("cpu"))
        decoding = Decoding(self.settings.temperature, self.settings.top_p)
        return Writer(lm, decoding, self.settings.max_tokens)

    @property
    def writer(self) -> Writer:
        """The model that has learned the lessons."""
        if self._writer is None:
            lm = self._shipped_writer.lm
            tokenizer = lm.tokenizer.backend_tokenizer
            adapted_model = adapt(lm.model, tokenizer, self._lessons, self.settings)
            self._writer = self._shipped_writer.with_weights(adapted_model)
        return self._writer

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """``n`` proposals, in order; those given up have no game, and a reason."""
        with one_thread():
            lm, room = self.writer.lm, self.writer.room
            prompt = (lm.bos, *lm.encode(parent.code)[-(room - 2) :], lm.bos)
            origin = Provenance(
                NAME,
                (DECODE,),
                (parent.game_id,),
                model=NAME,
                prompt_hash=prompt_hash(parent.code),
            )
            request = DraftRequest(parent, scope, prompt, origin, seed)
            return write_proposals(request, self.writer, self.settings, n)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from committed decisions; those without the game's text teach nothing."""
        new = [
            ProposalLesson(o.parent_code, o.code, REWARDS[o.progress]) for o in outcomes if o.code
        ]
        self._learn((*self._lessons, *new))

    def _learn(self, lessons: Sequence[ProposalLesson]) -> None:
        latest = tuple(lessons[-self.settings.max_verdicts :])
        if latest != self._lessons:
            self._lessons, self._writer = latest, None

    def state(self) -> dict[str, Any]:
        """The lessons: parents, children and rewards."""
        return {"lessons": [asdict(lesson) for lesson in self._lessons]}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from lessons that ``state`` returned; raises :class:`SamplerError` for
        others."""
        lessons = state.get("lessons")
        if not isinstance(lessons, Sequence) or not all(map(_is_lesson, lessons)):
            raise SamplerError("the state is not of learned, expected its lessons")
        self._learn([ProposalLesson(**row) for row in lessons])


def _is_lesson(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {
        item.name for item in fields(ProposalLesson)
    }


@lru_cache(maxsize=1)
def shipped_model() -> tuple[Any, Any]:
    """The shipped model and its tokenizer; do not change them."""
    return load(str(MODEL), device="cpu", dtype="float32")
