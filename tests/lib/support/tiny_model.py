"""A language model with random weights and a dozen words, small enough to try every move."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel

WORDS = ("dog", "cat", "sea", "boat", "king", "cake", "red", "old", "sleeps", "sails", "eats", ".")


def tiny_judge(seed: int, words: Sequence[str] = WORDS) -> TransformerJudge:
    """A judge whose tokens are ``words``, with opinions that depend on ``seed`` alone."""
    vocabulary = {word: place for place, word in enumerate(("<s>", "</s>", "<unk>", *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
    )
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    return TransformerJudge(LanguageModel(model, fast, torch.device("cpu")))
