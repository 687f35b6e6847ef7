"""The sampler ``local``: a causal language model writes games in the grammar of XGL.

The model reads a task line, a few games and the parent, and continues with one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import torch

from meta_sampler.base import Outcome, Proposal, Provenance, SamplerError, prompt_hash
from meta_sampler.constrained.decoding import Writer
from meta_sampler.constrained.drafts import DECODE, DraftRequest, write_proposals
from meta_sampler.screening.normal_form import normal_form
from meta_sampler.settings import LocalSettings
from xgl import Game, game, parse
from xgl.library import entries
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding
from xgl.models.resolve import load
from xgl.random_streams import stream

NAME = "local"


class Local:
    """A :class:`~meta_sampler.base.MetaSampler` without memory: it learns from no outcome.

    The model is loaded when it is first needed.
    """

    def __init__(self, settings: LocalSettings | None = None) -> None:
        self.settings = settings or LocalSettings()

    @cached_property
    def writer(self) -> Writer:
        """The model; raises :class:`~xgl.errors.ModelNotFoundError`."""
        settings = self.settings
        model, tokenizer = load(settings.model, device=settings.device, dtype=settings.dtype)
        lm = LanguageModel(model, tokenizer, torch.device(model.device))
        return Writer(lm, Decoding(settings.temperature, settings.top_p), settings.max_tokens)

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """``n`` proposals, in order; those given up have no game, and a reason."""
        return write_proposals(self._request(parent, scope, seed), self.writer, self.settings, n)

    def _request(self, parent: Game, scope: Sequence[Game], seed: int) -> DraftRequest:
        shown_games = examples(parent, scope, self.settings.examples, seed)
        prompt = self._prompt(shown_games, parent)
        while len(prompt) > self.writer.room and shown_games:
            prompt = self._prompt(shown_games := shown_games[1:], parent)
        origin = Provenance(
            NAME,
            (DECODE,),
            (parent.game_id, *(shown_game.game_id for shown_game in shown_games)),
            model=self.settings.model,
            prompt_hash=prompt_hash(prompt_text(shown_games, parent)),
        )
        return DraftRequest(parent, scope, prompt[-self.writer.room :], origin, seed)

    def _prompt(self, shown_games: Sequence[Game], parent: Game) -> tuple[int, ...]:
        lm = self.writer.lm
        return (lm.bos, *lm.encode(prompt_text(shown_games, parent)))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Empty: there is no memory."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        if state:
            raise SamplerError("the state is not of local, which keeps none")


# -- the prompt ------------------------------------------------------------------------------------

TASK = (
    "Small programs, each a text game. elicit asks a player for a text of so many tokens, "
    "reward pays it in bits: xed(s | t) is what t saves on s. "
    "Each game is a new one, related to the one before it.\n\n"
)
BETWEEN = "\n\n"
"""A blank line ends a program, in the prompt as in the grammar."""


def examples(parent: Game, scope: Sequence[Game], most: int, seed: int) -> list[Game]:
    """Games of the parent's dialect to show: the scope's first, then the library's, shuffled."""
    known_forms = {normal_form(parent.program)}
    chosen_games: list[Game] = []
    for pool in (scope, _library(parent.dialect)):
        for index in stream("examples", parent.game_id, seed).permutation(len(pool)):
            candidate = pool[int(index)]
            if (
                candidate.dialect == parent.dialect
                and normal_form(candidate.program) not in known_forms
            ):
                known_forms.add(normal_form(candidate.program))
                chosen_games.append(candidate)
    return chosen_games[:most]


@cache
def _library(dialect: str) -> tuple[Game, ...]:
    whole = [e for e in entries() if e.dialect == dialect and not e.refused]
    return tuple(game(parse(entry.text, dialect)) for entry in whole)


def prompt_text(shown_games: Sequence[Game], parent: Game) -> str:
    """The prompt; a program is to follow it."""
    return TASK + "".join(shown_game.code + BETWEEN for shown_game in (*shown_games, parent))
