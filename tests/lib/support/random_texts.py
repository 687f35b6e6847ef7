"""Texts of a grammar by a model that finds every allowed token equally likely."""

from __future__ import annotations

from functools import cache

import numpy as np
from llguidance import LLTokenizer
from llguidance.hf import from_tokenizer
from transformers import AutoTokenizer

from meta_sampler.local import Guide
from xgl.models.resolve import EMBEDDED
from xgl.random_streams import stream

LONGEST = 6000
"""Tokens of a text, far beyond what the grammars admit."""


@cache
def vocabulary() -> LLTokenizer:
    return from_tokenizer(AutoTokenizer.from_pretrained(EMBEDDED))


def random_text(lark: str, seed: int, stop: float = 0.3) -> str:
    """A text of the grammar; where it may end it does with probability ``stop``.

    Asserts that some token is allowed wherever the text is not complete.
    """
    tokenizer, draws = vocabulary(), stream("random text", seed)
    guide, ids = Guide(tokenizer, lark), list[int]()
    while not guide.has_ended(ids) and len(ids) < LONGEST:
        tokens = np.flatnonzero(guide.allowed(ids).numpy())
        assert len(tokens), tokenizer.decode_str(ids)
        if tokenizer.eos_token in tokens and (len(tokens) == 1 or draws.random() < stop):
            break
        ids.append(int(draws.choice(tokens[tokens != tokenizer.eos_token])))
    raw, text, _ = guide.draft(ids)
    assert text == raw
    return text


def accepts(lark: str, text: str) -> bool:
    """Whether a text is one of the grammar."""
    tokenizer = vocabulary()
    return Guide(tokenizer, lark).draft(tokenizer.tokenize_str(text))[1] == text
