"""A gradient from passes in place is that of ordinary passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from evo.config.models import FinetuneConfig, WarmStartConfig
from evo.jobs import captured_gradient
from evo.jobs.captured_gradient import TokenTerms
from evo.jobs.lora import AdaptedModel, LoraSettings
from evo.jobs.policy_gradient import Credit, update
from evo.jobs.warm_start import Imitation, imitate
from xgl.lm import captured as captured_module
from xgl.lm.language_model import LanguageModel
from xgl.runtime.requests import Move


@pytest.mark.parametrize("bias", [False, True])
def test_terms_and_their_slopes_are_those_of_a_softmax(
    bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captured_gradient, "POSITIONS", 3)
    torch.manual_seed(0)
    head = nn.Linear(6, 11, bias=bias).double().requires_grad_(False)
    hidden = torch.randn(8, 6, dtype=torch.float64, requires_grad=True)
    ids, weights = torch.arange(8) % 5, torch.randn(2, 8)
    logprobs = head(hidden).log_softmax(-1)
    expected = logprobs.gather(1, ids[:, None])[:, 0], -(logprobs.exp() * logprobs).sum(-1)
    [by_softmax] = torch.autograd.grad((torch.stack(expected) * weights).sum(), hidden)
    terms = TokenTerms.apply(hidden, head, ids)
    [slope] = torch.autograd.grad((torch.stack(terms) * weights).sum(), hidden)
    for one, other in zip((*terms, slope), (*expected, by_softmax), strict=True):
        torch.testing.assert_close(one.double(), other, atol=1e-5, rtol=1e-5)


def credits_of_three_maps() -> list[Credit]:
    rng, credits = np.random.default_rng(0), []
    for place in range(3):
        prompt = (0, *rng.integers(2, 1200, 20 + 9 * place).tolist())
        for _ in range(5):
            ids = tuple(rng.integers(2, 1200, int(rng.integers(1, 10))).tolist())
            logprobs = tuple(rng.normal(-8, 2, len(ids)).tolist())
            move = Move("", prompt, ids, logprobs)
            credits.append(Credit(move, float(rng.normal()), (place, 1, 0)))
    return credits


@pytest.mark.parametrize("step", ["reinforce", "clipped ratio", "imitate", "with a divergence"])
def test_a_step_changes_the_adapter_equally(
    lm: LanguageModel, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credits, settings = credits_of_three_maps(), FinetuneConfig(gradient_clip=1e9)
    if step == "with a divergence":
        settings = replace(settings, kl=0.1)
    if step == "clipped ratio":
        settings = replace(settings, clipped_ratio=0.5)
    imitations = [[Imitation(c.move, c.map_seed, c.line, 1 + n) for n, c in enumerate(credits)]]
    lm = LanguageModel(lm.model, lm.tokenizer, lm.device)  # without passes of other tests
    adapted_model, results = AdaptedModel(lm, LoraSettings(4, 8)), []
    for devices, by_trees in (((), False), ((), True), (("cpu",), True), (("cpu",), True)):
        monkeypatch.setattr(captured_module, "DEVICES", devices)
        adapted_model.__dict__["shares_prefixes"] = by_trees  # its cached value
        with adapted_model.new_adapter(0) as player:
            for parameter in adapted_model.parameters():
                parameter.data += 0.02
            optimizer = torch.optim.SGD(adapted_model.parameters(), lr=1e-3)
            if step == "imitate":
                warm, rng = WarmStartConfig(epochs=1, batch=8), np.random.default_rng(1)
                terms = player, adapted_model, optimizer, imitations
                numbers = imitate(*terms, warm, 1e9, rng, 1 << 30)
            else:
                numbers = update(player, adapted_model, optimizer, credits, settings)
            results.append((numbers, [p.detach().clone() for p in adapted_model.parameters()]))
    assert not lm.captured.get("refused")
    used = [
        key for key in captured_module.Places.of(lm).places if key[:2] == ("gradient", "adapter")
    ]
    assert bool(used) == (step != "with a divergence")
    for numbers, adapter in results[1:]:
        assert numbers == pytest.approx(results[0][0], rel=1e-4)
        for one, other in zip(results[0][1], adapter, strict=True):
            torch.testing.assert_close(one, other, atol=1e-7, rtol=1e-4)
