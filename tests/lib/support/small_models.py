"""Models of two small blocks with random weights, of any family."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from xgl.lm.language_model import LanguageModel

SIZES = {"vocab_size": 128, "hidden_size": 32, "intermediate_size": 64}
HEADS = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}


def network(family: str, **settings: Any) -> Any:
    """A causal model of the ``family``, as in ``LlamaConfig``; None leaves a setting out."""
    torch.manual_seed(0)
    values = {k: v for k, v in (SIZES | HEADS | settings).items() if v is not None}
    config = getattr(transformers, f"{family}Config")(**values)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def small_model(family: str, **settings: Any) -> LanguageModel:
    """The same, without a tokenizer."""
    return LanguageModel(network(family, **settings), None, torch.device("cpu"))
