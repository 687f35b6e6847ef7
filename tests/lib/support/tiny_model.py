"""A language model with random weights and a dozen words: every move can be tried."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from xgl import Cast, Metadata, Seeds, game, parse
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.solvers import MapTrials

WORDS = ("dog", "cat", "sea", "boat", "king", "cake", "red", "old", "sleeps", "sails", "eats", ".")


def tiny_judge(seed: int) -> TransformerJudge:
    """A judge whose tokens are ``WORDS``, with opinions that depend on ``seed`` alone."""
    vocabulary = {word: place for place, word in enumerate(("<s>", "</s>", "<unk>", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(vocabulary), "hidden_size": 16, "intermediate_size": 32}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64}
    config = LlamaConfig(**sizes, **heads, initializer_range=0.3, bos_token_id=0, eos_token_id=1)
    model = LlamaForCausalLM(config).eval().requires_grad_(False)
    return TransformerJudge(LanguageModel(model, fast, torch.device("cpu")))


class OneText:
    """The same text at every site of a map, other ones on other maps."""

    def story_texts(self, requests: list[tuple[int, object]]) -> list[str]:
        return [
            " ".join(WORDS[(seed + 3 * k) % len(WORDS)] for k in range(5)) for seed, _ in requests
        ]


def trials_of(judge: TransformerJudge, code: str, map_seed: int = 1, max_len: int = 2) -> MapTrials:
    """A game of the xent dialect on one map."""
    settings = Metadata(story_tokens=5, max_len=max_len, max_failures=1)
    whole = game(parse(code, "xent"), settings)
    return MapTrials(whole, "black", Seeds(map_seed, 0), Cast(judge, OneText(), {}))
