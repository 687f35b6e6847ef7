"""Tokens of XGL: byte-level BPE whose merges stay within a word and its bracket, or what is between
two words. Any text can be written; the idioms of programs are one token each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
from tokenizers.trainers import BpeTrainer

BOS, EOS = "<|bos|>", "<|eos|>"
UNIT = r"\w+[(=]?|\W+"
"""``xed(``, ``s=``, ``flag_1``; `` | ``, ``)) - ``."""


def learn(texts: Iterable[str], size: int) -> Tokenizer:
    """A tokenizer of ``size`` tokens: BOS, EOS, the 256 bytes, and the most useful merges."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = Sequence(
        [Split(Regex(UNIT), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = ByteDecoder()
    trainer = BpeTrainer(
        vocab_size=size,
        special_tokens=[BOS, EOS],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path, window: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": EOS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": window,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
