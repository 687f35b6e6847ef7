"""The sampler ``local``: a causal language model writes games in the grammar of XGL.

The model reads a task line, a few games and the parent, and continues with one program. Decoding
is constrained (:class:`Guide`): every complete draft is a valid program.
What a grammar cannot state is checked afterwards, as for a mutation: that the draft can teach
something, has no new lint warning, and is new. A draft that is refused is written again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer, grammar_from
from llguidance.hf import from_tokenizer
from torch import Tensor

from meta_sampler.base import Fate, MetaSampler, Proposal, Provenance, SamplerError, prompt_hash
from meta_sampler.grammar import xgl_grammar
from meta_sampler.settings import LocalSettings
from meta_sampler.soundness import KnownGames, admitted, child_of, filled_constants
from meta_sampler.symbolic import normal_form
from xgl.judge.loading import load_model
from xgl.language.canonical import Game, game
from xgl.language.parser import parse
from xgl.language.syntax import MAIN_PLAYER
from xgl.library import entries
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding, sample
from xgl.random_streams import stream

# -- constrained decoding --------------------------------------------------------------------------
# Before each token, tokens that cannot continue to a text of the grammar are masked (llguidance);
# the rest is renormalised and sampled.

Draft = tuple[str, str, int]
"""What a model wrote; the longest beginning of it that is a text of the grammar, empty if there is
none; and the number of tokens written, the end of text included."""


class Guide:
    """The state of a text in a grammar; ``ids`` continue those of the call before."""

    def __init__(self, vocabulary: LLTokenizer, lark: str) -> None:
        self._vocabulary, self._matcher = vocabulary, _matcher(vocabulary, lark).deep_copy()
        self._read = self._accepted = 0

    def allowed(self, ids: Sequence[int]) -> Tensor:
        """(V,) bool: tokens after which the text can still become one of the grammar."""
        bits = np.frombuffer(self._after(ids).compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little")[: self._vocabulary.vocab_size]
        return torch.from_numpy(mask.astype(bool))

    def has_ended(self, ids: Sequence[int]) -> bool:
        """Whether no token can follow the text."""
        return bool(self._after(ids).is_stopped())

    def _after(self, ids: Sequence[int]) -> LLMatcher:
        for index in range(self._read, len(ids)):
            self._matcher.consume_token(ids[index])
            if self._matcher.is_accepting() and not self._matcher.is_error():
                self._accepted = index + 1
        self._read = len(ids)
        return self._matcher

    def draft(self, ids: Sequence[int]) -> Draft:
        self._after(ids)
        return self._text(ids), self._text(ids[: self._accepted]), len(ids)

    def _text(self, ids: Sequence[int]) -> str:
        tokens = [token for token in ids if token != self._vocabulary.eos_token]
        return str(self._vocabulary.decode_bytes(tokens).decode(errors="replace"))


@lru_cache(maxsize=16)
def _matcher(vocabulary: LLTokenizer, lark: str) -> Any:
    matcher = LLMatcher(vocabulary, grammar_from("lark", lark))
    if matcher.is_error():
        reason = matcher.get_error().strip().splitlines()[0]
        raise SamplerError(f"the grammar is not one of llguidance: {reason}")
    return matcher


NAME = "local"


class Local(MetaSampler):
    """A sampler without memory: it learns from no outcome. The model is loaded when it is first
    needed."""

    def __init__(self, settings: LocalSettings | None = None) -> None:
        self.settings = settings or LocalSettings()

    def check(self) -> None:
        """By loading the model; raises what :attr:`lm` raises."""
        _ = self.lm

    @cached_property
    def lm(self) -> LanguageModel:
        """The model; raises :class:`~xgl.errors.ModelNotFoundError`, and :class:`SamplerError` if
        its window has no room for a prompt."""
        settings = self.settings
        torch.set_num_threads(1)  # sums, and so texts, must not depend on the machine's cores
        lm = load_model(settings.model, settings.dtype, settings.device)
        if lm.window <= settings.max_tokens:
            bound = f"less than the model's window of {lm.window}"
            raise SamplerError(
                f"meta_sampler.settings.max_tokens: found {settings.max_tokens}, expected {bound}"
            )
        return lm

    @cached_property
    def vocabulary(self) -> LLTokenizer:
        """The model's tokens as llguidance knows them."""
        return from_tokenizer(self.lm.tokenizer, n_vocab=int(self.lm.model.config.vocab_size))

    def write(self, prompt: tuple[int, ...], lark: str, uniforms: np.ndarray) -> list[Draft]:
        """One draft for each row of ``uniforms`` (N, T ≥ max_tokens), float64 in [0, 1). Raises
        :class:`SamplerError` when llguidance refuses the grammar."""
        lm, settings, count = self.lm, self.settings, len(uniforms)
        guides = [Guide(self.vocabulary, lark) for _ in range(count)]
        stops = torch.zeros(self.vocabulary.vocab_size, dtype=torch.bool, device=lm.device)
        stops[lm.tokenizer.eos_token_id] = True
        samples = sample(
            lm,
            [prompt] * count,
            [settings.max_tokens] * count,
            uniforms,
            stops,
            Decoding(settings.temperature, settings.top_p),
            stop_when=lambda row, ids: guides[row].has_ended(ids),
            allowed=lambda row, ids: guides[row].allowed(ids),
        )
        return [guide.draft(each.ids) for guide, each in zip(guides, samples, strict=True)]

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """``n`` proposals, in order; those given up after ``settings.attempts`` drafts have no
        game, and a reason. Every draft has a random stream of its own, so that one that is written
        again changes no other."""
        settings, constants = self.settings, filled_constants(parent)
        lark = xgl_grammar(parent.dialect, admitted(settings, parent), constants, role)
        prompt, origin = self._prompt(parent, scope, seed)
        known_games = KnownGames((parent, *scope))
        proposals = [Proposal("", None, (), origin)] * n
        for attempt in range(settings.attempts):
            waiting = [i for i, proposal in enumerate(proposals) if proposal.game is None]
            for first in range(0, len(waiting), settings.batch):
                rows = waiting[first : first + settings.batch]
                streams = [stream(NAME, parent.game_id, seed, attempt, row) for row in rows]
                uniforms = np.stack([each.random(settings.max_tokens) for each in streams])
                began = time.perf_counter()
                drafts = self.write(prompt, lark, uniforms)
                seconds = (time.perf_counter() - began) / len(rows)
                for row, draft in zip(rows, drafts, strict=True):
                    spent = proposals[row].provenance
                    tokens = spent.tokens + len(prompt) + draft[2]
                    whole = spent.seconds + seconds
                    made = replace(origin, raw=draft[0], tokens=tokens, seconds=whole)
                    proposals[row] = known_games.checked(self._child(draft, made, parent, role))
        return proposals

    def _child(self, draft: Draft, origin: Provenance, parent: Game, role: str) -> Proposal:
        """A draft as a child, known or not."""
        raw, text, tokens = draft
        text = text.strip("\n")
        if not text:
            error = f"not complete after {tokens} tokens"
            return Proposal(raw, None, (error,), origin, Fate.UNFINISHED)
        if text != raw.strip("\n"):
            # The draft was not complete when its tokens were used up; its complete lines are kept.
            origin = replace(origin, repairs=("cut",))
        return child_of(text, parent, self.settings, origin, role)

    def _prompt(
        self, parent: Game, scope: Sequence[Game], seed: int
    ) -> tuple[tuple[int, ...], Provenance]:
        """What the model reads, with as many games as fit its window, and where drafts are from."""
        games, lm = examples(parent, scope, self.settings.examples, seed), self.lm
        room = lm.window - self.settings.max_tokens
        for first in range(len(games) + 1):
            text = prompt_text(games[first:], parent)
            prompt = (lm.bos, *lm.encode(text))
            if len(prompt) <= room:
                break
        ids = tuple(each.game_id for each in (parent, *games[first:]))
        model = self.settings.model
        origin = Provenance(NAME, ("decode",), ids, model=model, prompt_hash=prompt_hash(text))
        return prompt[-room:], origin


# -- the prompt ------------------------------------------------------------------------------------

TASK = (
    "Small programs, each a text game. elicit asks a player for a text of so many tokens, "
    "reward pays it in bits: xed(s | t) is what t saves on s. "
    "Each game is a new one, related to the one before it.\n\n"
)


def examples(parent: Game, scope: Sequence[Game], most: int, seed: int) -> list[Game]:
    """Games of the parent's dialect to show: the scope's first, then the library's, shuffled."""
    known_forms = {normal_form(parent.program)}
    chosen_games: list[Game] = []
    for pool in (scope, _library(parent.dialect)):
        for index in stream("examples", parent.game_id, seed).permutation(len(pool)):
            candidate = pool[int(index)]
            form = normal_form(candidate.program)
            if candidate.dialect == parent.dialect and form not in known_forms:
                known_forms.add(form)
                chosen_games.append(candidate)
    return chosen_games[:most]


@cache
def _library(dialect: str) -> tuple[Game, ...]:
    whole = [e for e in entries() if e.dialect == dialect and not e.ill_posed]
    return tuple(game(parse(entry.text, dialect)) for entry in whole)


def prompt_text(shown_games: Sequence[Game], parent: Game) -> str:
    """The prompt; a program is to follow it. A blank line ends one, as in the grammar."""
    return TASK + "".join(f"{each.code}\n\n" for each in (*shown_games, parent))
