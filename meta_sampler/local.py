"""The sampler ``local``: a causal language model writes games in the grammar of XGL.

The model reads a line of task, a few games and the parent, and goes on with one program. Decoding
is constrained (``meta_sampler.decoding``), so that every complete draft is a valid program. What
no grammar can state is asked of the draft afterwards, as of a mutation: that it can teach
something, is not silly, and is new.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from meta_sampler.base import Outcome, Proposal, Provenance, SamplerError
from meta_sampler.bench import named_players
from meta_sampler.budget import FIT, fit
from meta_sampler.decoding import Draft, Writer
from meta_sampler.local_settings import LocalSettings
from meta_sampler.meaning import meaning
from meta_sampler.prompt import examples, prompt_text
from meta_sampler.soundness import complaint
from meta_sampler.xgl_grammar import xgl_grammar
from xgl import Game, game, parse
from xgl import syntax as syn
from xgl.lm import LanguageModel
from xgl.models.resolve import load
from xgl.random import stream
from xgl.sampling import Decoding
from xgl.walk import descendants

NAME = "local"
DECODE = "decode"
"""Name under which constrained decoding stands in a proposal's provenance."""
CUT = "cut"
"""The repair of a draft that was going on when its tokens were used up: complete lines stay."""


class Known:
    """Games that a proposal must not repeat, in text or in meaning."""

    def __init__(self, games: Sequence[Game]) -> None:
        self._meanings = {meaning(each.program) for each in games}
        self._ids = {each.game_id for each in games}

    def add(self, other: Game) -> None:
        self._meanings.add(meaning(other.program))
        self._ids.add(other.game_id)

    def __contains__(self, other: Game) -> bool:
        return other.game_id in self._ids or meaning(other.program) in self._meanings


@dataclass(frozen=True)
class _Task:
    """What all drafts of one call have in common."""

    parent: Game
    known: Known
    lark: str
    prompt: tuple[int, ...]
    origin: Provenance
    seed: int


@dataclass
class _Slot:
    """One proposal on its way: its last draft, and what all of its drafts cost."""

    index: int
    proposal: Proposal | None = None
    tokens: int = 0
    seconds: float = 0.0

    @property
    def open(self) -> bool:
        return self.proposal is None or self.proposal.game is None


class Local:
    """A :class:`~meta_sampler.base.MetaSampler` without memory: it learns from no outcome.

    A draft that is refused is written anew, up to ``settings.attempts`` times; then the last one
    is given as a proposal without a game, with the reason. The model is loaded when first asked.
    """

    def __init__(self, settings: LocalSettings | None = None) -> None:
        self.settings = settings or LocalSettings()

    @cached_property
    def writer(self) -> Writer:
        """The model; raises :class:`~xgl.models.errors.ModelNotFound`."""
        chosen = self.settings
        model, tokenizer = load(chosen.model, device=chosen.device, dtype=chosen.dtype)
        lm = LanguageModel(model, tokenizer, torch.device(model.device))
        return Writer(lm, Decoding(chosen.temperature, chosen.top_p), chosen.max_tokens)

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """``n`` proposals, in order; those given up have no game, and say why."""
        task = self._task(parent, scope, seed)
        slots = [_Slot(index) for index in range(n)]
        for attempt in range(self.settings.attempts):
            waiting = [slot for slot in slots if slot.open]
            for first in range(0, len(waiting), self.settings.batch):
                self._redraw(waiting[first : first + self.settings.batch], task, attempt)
        return [slot.proposal for slot in slots if slot.proposal is not None]

    def _task(self, parent: Game, scope: Sequence[Game], seed: int) -> _Task:
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
        known = Known((parent, *scope))
        return _Task(parent, known, self._lark(parent), prompt[-self.writer.room :], origin, seed)

    def _read(self, shown: Sequence[Game], parent: Game) -> tuple[int, ...]:
        lm = self.writer.lm
        return (lm.bos, *lm.encode(prompt_text(shown, parent)))

    def _lark(self, parent: Game) -> str:
        """The grammar for a parent's children: its players, and what it has besides, may stay."""
        lines = parent.program.instructions
        own = named_players(lines)
        players = tuple(p for p in syn.PLAYERS if p in own or p in self.settings.players)
        nodes = [node for line in lines for node in descendants(line)]
        admitted = replace(
            self.settings.grammar(players),
            truths=self.settings.truths or any(isinstance(n, syn.Truth) for n in nodes),
            loops=self.settings.loops or any(isinstance(n, syn.Replay) for n in nodes),
        )
        constants = tuple(sorted(name for name, text in parent.metadata.constants.items() if text))
        return xgl_grammar(parent.dialect, admitted, constants).lark()

    def _redraw(self, slots: Sequence[_Slot], task: _Task, attempt: int) -> None:
        """One more draft for each slot."""
        key = (NAME, task.parent.game_id, task.seed, attempt)
        size = self.settings.max_tokens
        uniforms = np.stack([stream(*key, slot.index).random(size) for slot in slots])
        began = time.perf_counter()
        drafts = self.writer.write(task.prompt, task.lark, uniforms)
        seconds = (time.perf_counter() - began) / len(slots)
        for slot, draft in zip(slots, drafts, strict=True):
            slot.tokens += len(task.prompt) + draft.tokens
            slot.seconds += seconds
            slot.proposal = self._judged(draft, task, slot)

    def _judged(self, draft: Draft, task: _Task, slot: _Slot) -> Proposal:
        origin = replace(task.origin, raw=draft.raw, tokens=slot.tokens, seconds=slot.seconds)
        text = draft.text.strip("\n")
        if not text:
            error = f"not complete after {draft.tokens} tokens"
            return Proposal(draft.raw, None, (error,), origin, fate="unfinished")
        program = parse(text, task.parent.dialect)
        fitted = fit(program, self.settings, task.parent.metadata)
        new = game(fitted, task.parent.metadata)
        mended = {CUT: text != draft.raw.strip("\n"), FIT: fitted != program}
        origin = replace(origin, repairs=tuple(name for name, done in mended.items() if done))
        if refusal := complaint(fitted, task.parent, self.settings):
            return Proposal(new.code, None, (refusal,), origin, fate="unsound")
        if new in task.known:
            return Proposal(new.code, None, ("a known game",), origin, fate="known")
        task.known.add(new)
        return Proposal(new.code, new, (), origin)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Empty: there is no memory."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        if state:
            raise SamplerError("the state is not of local, which keeps none")
