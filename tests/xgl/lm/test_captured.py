"""Passes over tensors in place give what the ordinary passes give. On a CPU nothing is captured:
the same functions run, which is what these tests compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from evo.jobs.lora import AdaptedModel, LoraSettings
from xgl.errors import PlayerError
from xgl.lm import captured as captured_module
from xgl.lm.captured import Places, size_class
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Continuation, Decoding, StopCondition, sample, stop_tokens
from xgl.random_streams import stream

TEXTS = (
    *("The king", "Once upon a time there was a small", "A", "The king", "She ran by the sea"),
) * 3
LIMITS = [7 * row % 11 + 1 for row in range(len(TEXTS))]
NAMES = ("one", "base", "two")


@pytest.fixture
def in_place(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A switch between ordinary passes and those in place."""
    return lambda on: monkeypatch.setattr(captured_module, "DEVICES", ("cpu",) if on else ())


def moves(
    lm: LanguageModel,
    decoding: Decoding | None = None,
    policies: Sequence[str] | None = None,
    stop_when: StopCondition | None = None,
) -> list[Continuation]:
    prompts = [(lm.bos, *lm.encode(text)) for text in TEXTS]
    uniforms = np.stack([stream("captured", row).random(11) for row in range(len(TEXTS))])
    stops = stop_tokens(lm, "\n")
    return sample(lm, prompts, LIMITS, uniforms, stops, decoding, policies, stop_when)


def assert_same(lm: LanguageModel, in_place: Any, **options: Any) -> None:
    in_place(False)
    expected = moves(lm, **options)
    in_place(True)
    for _ in range(2):  # once into new places, once into used ones
        for one, other in zip(expected, moves(lm, **options), strict=True):
            assert one.ids == other.ids
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert not lm.captured.get("refused")
    assert Places.of(lm).places


def adapter(adapted_model: AdaptedModel, seed: int) -> bytes:
    with adapted_model.new_adapter(seed), torch.no_grad():
        generator = torch.Generator().manual_seed(seed)
        for parameter in adapted_model.parameters():
            parameter += 0.04 * torch.randn(parameter.shape, generator=generator)
        return adapted_model.adapter_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"decoding": Decoding(0.7, 0.8)},
        {"decoding": Decoding(0.0)},
        {"stop_when": lambda row, ids: len(ids) > row % 4},
    ],
)
def test_moves_are_those_of_ordinary_passes(
    lm: LanguageModel, in_place: Any, options: dict[str, Any]
) -> None:
    assert_same(lm, in_place, **options)


def test_each_adapter_plays_its_own_moves_in_the_same_places(
    lm: LanguageModel, in_place: Any
) -> None:
    adapted_model = AdaptedModel(lm, LoraSettings(4, 8))
    one, two = adapter(adapted_model, 1), adapter(adapted_model, 2)
    for stored in (one, None, two):
        with adapted_model.with_adapter(stored) as player:
            assert_same(player, in_place)
    policies = [NAMES[row * row % 3] for row in range(len(TEXTS))]
    with adapted_model.with_adapters(dict(zip(NAMES, (two, one, None), strict=True))) as several:
        assert_same(several, in_place, policies=policies)


def test_a_model_of_local_attention_is_sampled_by_ordinary_passes(
    lm: LanguageModel, in_place: Any
) -> None:
    config = MistralConfig(
        sliding_window=64,
        vocab_size=int(lm.model.config.vocab_size),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    other = LanguageModel(MistralForCausalLM(config).eval(), lm.tokenizer, lm.device)
    in_place(True)
    there = moves(other)
    assert "places" not in other.captured
    in_place(False)
    assert moves(other) == there


def test_logits_that_are_not_finite_are_an_error(lm: LanguageModel, in_place: Any) -> None:
    class Broken(LanguageModel):
        def logits(self, hidden: torch.Tensor) -> torch.Tensor:
            return super().logits(hidden) * float("nan")

    in_place(True)
    with pytest.raises(PlayerError, match="not finite"):
        moves(Broken(lm.model, lm.tokenizer, lm.device))


def test_memory_that_runs_out_is_the_callers_to_handle(
    lm: LanguageModel, in_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    in_place(True)
    monkeypatch.setattr(LanguageModel, "backbone", fail)
    with pytest.raises(torch.OutOfMemoryError):
        moves(lm)
    assert "places" not in lm.captured
    assert not lm.captured.get("refused")


@pytest.mark.parametrize("least", [1, 8, 32])
def test_sizes_are_few_and_waste_less_than_half(least: int) -> None:
    sizes = {count: size_class(count, least) for count in range(1, 600)}
    assert all(size >= max(count, least) for count, size in sizes.items())
    assert all(size <= max(2 * least, 1.5 * count + 1) for count, size in sizes.items())
    assert len(set(sizes.values())) <= 20
