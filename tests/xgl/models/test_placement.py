"""Where the parts of a model go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from xgl.models.references import placement

TWO = ["cuda:1", "cuda:0"]


@pytest.fixture(scope="module")
def model() -> Any:
    config = AutoConfig.for_model(
        "llama",
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=8,
        num_attention_heads=4,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config)


def size_of(model: Any) -> int:
    return sum(each.nbytes for each in (*model.parameters(), *model.buffers()))


def test_a_model_that_fits_is_on_the_first_device(model: Any) -> None:
    assert placement(model, TWO, [size_of(model)] * 2) == {"": "cuda:1"}


def test_blocks_are_shared_in_order_and_all_else_is_on_the_first(model: Any) -> None:
    places = placement(model, TWO, [size_of(model) * 0.6] * 2)
    blocks = [places[f"model.layers.{n}"] for n in range(8)]
    assert blocks == sorted(blocks, key=TWO.index)
    assert Counter(blocks) == {"cuda:1": 4, "cuda:0": 4}
    others = {name: place for name, place in places.items() if "layers" not in name}
    assert {"model.embed_tokens", "model.norm", "lm_head"} <= set(others)
    assert set(others.values()) == {"cuda:1"}
    every = [*model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    assert all(any(name.startswith(f"{path}.") for path in places) for name, _ in every)


def test_without_room_it_is_said_how_much_is_there(model: Any) -> None:
    with pytest.raises(ValueError, match=r"weights take .* GiB, and cuda:1, cuda:0 have room for"):
        placement(model, TWO, [size_of(model) * 0.4] * 2)
