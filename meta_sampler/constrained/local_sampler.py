"""The sampler ``local``: a causal language model writes games in the grammar of XGL.

The model reads a line of task, a few games and the parent, and goes on with one program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch

from meta_sampler.base import Outcome, Proposal, Provenance, SamplerError
from meta_sampler.constrained.decoding import Writer
from meta_sampler.constrained.drafts import DECODE, DraftRequest, written
from meta_sampler.constrained.prompt import examples, prompt_text
from meta_sampler.settings import LocalSettings
from xgl import Game
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding
from xgl.models.resolve import load

NAME = "local"


class Local:
    """A :class:`~meta_sampler.base.MetaSampler` without memory: it learns from no outcome.

    The model is loaded when first asked.
    """

    def __init__(self, settings: LocalSettings | None = None) -> None:
        self.settings = settings or LocalSettings()

    @cached_property
    def writer(self) -> Writer:
        """The model; raises :class:`~xgl.errors.ModelNotFound`."""
        chosen = self.settings
        model, tokenizer = load(chosen.model, device=chosen.device, dtype=chosen.dtype)
        lm = LanguageModel(model, tokenizer, torch.device(model.device))
        return Writer(lm, Decoding(chosen.temperature, chosen.top_p), chosen.max_tokens)

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """``n`` proposals, in order; those given up have no game, and say why."""
        return written(self._task(parent, scope, seed), self.writer, self.settings, n)

    def _task(self, parent: Game, scope: Sequence[Game], seed: int) -> DraftRequest:
        shown = examples(parent, scope, self.settings.examples, seed)
        prompt = self._read(shown, parent)
        while len(prompt) > self.writer.room and shown:
            prompt = self._read(shown := shown[1:], parent)
        origin = Provenance(
            NAME,
            (DECODE,),
            (parent.game_id, *(each.game_id for each in shown)),
            model=self.settings.model,
            prompt_hash=hashlib.sha256(prompt_text(shown, parent).encode()).hexdigest()[:16],
        )
        return DraftRequest(parent, scope, prompt[-self.writer.room :], origin, seed)

    def _read(self, shown: Sequence[Game], parent: Game) -> tuple[int, ...]:
        lm = self.writer.lm
        return (lm.bos, *lm.encode(prompt_text(shown, parent)))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Empty: there is no memory."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        if state:
            raise SamplerError("the state is not of local, which keeps none")
