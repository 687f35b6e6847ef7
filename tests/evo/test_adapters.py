"""Adapters: put on, taken off, stored; the base model stays what it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from evo.jobs.lora import AdapterBench, LoraSettings, content_hash, sharing_weights
from xgl.lm.language_model import LanguageModel

IDS = torch.tensor([[0, 5, 77, 1200, 9]])


def logits(lm: LanguageModel) -> Tensor:
    with torch.no_grad():
        return lm.logits(lm.backbone(input_ids=IDS).last_hidden_state)


def disturb(bench: AdapterBench, seed: int = 1) -> None:
    """Stands in for training: every tensor of the adapter moves."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in bench.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=noise)


def trained(bench: AdapterBench, seed: int = 1) -> tuple[bytes, Tensor]:
    with bench.fresh(7) as lm:
        disturb(bench, seed)
        return bench.stored(), logits(lm)


@pytest.fixture
def bench(lm: LanguageModel) -> AdapterBench:
    return AdapterBench(lm, LoraSettings(4, 8))


def test_a_fresh_adapter_changes_nothing(bench: AdapterBench) -> None:
    base = logits(bench.base)
    with bench.fresh(3) as lm:
        assert bench.parameters()
        assert torch.equal(logits(lm), base)
    assert torch.equal(logits(bench.base), base)
    assert not bench.parameters()


def test_equal_training_stores_equal_bytes(bench: AdapterBench) -> None:
    first, _ = trained(bench)
    assert trained(bench)[0] == first
    assert trained(bench, seed=2)[0] != first
    assert content_hash(first) == content_hash(trained(bench)[0])


def test_a_fresh_adapter_starts_from_its_seed_alone(bench: AdapterBench) -> None:
    stored = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(stored))
        with bench.fresh(seed):
            stored.append(bench.stored())
    assert stored[0] == stored[1] != stored[2]


def test_a_stored_adapter_plays_as_it_was_trained(bench: AdapterBench) -> None:
    base = logits(bench.base)
    adapter, expected = trained(bench)
    assert not torch.allclose(expected, base, atol=1e-2)
    with bench.wearing(adapter) as lm:
        torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(logits(bench.base), base, atol=0, rtol=0)


def test_one_adapter_after_another_leaves_no_trace(bench: AdapterBench) -> None:
    (first, one), (second, two) = trained(bench, 1), trained(bench, 2)
    for adapter, expected in ((first, one), (second, two), (first, one)):
        with bench.wearing(adapter) as lm:
            torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)


def test_bare_and_no_adapter_are_the_base_player(bench: AdapterBench) -> None:
    base = logits(bench.base)
    with bench.bare(), bench.wearing(None) as lm:
        assert torch.equal(logits(lm), base)
    adapter, expected = trained(bench)
    with bench.wearing(adapter) as lm:
        with bench.bare():
            assert torch.equal(logits(lm), base)
        torch.testing.assert_close(logits(lm), expected, atol=1e-5, rtol=0)


def test_the_base_player_may_play_between_two_steps_of_training(bench: AdapterBench) -> None:
    """NPCs are the base player: switching the adapter off must not end its training."""
    with bench.fresh(3) as lm:
        count = len(bench.parameters())
        with bench.bare():
            logits(lm)
        assert len(bench.parameters()) == count > 0
        loss = lm.logits(lm.backbone(input_ids=IDS).last_hidden_state).sum()
        loss.backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in bench.parameters())


def test_an_error_takes_the_adapter_off(bench: AdapterBench) -> None:
    base = logits(bench.base)

    def fail() -> None:
        with bench.fresh(3):
            disturb(bench)
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        fail()
    assert torch.equal(logits(bench.base), base)


def test_the_judge_never_wears_the_players_adapter(lm: LanguageModel) -> None:
    judge = sharing_weights(lm)
    base = logits(judge)
    bench = AdapterBench(lm, LoraSettings(4, 8))
    adapter, _ = trained(bench)
    with bench.wearing(adapter) as player:
        assert torch.equal(logits(judge), base)
        assert not torch.allclose(logits(player), base, atol=1e-2)
    for mine, its in zip(lm.model.parameters(), judge.model.parameters(), strict=True):
        assert mine.data_ptr() == its.data_ptr(), "the weights are not shared"


def test_adapters_may_be_confined_to_the_last_blocks(lm: LanguageModel) -> None:
    bench = AdapterBench(lm, LoraSettings(4, 8, layers=1))
    last = int(lm.model.config.num_hidden_layers) - 1
    for _ in range(2):
        with bench.fresh(0):
            names = [n for n, p in lm.model.named_parameters() if p.requires_grad]
        assert names
        assert all(f"layers.{last}." in name for name in names)


def test_training_never_moves_the_base(bench: AdapterBench) -> None:
    with bench.fresh(3):
        adapted = {id(parameter) for parameter in bench.parameters()}
        names = [n for n, p in bench.base.model.named_parameters() if id(p) in adapted]
    assert names
    assert all("lora" in name for name in names)
