"""Constrained decoding: a language model writes texts of a grammar, and nothing else.

Before each token, tokens that cannot continue to a text of the grammar are masked (llguidance); the
rest is renormalised and sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer, grammar_from
from llguidance.hf import from_tokenizer
from torch import Tensor

from meta_sampler.base import SamplerError
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Decoding, sample


@dataclass(frozen=True)
class Draft:
    """What a model wrote, and the longest beginning of it that is a text of the grammar."""

    raw: str
    text: str
    """Empty if no beginning is such a text."""
    tokens: int
    """Tokens written, the end of text included."""


class Writer:
    """Writes texts of grammars with one model."""

    def __init__(self, lm: LanguageModel, decoding: Decoding, max_tokens: int) -> None:
        self.lm, self.decoding, self.max_tokens = lm, decoding, max_tokens
        size = int(lm.model.config.vocab_size)
        self.vocabulary = from_tokenizer(lm.tokenizer, n_vocab=size)
        self._stops = torch.zeros(size, dtype=torch.bool, device=lm.device)
        self._stops[lm.tokenizer.eos_token_id] = True
        if self.room < 1:
            bound = f"less than the model's window of {lm.window}"
            raise SamplerError(f"max_tokens is {max_tokens}, expected {bound}")

    @property
    def room(self) -> int:
        """Most tokens of a prompt."""
        return self.lm.window - self.max_tokens

    def write(self, prompt: tuple[int, ...], lark: str, uniforms: np.ndarray) -> list[Draft]:
        """One draft for each row of ``uniforms`` (N, T ≥ max_tokens), float64 in [0, 1).

        Raises :class:`SamplerError` when llguidance refuses the grammar.
        """
        guides = Guides(self.vocabulary, lark, len(uniforms))
        samples = sample(
            self.lm,
            [prompt] * len(uniforms),
            [self.max_tokens] * len(uniforms),
            uniforms,
            self._stops,
            self.decoding,
            stop_when=guides.has_ended,
            allowed=guides.allowed,
        )
        return [guides.draft(row, each.ids) for row, each in enumerate(samples)]


class Guides:
    """The states of several texts in one grammar."""

    def __init__(self, vocabulary: LLTokenizer, lark: str, count: int) -> None:
        self._vocabulary = vocabulary
        start = _matcher(vocabulary, lark)
        self._matchers = [start.deep_copy() for _ in range(count)]
        self._read_lengths = [0] * count
        self._accepted_lengths = [0] * count

    def allowed(self, row: int, ids: Sequence[int]) -> Tensor:
        """(V,) bool: tokens after which the text of a row can still become one of the grammar."""
        matcher = self._after(row, ids)
        bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
        mask = np.unpackbits(bits, bitorder="little")[: self._vocabulary.vocab_size]
        return torch.from_numpy(mask.astype(bool))

    def has_ended(self, row: int, ids: Sequence[int]) -> bool:
        """Whether no token can follow the text of a row."""
        return bool(self._after(row, ids).is_stopped())

    def _after(self, row: int, ids: Sequence[int]) -> LLMatcher:
        """The matcher of a row after it has read ``ids``, which continue what it read before."""
        matcher = self._matchers[row]
        for index in range(self._read_lengths[row], len(ids)):
            matcher.consume_token(ids[index])
            if matcher.is_accepting() and not matcher.is_error():
                self._accepted_lengths[row] = index + 1
        self._read_lengths[row] = len(ids)
        return matcher

    def draft(self, row: int, ids: Sequence[int]) -> Draft:
        """The draft in a row."""
        self._after(row, ids)
        accepted_ids = ids[: self._accepted_lengths[row]]
        return Draft(self._text(ids), self._text(accepted_ids), len(ids))

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


def accepts(vocabulary: LLTokenizer, lark: str, text: str) -> bool:
    """Whether a text is one of the grammar."""
    matcher = _matcher(vocabulary, lark).deep_copy()
    return bool(matcher.consume_tokens(vocabulary.tokenize_str(text)) and matcher.is_accepting())
