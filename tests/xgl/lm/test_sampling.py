"""Sampling against the model's own distribution, recomputed without a cache or a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from support.memory import peak_bytes
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from xgl.errors import PlayerError
from xgl.lm.language_model import LanguageModel, continuation_logits
from xgl.lm.memory import rows_to_sample
from xgl.lm.sampling import Decoding, sample, stop_tokens
from xgl.random_streams import stream

PROMPTS = ("The king", "Once upon a time there was a small", "A", "The king")


def encode_texts(lm: LanguageModel, *texts: str) -> list[tuple[int, ...]]:
    return [(lm.bos, *lm.encode(text)) for text in texts]


def never(lm: LanguageModel) -> Tensor:
    return torch.zeros(int(lm.model.config.vocab_size), dtype=torch.bool)


def uniforms(rows: int, width: int) -> np.ndarray:
    return np.stack([stream("test", row).random(width) for row in range(rows)])


def distribution(lm: LanguageModel, prompt: tuple[int, ...]) -> np.ndarray:
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([prompt])).logits[0, -1].double()
    return torch.softmax(logits, 0).numpy()


def test_log_probabilities_are_the_models(lm: LanguageModel) -> None:
    prompts = encode_texts(lm, *PROMPTS)
    limits = [6, 3, 5, 4]
    completions = sample(lm, prompts, limits, uniforms(4, 6), never(lm))
    assert [len(each.ids) for each in completions] == limits
    for prompt, each in zip(prompts, completions, strict=True):
        for place, (token, logprob) in enumerate(zip(each.ids, each.logprobs, strict=True)):
            expected = np.log(distribution(lm, prompt + each.ids[:place])[token])
            assert logprob == pytest.approx(expected, abs=1e-4)


def test_training_sees_the_log_probabilities_that_sampling_saw(lm: LanguageModel) -> None:
    prompts = encode_texts(lm, *PROMPTS)
    completions = sample(lm, prompts, [6, 3, 5, 4], uniforms(4, 6), never(lm))
    with torch.no_grad():
        logits, ids, mask = continuation_logits(lm, prompts, [each.ids for each in completions])
    logprobs = logits.log_softmax(-1).gather(2, ids[:, :, None])[:, :, 0]
    for row, each in enumerate(completions):
        assert int(mask[row].sum()) == len(each.ids)
        assert logprobs[row, : len(each.ids)].tolist() == pytest.approx(each.logprobs, abs=1e-4)


def test_continuation_logits_carry_a_gradient(lm: LanguageModel) -> None:
    @dataclass(frozen=True)
    class Scaled(LanguageModel):
        scale: Tensor = field(default_factory=lambda: torch.ones(1, requires_grad=True))

        def logits(self, hidden: Tensor) -> Tensor:
            return super().logits(hidden) * self.scale

    model = Scaled(lm.model, lm.tokenizer, lm.device)
    logits, _, _ = continuation_logits(model, encode_texts(lm, "A cat"), [(5, 6)])
    logits.log_softmax(-1)[0, :, 7].sum().backward()
    assert model.scale.grad is not None
    assert float(model.scale.grad.abs()) > 0


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_sampled_distribution_is_the_models(lm: LanguageModel, temperature: float) -> None:
    """Evenly spaced uniforms: each token's count is its probability to within one draw."""
    count = 1000
    [prompt] = encode_texts(lm, PROMPTS[1])
    draws = ((np.arange(count) + 0.5) / count)[:, None]
    completions = sample(lm, [prompt] * count, [1] * count, draws, never(lm), Decoding(temperature))
    probabilities = distribution(lm, prompt) ** (1 / temperature)
    expected = count * probabilities / probabilities.sum()
    counts = np.bincount([each.ids[0] for each in completions], minlength=len(expected))
    assert np.abs(counts - expected).max() <= 1.01
    assert counts.max() > 20


STORY = "Once upon a time there was a small cat who lived by the sea and sang"
SECOND_TURNS = (STORY + " of fish.", STORY + " all day long, and well.", STORY, STORY + " of me.")


@pytest.mark.parametrize("texts", [PROMPTS, SECOND_TURNS])
def test_a_group_samples_as_its_members_would_alone(
    lm: LanguageModel, texts: tuple[str, ...]
) -> None:
    prompts, draws = encode_texts(lm, *texts), uniforms(4, 5)
    together = sample(lm, prompts, [5] * 4, draws, never(lm))
    for row, prompt in enumerate(prompts):
        [alone] = sample(lm, [prompt], [5], draws[row : row + 1], never(lm))
        assert alone.ids == together[row].ids
        assert alone.logprobs == pytest.approx(together[row].logprobs, abs=1e-4)


def test_a_stop_token_ends_its_own_row_only(lm: LanguageModel) -> None:
    prompts, draws = encode_texts(lm, "The king", "A"), uniforms(2, 8)
    free = sample(lm, prompts, [8, 8], draws, never(lm))
    mark = free[0].ids[2]
    assert mark not in free[1].ids, "another seed is needed for this test"
    stops = never(lm)
    stops[mark] = True
    with_stops = sample(lm, prompts, [8, 8], draws, stops)
    assert with_stops[0].ids == free[0].ids[: free[0].ids.index(mark) + 1]
    assert with_stops[1].ids == free[1].ids


def test_stop_tokens_are_eos_and_whatever_holds_a_newline(lm: LanguageModel) -> None:
    stops = stop_tokens(lm, "\n")
    assert stops.shape == (int(lm.model.config.vocab_size),)
    assert stops[lm.tokenizer.eos_token_id]
    assert all(stops[token] for token in lm.encode("\n"))
    assert not any(stops[token] for token in lm.encode("The king was old."))
    for token in torch.nonzero(stops)[:, 0].tolist():
        assert token == lm.tokenizer.eos_token_id or "\n" in lm.tokenizer.decode([token])


# -- temperature, nucleus, ends ------------------------------------------------------------------


def test_the_nucleus_is_the_fewest_likeliest_tokens_of_enough_mass(lm: LanguageModel) -> None:
    [prompt] = encode_texts(lm, "The king")
    probabilities = distribution(lm, prompt)
    order = np.argsort(-probabilities)
    mass = probabilities[order].cumsum()
    nucleus = set(order[: int(np.searchsorted(mass, 0.4)) + 1].tolist())
    count = 400
    draws = (np.arange(count)[:, None] + 0.5) / count
    completions = sample(lm, [prompt] * count, [1] * count, draws, never(lm), Decoding(1.0, 0.4))
    tokens = [each.ids[0] for each in completions]
    assert set(tokens) <= nucleus
    within = sum(probabilities[token] for token in nucleus)
    for token in nucleus:
        expected = count * probabilities[token] / within
        assert abs(tokens.count(token) - expected) <= 1.01
    for each in completions[:5]:  # log-probabilities are those of the whole distribution
        assert each.logprobs[0] == pytest.approx(np.log(probabilities[each.ids[0]]), abs=1e-4)


def test_temperature_zero_takes_the_likeliest_token(lm: LanguageModel) -> None:
    prompts = encode_texts(lm, *PROMPTS)
    completions = sample(lm, prompts, [1] * 4, uniforms(4, 1), never(lm), Decoding(0.0))
    for prompt, each in zip(prompts, completions, strict=True):
        probabilities = distribution(lm, prompt)
        assert each.ids == (int(probabilities.argmax()),)
        assert each.logprobs[0] == pytest.approx(np.log(probabilities.max()), abs=1e-4)


# -- local attention -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow() -> LanguageModel:
    """Sees eight tokens back, and minds which."""
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=128,
        sliding_window=8,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    model = MistralForCausalLM(config).eval()
    for parameter in model.parameters():
        parameter.data *= 6
    return LanguageModel(model, None, torch.device("cpu"))


def test_local_attention_counts_no_padding_for_text(narrow: LanguageModel) -> None:
    prompts = [tuple(range(1, 20)), (5, 6, 7), tuple(range(30, 42))]
    draws = uniforms(3, 6)
    steps: list[tuple[int, int]] = []

    def stop(row: int, ids: Sequence[int]) -> bool:
        steps.append((row, len(ids)))
        return row == 1 and len(ids) == 4

    completions = sample(narrow, prompts, [6, 5, 6], draws, never(narrow), stop_when=stop)
    assert [len(each.ids) for each in completions] == [6, 4, 6]
    assert {row for row, _ in steps} == {0, 1, 2}
    logits, ids, mask = continuation_logits(narrow, prompts, [each.ids for each in completions])
    logprobs = logits.log_softmax(-1).gather(2, ids[:, :, None])[:, :, 0]
    for row, (prompt, each) in enumerate(zip(prompts, completions, strict=True)):
        with torch.no_grad():
            whole = narrow.model(input_ids=torch.tensor([prompt + each.ids])).logits[0]
        places = range(len(prompt), len(prompt) + len(each.ids))
        expected = [
            float(whole[place - 1].log_softmax(-1)[token])
            for place, token in zip(places, each.ids, strict=True)
        ]
        assert each.logprobs == pytest.approx(expected, abs=1e-4)
        assert logprobs[row][mask[row].bool()].tolist() == pytest.approx(expected, abs=1e-4)


# -- faults and memory ---------------------------------------------------------------------------


def test_logits_that_are_not_finite_name_the_prompt(lm: LanguageModel) -> None:
    @dataclass(frozen=True)
    class Broken(LanguageModel):
        def logits(self, hidden: Tensor) -> Tensor:
            values = super().logits(hidden)
            values[1] = torch.nan
            return values

    model = Broken(lm.model, lm.tokenizer, lm.device)
    with pytest.raises(PlayerError, match=r"not finite after '.*a small'"):
        sample(model, encode_texts(lm, *PROMPTS[:3]), [2] * 3, uniforms(3, 2), never(lm))


@pytest.mark.parametrize("vocabulary", [4000, 60000])
def test_a_batch_of_moves_keeps_the_byte_budget(vocabulary: int) -> None:
    """Measured, prompts that share nothing, as many rows as are said to fit."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=512,
    )
    llama = LanguageModel(LlamaForCausalLM(config).eval(), None, torch.device("cpu"))
    limit, length, steps = 48 << 20, 250, 4
    count = rows_to_sample(llama, length + steps, limit)
    prompts = [
        tuple(np.random.default_rng(row).integers(4000, size=length)) for row in range(count)
    ]
    draws = uniforms(count, steps)
    peak = peak_bytes(
        lambda: sample(llama, prompts, [steps] * count, draws, never(llama), Decoding(0.7, 0.9))
    )
    assert limit / 4 <= peak <= limit
