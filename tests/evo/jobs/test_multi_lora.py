"""Several adapters in one pass give what each gives alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from evo.jobs.lora import AdaptedModel, LoraSettings
from evo.jobs.multi_lora import MultiLoraModel
from xgl.lm.language_model import LanguageModel, encode_prompts, pad
from xgl.lm.sampling import sample
from xgl.models import resolve
from xgl.random_streams import stream

NAMES = ("base", "one", "two", "three")
SETTINGS = LoraSettings(rank=4, alpha=8, layers=2)
TEXTS = ("The king", "Once upon a time there was a small", "A", "The king of the sea")


@pytest.fixture(scope="module")
def adapted_model() -> AdaptedModel:
    model, tokenizer = resolve.load("embedded")
    return AdaptedModel(LanguageModel(model, tokenizer, torch.device("cpu")), SETTINGS)


@pytest.fixture(scope="module")
def adapters(adapted_model: AdaptedModel) -> dict[str, bytes | None]:
    """Adapters that change the model a good deal, each in its own way."""
    adapters: dict[str, bytes | None] = {"base": None}
    for seed, name in enumerate(NAMES[1:]):
        with adapted_model.new_adapter(seed):
            generator = torch.Generator().manual_seed(seed)
            for tensor in adapted_model.parameters():
                tensor.data = 0.2 * torch.randn(tensor.shape, generator=generator)
            adapters[name] = adapted_model.adapter_bytes()
    return adapters


@pytest.fixture
def multi(
    adapted_model: AdaptedModel, adapters: dict[str, bytes | None]
) -> Iterator[MultiLoraModel]:
    with adapted_model.with_adapters(adapters) as lm:
        yield lm


def hidden_states(
    lm: LanguageModel, texts: list[str], policies: list[str] | None = None
) -> list[Tensor]:
    """Hidden states (T, H) of each text."""
    rows = [lm.encode(text) for text in texts]
    ids, lengths = pad(rows, lm.device)
    with torch.inference_mode():
        states = lm.backbone(policies, input_ids=ids, use_cache=False).last_hidden_state
    return [state[:length] for state, length in zip(states, lengths.tolist(), strict=True)]


@pytest.mark.parametrize(
    "policies",
    [
        ["base", "one", "two", "three"],
        ["two", "two", "one", "two"],
        ["base", "base", "base", "base"],
        ["three", "one", "three", "base"],
    ],
)
def test_each_row_is_read_by_its_own_policy(
    adapted_model: AdaptedModel, adapters: dict[str, bytes | None], policies: list[str]
) -> None:
    with adapted_model.with_adapters(adapters) as lm:
        together = hidden_states(lm, list(TEXTS), policies)
    for text, policy, states in zip(TEXTS, policies, together, strict=True):
        with adapted_model.with_adapter(adapters[policy]) as one:
            [alone] = hidden_states(one, [text])
        torch.testing.assert_close(states, alone, atol=1e-4, rtol=1e-4)


def test_rows_without_a_suffix_wait_while_others_read_theirs(multi: MultiLoraModel) -> None:
    """One policy's prompts have a common prefix, the other's are their own prefixes."""
    long = multi.encode("Once upon a time there was a small cat who lived by the sea")
    prompts = [(*long, 7, 8), (*long, 9), (*long, 10, 11, 12), multi.encode("The king")]
    policies = ["one", "one", "one", "two"]
    with torch.inference_mode():
        state = encode_prompts(multi, prompts, policies)
        assert state.lengths.tolist() == list(map(len, prompts))
        for row, (prompt, policy) in enumerate(zip(prompts, policies, strict=True)):
            [alone] = encode_prompts(multi, [prompt], [policy]).last
            torch.testing.assert_close(state.last[row], alone, atol=1e-4, rtol=1e-4)
    draws = np.stack([stream("mixture", row).random(6) for row in range(4)])
    never = torch.zeros(int(multi.model.config.vocab_size), dtype=torch.bool)
    together = sample(multi, prompts, [6] * 4, draws, never, policies=policies)
    for row, prompt in enumerate(prompts):
        [one] = sample(multi, [prompt], [6], draws[row : row + 1], never, policies=[policies[row]])
        assert one.ids == together[row].ids
        assert one.logprobs == pytest.approx(together[row].logprobs, abs=1e-4)
