"""Adapters: put on, taken off, stored; the base model stays what it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evo.jobs.lora import AdaptedModel, LoraSettings, weight_sharing_copy
from xgl.lm.language_model import LanguageModel

IDS = torch.tensor([[0, 5, 77, 1200, 9]])


def logits(lm: LanguageModel) -> Tensor:
    with torch.no_grad():
        return lm.logits(lm.backbone(input_ids=IDS).last_hidden_state)


def disturb(adapted: AdaptedModel, seed: int = 1) -> None:
    """Stands in for training: every tensor of the adapter moves."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in adapted.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=noise)


def trained(adapted: AdaptedModel, seed: int = 1) -> tuple[bytes, Tensor]:
    with adapted.new_adapter(7) as lm:
        disturb(adapted, seed)
        return adapted.adapter_bytes(), logits(lm)


@pytest.fixture
def adapted(lm: LanguageModel) -> AdaptedModel:
    return AdaptedModel(lm, LoraSettings(4, 8))


def test_a_fresh_adapter_changes_nothing(adapted: AdaptedModel) -> None:
    base = logits(adapted.base)
    with adapted.new_adapter(3) as lm:
        assert adapted.parameters()
        assert torch.equal(logits(lm), base)
    assert torch.equal(logits(adapted.base), base)
    assert not adapted.parameters()


def test_equal_training_stores_equal_bytes(adapted: AdaptedModel) -> None:
    first, _ = trained(adapted)
    assert trained(adapted)[0] == first
    assert trained(adapted, seed=2)[0] != first


def test_a_fresh_adapter_starts_from_its_seed_alone(adapted: AdaptedModel) -> None:
    stored = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(stored))
        with adapted.new_adapter(seed):
            stored.append(adapted.adapter_bytes())
    assert stored[0] == stored[1] != stored[2]


def test_a_stored_adapter_plays_as_it_was_trained(adapted: AdaptedModel) -> None:
    base = logits(adapted.base)
    adapter, expected = trained(adapted)
    assert not torch.allclose(expected, base, atol=1e-2)
    with adapted.with_adapter(adapter) as lm:
        torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(logits(adapted.base), base, atol=0, rtol=0)


def test_one_adapter_after_another_leaves_no_trace(adapted: AdaptedModel) -> None:
    (first, one), (second, two) = trained(adapted, 1), trained(adapted, 2)
    for adapter, expected in ((first, one), (second, two), (first, one)):
        with adapted.with_adapter(adapter) as lm:
            torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)


def test_bare_and_no_adapter_are_the_base_player(adapted: AdaptedModel) -> None:
    base = logits(adapted.base)
    with adapted.without_adapter(), adapted.with_adapter(None) as lm:
        assert torch.equal(logits(lm), base)
    adapter, expected = trained(adapted)
    with adapted.with_adapter(adapter) as lm:
        with adapted.without_adapter():
            assert torch.equal(logits(lm), base)
        torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)


def test_the_base_player_may_play_between_two_steps_of_training(adapted: AdaptedModel) -> None:
    """NPCs are the base player: switching the adapter off must not end its training."""
    with adapted.new_adapter(3) as lm:
        count = len(adapted.parameters())
        with adapted.without_adapter():
            logits(lm)
        assert len(adapted.parameters()) == count > 0
        loss = lm.logits(lm.backbone(input_ids=IDS).last_hidden_state).sum()
        loss.backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in adapted.parameters())


def test_an_error_takes_the_adapter_off(adapted: AdaptedModel) -> None:
    base = logits(adapted.base)

    def fail() -> None:
        with adapted.new_adapter(3):
            disturb(adapted)
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        fail()
    assert torch.equal(logits(adapted.base), base)


def test_the_judge_never_wears_the_players_adapter(lm: LanguageModel) -> None:
    judge = weight_sharing_copy(lm)
    base = logits(judge)
    adapted = AdaptedModel(lm, LoraSettings(4, 8))
    adapter, _ = trained(adapted)
    with adapted.with_adapter(adapter) as player:
        assert torch.equal(logits(judge), base)
        assert not torch.allclose(logits(player), base, atol=1e-2)
    for mine, its in zip(lm.model.parameters(), judge.model.parameters(), strict=True):
        assert mine.data_ptr() == its.data_ptr(), "the weights are not shared"


def test_adapters_may_be_confined_to_the_last_blocks(lm: LanguageModel) -> None:
    adapted = AdaptedModel(lm, LoraSettings(4, 8, layers=1))
    last = int(lm.model.config.num_hidden_layers) - 1
    for _ in range(2):
        with adapted.new_adapter(0):
            names = [n for n, p in lm.model.named_parameters() if p.requires_grad]
        assert names
        assert all(f"layers.{last}." in name for name in names)


def test_training_never_moves_the_base(adapted: AdaptedModel) -> None:
    with adapted.new_adapter(3):
        trainable = {id(parameter) for parameter in adapted.parameters()}
        names = [n for n, p in adapted.base.model.named_parameters() if id(p) in trainable]
    assert names
    assert all("lora" in name for name in names)
