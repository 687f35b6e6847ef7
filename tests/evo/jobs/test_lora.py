"""Adapters: put on, taken off, stored; the base model stays what it was."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import (
    LoraConfig,
    PeftModel,
    get_peft_model,
    get_peft_model_state_dict,
    set_peft_model_state_dict,
)
from safetensors.torch import load, save
from support.faulty_weights import FAULTS, faulty
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from evo.config.models import PlayerConfig
from evo.jobs.lora import CONFIG, AdaptedModel, with_peft_folder
from xgl.errors import ConfigError, ModelNotFoundError
from xgl.judge.loading import load_judge
from xgl.lm.language_model import LanguageModel

IDS = torch.tensor([[0, 5, 77, 1200, 9]])


def logits(lm: LanguageModel) -> Tensor:
    with torch.no_grad():
        return lm.logits(lm.backbone(input_ids=IDS).last_hidden_state)


def train_adapter(
    adapted_model: AdaptedModel, seed: int = 1, size: float = 0.05
) -> tuple[bytes, Tensor]:
    """An adapter, and what the model says with it. Noise stands in for training: every tensor
    moves."""
    noise = torch.Generator().manual_seed(seed)
    with adapted_model.attached(adapted_model.new_factors(7)) as lm:
        for parameter in adapted_model.parameters():
            parameter.data += size * torch.randn(parameter.shape, generator=noise)
        return adapted_model.adapter_bytes(), logits(lm)


@pytest.fixture
def adapted_model(lm: LanguageModel) -> AdaptedModel:
    return AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8, lora_layers=2))


def test_who_shares_the_players_weights_never_wears_its_adapter(lm: LanguageModel) -> None:
    base = logits(lm)
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8))
    adapter, _ = train_adapter(adapted_model)
    with adapted_model.with_adapter(adapter) as player:
        assert torch.equal(logits(lm), base)
        assert not torch.allclose(logits(player), base, atol=1e-2)
        assert torch.equal(logits(lm), base)
        assert player.model is lm.model


SIZES = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "vocab_size": 1300}
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig(**SIZES, intermediate_size=64), "all-linear"),
    "gpt2": (GPT2LMHeadModel, GPT2Config(**SIZES), ["c_attn", "c_proj", "c_fc"]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_adapters_are_pefts(name: str, dtype: torch.dtype) -> None:
    """They start from the same numbers, and a stored one plays the same in PEFT."""
    kind, config, targets = MODELS[name]
    torch.manual_seed(0)
    model: Any = kind(config).eval().to(dtype)
    lm = LanguageModel(model, None, torch.device("cpu"))
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=12))
    with adapted_model.attached(adapted_model.new_factors(5)):
        assert all(
            "lora" in n for n, p in adapted_model.base.model.named_parameters() if p.requires_grad
        )
        first = load(adapted_model.adapter_bytes())
    adapter, _ = train_adapter(adapted_model)
    assert {each.dtype for each in load(adapter).values()} == {dtype}
    with adapted_model.with_adapter(adapter) as played:
        assert {p.dtype for p in adapted_model.parameters()} == {torch.float32}
        expected = logits(played)
    torch.manual_seed(5)
    peft = get_peft_model(
        copy.deepcopy(model), LoraConfig(r=4, lora_alpha=12, target_modules=targets)
    )
    theirs = get_peft_model_state_dict(peft)
    assert sorted(first) == sorted(theirs)
    for key, value in first.items():
        torch.testing.assert_close(value, theirs[key].to(dtype), atol=0, rtol=0)
    set_peft_model_state_dict(peft, load(adapter))
    assert torch.equal(logits(replace(lm, model=peft.get_base_model())), expected)


@pytest.mark.parametrize("fault", FAULTS)
def test_archived_adapters_fill_their_model_or_are_refused(
    adapted_model: AdaptedModel, fault: str
) -> None:
    base = logits(adapted_model.base)
    good, _ = train_adapter(adapted_model)
    tensors, named = faulty(fault, load(good))
    with pytest.raises(ModelNotFoundError, match=named), adapted_model.with_adapter(save(tensors)):
        pass
    several = [good, None, save(tensors)]
    with pytest.raises(ModelNotFoundError, match=named), adapted_model.with_adapters(several):
        pass
    assert torch.equal(logits(adapted_model.base), base)


TARGETS = ["q_proj", "v_proj"]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rank patterns": {"rank_pattern": {"layers.1.self_attn.q_proj": 2}},
    "DoRA": {"use_dora": True},
    "modules to save": {"modules_to_save": ["lm_head"]},
    "repeated layers": {"layer_replication": [[0, 2], [1, 4]]},
}


def peft_folder(folder: Path, **options: Any) -> Path:
    """An adapter of PEFT on the embedded model, every tensor of it moved."""
    settings = {"r": 4, "lora_alpha": 8, "target_modules": TARGETS, **options}
    model = get_peft_model(load_judge("embedded").lm.model, LoraConfig(**settings))
    noise = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += 0.05 * torch.randn(parameter.shape, generator=noise)
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_folder_of_peft_plays_as_peft_plays_it(tmp_path: Path, option: str) -> None:
    folder = peft_folder(tmp_path, **OPTIONS[option])
    plain = load_judge("embedded").lm
    base = logits(plain)
    adapted = logits(with_peft_folder(load_judge("embedded").lm, folder))
    with torch.no_grad():
        expected = PeftModel.from_pretrained(plain.model, folder).eval()(input_ids=IDS).logits
    torch.testing.assert_close(adapted, expected, atol=1e-4, rtol=0)
    assert not torch.allclose(adapted, base, atol=1e-2)


@pytest.mark.parametrize(
    ("saved", "promised"),
    [
        ({}, {"use_dora": True}),
        ({}, {"target_modules": [*TARGETS, "up_proj"]}),
        ({"modules_to_save": ["lm_head"]}, {"target_modules": ["q_proj"]}),
        ({}, {"an_option_of_tomorrow": 3}),
        ({}, {"r": 0}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_a_configuration_promises_is_honoured_or_refused(
    tmp_path: Path, saved: dict[str, Any], promised: dict[str, Any]
) -> None:
    folder = peft_folder(tmp_path, **saved)
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | promised))
    refusal = r"tensors (missing|unexpected|of another)|cannot be honoured|does not load"
    with pytest.raises(ConfigError, match=refusal):
        with_peft_folder(load_judge("embedded").lm, folder)
