"""Prompts that continue earlier ones: the same numbers, with fewer tokens read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import GPTNeoConfig, GPTNeoForCausalLM, MistralConfig, MistralForCausalLM

from evo.jobs.multi_lora import multi_lora
from xgl.language.canonical import Metadata, game
from xgl.language.parser import parse
from xgl.lm.language_model import LanguageModel, encode_prompts
from xgl.lm.sampling import PromptCaches
from xgl.players.local import LocalPolicy
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Moved, Player, Seeds

MIB = 1 << 20
Prompts = list[tuple[int, ...]]


@contextmanager
def counted_tokens() -> Iterator[list[int]]:
    """The number of tokens of each forward pass, padding included."""
    counts: list[int] = []
    backbone = LanguageModel.backbone

    def counting(self: LanguageModel, *policies: Any, **inputs: Any) -> Any:
        counts.append(inputs["input_ids"].numel())
        return backbone(self, *policies, **inputs)

    with patch.object(LanguageModel, "backbone", counting):
        yield counts


def logits_after(
    lm: LanguageModel,
    caches: PromptCaches | None,
    prompts: Prompts,
    policies: list[str] | None = None,
) -> Tensor:
    with torch.inference_mode():
        encode = encode_prompts if caches is None else caches.encode
        return lm.logits(encode(lm, prompts, policies).last)


def assert_close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-3, rtol=0)


def texts(lm: LanguageModel, *lines: str) -> Prompts:
    return [(lm.bos, *lm.encode(line)) for line in lines]


def tokens_read(lm: LanguageModel, caches: PromptCaches | None, prompts: Prompts) -> list[int]:
    with counted_tokens() as counts:
        logits_after(lm, caches, prompts)
    return counts


FIRST = ("s: A small dog ran over the hill.\nx:", "s: The king was old and tired.\nx:")
CONTINUED = tuple(f"{text} a word\nensure: failed 1\nx:" for text in FIRST)


def test_a_continued_prompt_has_the_same_logits_and_only_what_is_new_is_read(
    lm: LanguageModel,
) -> None:
    caches = PromptCaches(64 * MIB)
    logits_after(lm, caches, texts(lm, *FIRST))
    prompts = texts(lm, *CONTINUED)
    with counted_tokens() as counts:
        continued = logits_after(lm, caches, prompts)
    assert_close(continued, logits_after(lm, None, prompts))
    suffixes = [len(p) - len(q) for p, q in zip(prompts, texts(lm, *FIRST), strict=True)]
    assert counts == [len(prompts) * max(suffixes)]


tokens = st.lists(st.integers(2, 400), min_size=1, max_size=6).map(tuple)
continuations = st.tuples(st.integers(0, 3), st.integers(0, 40), tokens, st.sampled_from("ab"))
batches = st.lists(st.lists(continuations, min_size=1, max_size=5), min_size=2, max_size=5)


@settings(max_examples=30, deadline=None)
@given(batches=batches, several=st.booleans(), bound=st.sampled_from([MIB, 64 * MIB]))
def test_any_batches_give_the_logits_of_whole_prompts(
    lm: LanguageModel,
    batches: list[list[tuple[int, int, tuple[int, ...], str]]],
    several: bool,
    bound: int,
) -> None:
    """Each prompt continues one of the batch before, cut anywhere, of one policy or of two; with
    room for every batch, or only for some."""
    with multi_lora(lm, {"a": {}, "b": {}}, 1.0) as policies_lm:
        model = policies_lm if several else lm
        caches, known = PromptCaches(bound), [(lm.bos, *range(10, 50))]
        for batch in batches:
            prompts = [
                (lm.bos, *known[at % len(known)][1:][:cut], *more) for at, cut, more, _ in batch
            ]
            policies = [name for *_, name in batch] if several else None
            expected = logits_after(model, None, prompts, policies)
            assert_close(logits_after(model, caches, prompts, policies), expected)
            known = prompts


def test_unknown_prompts_are_read_with_their_common_prefixes_once(lm: LanguageModel) -> None:
    caches = PromptCaches(64 * MIB)
    logits_after(lm, caches, texts(lm, *FIRST))
    others = texts(lm, *(f"Quite another beginning of all these texts {n}" for n in range(6)))
    assert tokens_read(lm, caches, others) == tokens_read(lm, None, others)


def test_a_batch_beyond_the_bytes_is_not_kept(lm: LanguageModel) -> None:
    caches = PromptCaches(1000)
    logits_after(lm, caches, texts(lm, *FIRST))
    assert len(caches) == 0


def test_the_oldest_batch_is_dropped_first(lm: LanguageModel) -> None:
    one = PromptCaches(64 * MIB)
    logits_after(lm, one, texts(lm, FIRST[0]))
    [batch] = one._batches
    caches = PromptCaches(2 * batch.size)
    for text in (FIRST[0], FIRST[0][:-5] + "y:", FIRST[0][:-5] + "t:"):
        logits_after(lm, caches, texts(lm, text))
    assert len(caches) < 3
    continued = texts(lm, FIRST[0][:-5] + "t: a word")
    assert tokens_read(lm, caches, continued)[0] < len(continued[0]) / 2


def test_nothing_is_kept_of_a_model_with_local_attention(lm: LanguageModel) -> None:
    """Columns of kept caches have gaps, which a width in columns would count; GPT-Neo's layers
    look like those of any other model."""
    size = {"vocab_size": lm.model.config.vocab_size, "hidden_size": 32}
    torch.manual_seed(0)
    mistral = MistralForCausalLM(
        MistralConfig(
            **size,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            sliding_window=64,
        )
    )
    neo = GPTNeoForCausalLM(
        GPTNeoConfig(
            **size,
            num_layers=2,
            attention_types=[[["global", "local"], 1]],
            num_heads=2,
            window_size=64,
        )
    )
    for model in (mistral, neo):
        local = LanguageModel(model.eval(), lm.tokenizer, lm.device)
        caches = PromptCaches(64 * MIB)
        logits_after(local, caches, texts(lm, *FIRST))
        assert len(caches) == 0


# -- plays -----------------------------------------------------------------------------------------

CODE = "assign(s=story())\nelicit(x, 6)\nensure(len(x) > 24)\nelicit(y, 6)\nreward(xed(s | x))"
RETRIES = game(parse(CODE, "xent"), Metadata(token_bits=False))
SEEDS = [Seeds(number, 0) for number in range(12)]


def play(policy: LocalPolicy, seat: Callable[[Player], Cast]) -> list[Moved]:
    plays = play_all([Instance(RETRIES, each) for each in SEEDS], seat(policy))
    return [event for each in plays for event in each.events if isinstance(event, Moved)]


def test_plays_with_failed_ensures_begin_with_the_same_moves_and_read_less(
    lm: LanguageModel, seat: Callable[[Player], Cast]
) -> None:
    with counted_tokens() as whole:
        expected = play(LocalPolicy(lm), seat)
    assert len(expected) > 4 * len(SEEDS)
    with counted_tokens() as continued:
        moves = play(LocalPolicy(lm, keep_caches=True), seat)
    assert sum(continued) < 0.6 * sum(whole)
    same = [a.move.text == b.move.text for a, b in zip(moves, expected, strict=False)]
    # Now and then sums that are rounded differently choose another token.
    assert sum(same) > 0.5 * len(expected)


def test_where_memory_runs_out_caches_go_before_the_batch_is_halved(
    lm: LanguageModel, seat: Callable[[Player], Cast], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = LocalPolicy(lm, keep_caches=True)
    expected, rows = play(policy, seat), list[int]()
    encode = PromptCaches.encode

    def full(caches: PromptCaches, lm: LanguageModel, prompts: Any, *rest: Any) -> Any:
        if len(caches):
            raise MemoryError
        rows.append(len(prompts))
        return encode(caches, lm, prompts, *rest)

    monkeypatch.setattr(PromptCaches, "encode", full)
    moves = play(policy, seat)
    assert rows[0] == len(SEEDS)
    assert [each.move.text for each in moves[:12]] == [each.move.text for each in expected[:12]]
