"""Proposals from drafts: a language model writes in the grammar until a draft is worth a trial.

Decoding is constrained (``meta_sampler.constrained.decoding``): every complete draft is a valid
program. What a grammar cannot state is checked afterwards, as for a mutation: that the draft can
teach something, has no new lint warning, and is new. A draft that is refused is written again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meta_sampler.base import Fate, Proposal, Provenance
from meta_sampler.constrained.decoding import Draft, Writer
from meta_sampler.constrained.xgl_grammar import xgl_grammar
from meta_sampler.screening.soundness import (
    FIT,
    KnownGames,
    admitted_players,
    faults,
    filled_constants,
    fit,
    has_loops,
    has_truths,
)
from meta_sampler.settings import LocalSettings
from xgl import Game, game, parse
from xgl.random_streams import stream

DECODE = "decode"
"""Name of constrained decoding in a proposal's provenance."""
CUT = "cut"
"""Name of the repair: the draft was not complete when its tokens were used up, and its complete
lines are kept."""


@dataclass(frozen=True)
class DraftRequest:
    """What all drafts of one call have in common; ``prompt`` is what the model reads."""

    parent: Game
    scope: Sequence[Game]
    prompt: tuple[int, ...]
    origin: Provenance
    seed: int


@dataclass
class _Slot:
    """One proposal in progress: its last draft, and the cost of all its drafts."""

    index: int
    proposal: Proposal | None = None
    tokens: int = 0
    seconds: float = 0.0

    @property
    def open(self) -> bool:
        return self.proposal is None or self.proposal.game is None


def write_proposals(
    request: DraftRequest, writer: Writer, settings: LocalSettings, n: int
) -> list[Proposal]:
    """``n`` proposals, in order; those given up after ``settings.attempts`` drafts have no game,
    and a reason. Every draft has a random stream of its own."""
    drafting = _Drafting(request, writer, settings)
    slots = [_Slot(index) for index in range(n)]
    for attempt in range(settings.attempts):
        waiting = [slot for slot in slots if slot.open]
        for first in range(0, len(waiting), settings.batch):
            drafting.redraw(waiting[first : first + settings.batch], attempt)
    return [slot.proposal for slot in slots if slot.proposal is not None]


class _Drafting:
    """Writes and judges the drafts of one call."""

    def __init__(self, request: DraftRequest, writer: Writer, settings: LocalSettings) -> None:
        self.request, self.writer, self.settings = request, writer, settings
        self.known_games = KnownGames((request.parent, *request.scope))
        self.lark = grammar_for(request.parent, settings)

    def redraw(self, slots: Sequence[_Slot], attempt: int) -> None:
        """One more draft for each slot."""
        request, size = self.request, self.settings.max_tokens
        key = (request.origin.sampler, request.parent.game_id, request.seed, attempt)
        uniforms = np.stack([stream(*key, slot.index).random(size) for slot in slots])
        began = time.perf_counter()
        drafts = self.writer.write(request.prompt, self.lark, uniforms)
        seconds = (time.perf_counter() - began) / len(slots)
        for slot, draft in zip(slots, drafts, strict=True):
            slot.tokens += len(request.prompt) + draft.tokens
            slot.seconds += seconds
            slot.proposal = self._proposal(draft, slot)

    def _proposal(self, draft: Draft, slot: _Slot) -> Proposal:
        parent, origin = self.request.parent, self.request.origin
        origin = replace(origin, raw=draft.raw, tokens=slot.tokens, seconds=slot.seconds)
        text = draft.text.strip("\n")
        if not text:
            error = f"not complete after {draft.tokens} tokens"
            return Proposal(draft.raw, None, (error,), origin, Fate.UNFINISHED)
        program = parse(text, parent.dialect)
        child = fit(program, self.settings, parent.metadata)
        new = game(child, parent.metadata)
        repairs = {CUT: text != draft.raw.strip("\n"), FIT: child != program}
        origin = replace(origin, repairs=tuple(name for name, holds in repairs.items() if holds))
        if phrases := faults(child, parent, self.settings):
            return Proposal(new.code, None, (phrases[0],), origin, Fate.UNSOUND)
        if new in self.known_games:
            return Proposal(new.code, None, ("a known game",), origin, Fate.KNOWN)
        self.known_games.add(new)
        return Proposal(new.code, new, (), origin)


def grammar_for(parent: Game, settings: LocalSettings) -> str:
    """The grammar for a parent's children, which may keep its players, statements and loops."""
    grammar_settings = replace(
        settings.grammar(admitted_players(parent, settings.players)),
        truths=settings.truths or has_truths(parent.program),
        loops=settings.loops or has_loops(parent.program),
    )
    return xgl_grammar(parent.dialect, grammar_settings, filled_constants(parent)).lark()
