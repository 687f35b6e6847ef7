"""Caches of every family of models, by the names that the installed transformers gives them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers

from xgl.judge.engine import EngineSettings, ScoringEngine
from xgl.lm.language_model import LanguageModel, encode_prompts, extend
from xgl.lm.prefix_sharing import ScoredSequence

SHARED = tuple(range(1, 60))
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {},
    "Mistral": {"sliding_window": None},
    "Qwen2": {},
    "Qwen3": {"head_dim": 16},
    "GPTNeoX": {},
    "GPT2": {"n_positions": 128},
}


@pytest.fixture(autouse=True)
def deprecations_are_errors() -> Iterator[None]:
    def refuse(record: logging.LogRecord) -> bool:
        assert "deprecated" not in record.getMessage()
        return True

    logger = logging.getLogger("transformers.utils.generic")
    logger.addFilter(refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        yield
    logger.removeFilter(refuse)


def model(family: str) -> LanguageModel:
    torch.manual_seed(0)
    heads: dict[str, Any] = {"num_attention_heads": 2, "num_hidden_layers": 2}
    if family not in ("GPTNeoX", "GPT2"):
        heads["num_key_value_heads"] = 1
    sizes = {"vocab_size": 96, "hidden_size": 32, "intermediate_size": 64, **heads}
    config = getattr(transformers, f"{family}Config")(**sizes, **FAMILIES[family])
    network = transformers.AutoModelForCausalLM.from_config(config)
    return LanguageModel(network.eval(), None, torch.device("cpu"))


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_a_continued_cache_gives_what_the_whole_text_gives(family: str) -> None:
    lm = model(family)
    state = encode_prompts(lm, [(*SHARED, 61), (*SHARED, 62, 63), (*SHARED, 61)])
    hidden, after = extend(lm, state, torch.tensor([[5, 6], [7, 8], [9, 10]]))
    whole = lm.model(input_ids=torch.tensor([[*SHARED, 62, 63, 7, 8]])).logits[0, -2:]
    torch.testing.assert_close(lm.logits(hidden[1]), whole, atol=1e-4, rtol=0)
    assert after.lengths.tolist() == [62, 63, 62]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cached_prefix_gives_the_bits_of_the_whole_text(family: str) -> None:
    lm = model(family)
    rows = [ScoredSequence((*SHARED, 61 + k, 5, 6), len(SHARED)) for k in range(20)]
    together = ScoringEngine(lm, EngineSettings(long_tokens=9)).bits(rows)
    for row, bits in zip(rows, together, strict=True):
        assert bits == pytest.approx(ScoringEngine(lm).bits([row])[0], abs=1e-4)
