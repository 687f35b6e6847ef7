"""Sampling against the model's own distribution, recomputed without a cache or a batch; and passes
over tensors in place, which give what ordinary ones give (on a CPU nothing is captured)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from support.memory import peak_bytes
from support.small_models import small_model
from torch import Tensor

from evo.config.models import PlayerConfig
from evo.jobs.lora import AdaptedModel
from xgl.errors import PlayerError
from xgl.lm import captured as captured_module
from xgl.lm.captured import Places, size_class
from xgl.lm.language_model import LanguageModel, distinct_prompts, encode_distinct, select_rows
from xgl.lm.memory import rows_to_sample
from xgl.lm.sampling import Continuation, Decoding, PromptCaches, StopCondition, sample, stop_tokens
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
    prompts, limits = encode_texts(lm, *PROMPTS), [6, 3, 5, 4]
    completions = sample(lm, prompts, limits, uniforms(4, 6), never(lm))
    assert [len(each.ids) for each in completions] == limits
    for prompt, each in zip(prompts, completions, strict=True):
        for place, (token, logprob) in enumerate(zip(each.ids, each.logprobs, strict=True)):
            expected = np.log(distribution(lm, prompt + each.ids[:place])[token])
            assert logprob == pytest.approx(expected, abs=1e-4)


def test_the_sampled_distribution_is_the_models(lm: LanguageModel) -> None:
    """Evenly spaced uniforms: each token's count is its probability to within one draw."""
    count = 500
    [prompt] = encode_texts(lm, PROMPTS[1])
    draws = ((np.arange(count) + 0.5) / count)[:, None]
    for temperature in (1.0, 0.5):
        found = sample(lm, [prompt] * count, [1] * count, draws, never(lm), Decoding(temperature))
        probabilities = distribution(lm, prompt) ** (1 / temperature)
        expected = count * probabilities / probabilities.sum()
        counts = np.bincount([each.ids[0] for each in found], minlength=len(expected))
        assert np.abs(counts - expected).max() <= 1.01
        assert counts.max() > 10


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


@pytest.fixture(scope="module")
def narrow() -> LanguageModel:
    """Sees eight tokens back, and minds which."""
    lm = small_model("Mistral", sliding_window=8, num_key_value_heads=1)
    for parameter in lm.model.parameters():
        parameter.data *= 6
    return lm


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
    for prompt, each in zip(prompts, completions, strict=True):
        with torch.no_grad():
            whole = narrow.model(input_ids=torch.tensor([prompt + each.ids])).logits[0]
        logprobs = whole[len(prompt) - 1 : -1].log_softmax(-1)
        expected = logprobs.gather(1, torch.tensor(each.ids)[:, None])[:, 0].tolist()
        assert each.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("on", [False, True])
def test_logits_that_are_not_finite_name_the_prompt(
    lm: LanguageModel, in_place: Any, on: bool
) -> None:
    @dataclass(frozen=True)
    class Broken(LanguageModel):
        def logits(self, hidden: Tensor) -> Tensor:
            values = super().logits(hidden)
            values[1] = torch.nan
            return values

    in_place(on)
    model = Broken(lm.model, lm.tokenizer, lm.device)
    with pytest.raises(PlayerError, match=r"not finite after '.*a small'"):
        sample(model, encode_texts(lm, *PROMPTS[:3]), [2] * 3, uniforms(3, 2), never(lm))


@pytest.mark.parametrize("vocabulary", [4000, 60000])
def test_a_batch_of_moves_keeps_the_byte_budget(vocabulary: int) -> None:
    """Measured, prompts that share nothing, as many rows as are said to fit."""
    sizes = {"hidden_size": 64, "intermediate_size": 256, "max_position_embeddings": 512}
    heads = {"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4}
    llama = small_model("Llama", vocab_size=vocabulary, **sizes, **heads)
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


MIB = 1 << 20


def logits_after(
    lm: LanguageModel,
    caches: PromptCaches | None,
    prompts: list[tuple[int, ...]],
    policies: list[str] | None = None,
) -> Tensor:
    with torch.inference_mode():
        encode = encode_distinct if caches is None else caches.encode
        distinct, owner = distinct_prompts(prompts, policies)
        return lm.logits(select_rows(encode(lm, distinct), owner).last)


def assert_close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-3, rtol=0)


FIRST = ("s: A small dog ran over the hill.\nx:", "s: The king was old and tired.\nx:")
CONTINUED = tuple(f"{text} a word\nensure: failed 1\nx:" for text in FIRST)


def test_a_continued_prompt_has_the_same_logits_and_only_what_is_new_is_read(
    lm: LanguageModel,
) -> None:
    caches = PromptCaches(64 * MIB)
    logits_after(lm, caches, encode_texts(lm, *FIRST))
    prompts, counts, backbone = encode_texts(lm, *CONTINUED), list[int](), LanguageModel.backbone

    def counted(self: LanguageModel, *policies: Any, **inputs: Any) -> Any:
        counts.append(inputs["input_ids"].numel())  # padding included
        return backbone(self, *policies, **inputs)

    with patch.object(LanguageModel, "backbone", counted):
        continued = logits_after(lm, caches, prompts)
    assert_close(continued, logits_after(lm, None, prompts))
    suffixes = [len(p) - len(q) for p, q in zip(prompts, encode_texts(lm, *FIRST), strict=True)]
    assert counts == [len(prompts) * max(suffixes)]


tokens = st.lists(st.integers(2, 400), min_size=1, max_size=6).map(tuple)
continuations = st.tuples(st.integers(0, 3), st.integers(0, 40), tokens, st.sampled_from("01"))
batches = st.lists(st.lists(continuations, min_size=1, max_size=5), min_size=2, max_size=5)


def test_the_prompt_that_was_used_longest_ago_is_dropped_first(lm: LanguageModel) -> None:
    first, second, third = ((lm.bos, *range(10 * k, 10 * k + 9)) for k in (2, 4, 6))
    one = PromptCaches(64 * MIB)
    logits_after(lm, one, [first])
    caches = PromptCaches(int(2.2 * one.kept.currsize))
    for prompts in ([first], [second], [(*first[:-1], 9)], [third]):
        logits_after(lm, caches, prompts)
    assert ("", third) in caches.kept
    assert ("", second) not in caches.kept
    assert caches.kept.currsize <= caches.kept.maxsize


@settings(max_examples=12)
@given(batches=batches, several=st.booleans(), bound=st.sampled_from([MIB, 64 * MIB]))
def test_any_batches_give_the_logits_of_whole_prompts(
    lm: LanguageModel,
    batches: list[list[tuple[int, int, tuple[int, ...], str]]],
    several: bool,
    bound: int,
) -> None:
    """Each prompt continues one of the batch before, cut anywhere, of one policy or of two; with
    room for every batch, or only for some."""
    two = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8)).with_factors([None, None])
    with two if several else nullcontext(lm) as model:
        caches, known = PromptCaches(bound), [(lm.bos, *range(10, 50))]
        for batch in batches:
            prompts = [
                (lm.bos, *known[at % len(known)][1:][:cut], *more) for at, cut, more, _ in batch
            ]
            policies = [name for *_, name in batch] if several else None
            expected = logits_after(model, None, prompts, policies)
            assert_close(logits_after(model, caches, prompts, policies), expected)
            known = prompts


def test_nothing_is_kept_of_a_model_with_local_attention(narrow: LanguageModel) -> None:
    """Columns of kept caches have gaps, which a width in columns would count."""
    caches = PromptCaches(64 * MIB)
    logits_after(narrow, caches, [(1, 2, 3, 4), (1, 2, 5)])
    assert not caches.kept


TEXTS = (*PROMPTS, "She ran by the sea") * 3
LIMITS = [7 * row % 11 + 1 for row in range(len(TEXTS))]
NAMES = ("0", "1", "2")


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
    with adapted_model.attached(adapted_model.new_factors(seed)), torch.no_grad():
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
    adapted_model = AdaptedModel(lm, PlayerConfig(lora_rank=4, lora_alpha=8))
    one, two = adapter(adapted_model, 1), adapter(adapted_model, 2)
    for stored in (one, None, two):
        with adapted_model.with_adapter(stored) as player:
            assert_same(player, in_place)
    policies = [NAMES[row * row % 3] for row in range(len(TEXTS))]
    with adapted_model.with_adapters([two, one, None]) as several:
        assert_same(several, in_place, policies=policies)


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
