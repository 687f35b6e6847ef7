"""Prompts that continue those of the turn before: the same numbers, with fewer tokens read."""

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
from transformers import MistralConfig, MistralForCausalLM

from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.lm.language_model import LanguageModel, encode_prompts
from xgl.lm.prompt_memory import PromptMemory
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

    with patch.object(LanguageModel, "backbone", counting), torch.inference_mode():
        yield counts


def logits_after(lm: LanguageModel, memory: PromptMemory | None, prompts: Prompts) -> Tensor:
    with torch.inference_mode():
        encode = memory.encode if memory else encode_prompts
        return lm.logits(encode(lm, prompts).last)


def texts(lm: LanguageModel, *lines: str) -> Prompts:
    return [(lm.bos, *lm.encode(line)) for line in lines]


FIRST = ("s: A small dog ran over the hill.\nx:", "s: The king was old and tired.\nx:")
CONTINUED = tuple(f"{text} a word\nensure: failed 1\nx:" for text in FIRST)


def test_a_continued_prompt_has_the_same_logits_and_reads_only_what_is_new(
    lm: LanguageModel,
) -> None:
    memory = PromptMemory(64 * MIB)
    logits_after(lm, memory, texts(lm, *FIRST))
    memory.next_turn()
    prompts = texts(lm, *CONTINUED)
    with counted_tokens() as counts:
        recalled = logits_after(lm, memory, prompts)
    torch.testing.assert_close(recalled, logits_after(lm, None, prompts), atol=1e-3, rtol=0)
    suffixes = [len(p) - len(q) for p, q in zip(prompts, texts(lm, *FIRST), strict=True)]
    assert counts == [len(prompts) * max(suffixes)]


tokens = st.lists(st.integers(2, 400), min_size=1, max_size=6).map(tuple)
turns = st.lists(
    st.lists(st.tuples(st.integers(0, 3), tokens), min_size=1, max_size=4), min_size=2, max_size=4
)


@settings(max_examples=40, deadline=None)
@given(turns=turns, batches=st.integers(1, 3))
def test_any_turns_give_the_logits_of_an_empty_memory(
    lm: LanguageModel, turns: list[list[tuple[int, tuple[int, ...]]]], batches: int
) -> None:
    """Each prompt continues one of the turn before, cut anywhere; batches of a turn are mixed."""
    memory = PromptMemory(64 * MIB)
    known: Prompts = [(lm.bos, *range(10, 40))]
    for turn in turns:
        memory.next_turn()
        prompts = [known[at % len(known)][: 12 + 5 * at] + more for at, more in turn]
        for first in range(batches):
            if batch := prompts[first::batches]:
                expected = logits_after(lm, None, batch)
                recalled = logits_after(lm, memory, batch)
                torch.testing.assert_close(recalled, expected, atol=1e-3, rtol=0)
        known = prompts


def test_unknown_prompts_are_read_with_their_common_prefixes_once(lm: LanguageModel) -> None:
    memory = PromptMemory(64 * MIB)
    logits_after(lm, memory, texts(lm, *FIRST))
    memory.next_turn()
    others = texts(lm, *(f"Quite another beginning of all these texts {n}" for n in range(6)))
    with counted_tokens() as counts:
        logits_after(lm, memory, others)
    with counted_tokens() as expected:
        logits_after(lm, None, others)
    assert counts == expected


@pytest.mark.parametrize("bound", [0, 1000])
def test_more_than_its_bytes_is_not_kept(lm: LanguageModel, bound: int) -> None:
    memory = PromptMemory(bound)
    logits_after(lm, memory, texts(lm, *FIRST))
    memory.next_turn()
    prompts = texts(lm, *CONTINUED)
    with counted_tokens() as counts:
        logits_after(lm, memory, prompts)
    with counted_tokens() as expected:
        logits_after(lm, None, prompts)
    assert counts == expected


def test_a_model_with_local_attention_is_read_from_the_beginning(lm: LanguageModel) -> None:
    config = MistralConfig(
        vocab_size=lm.model.config.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        sliding_window=64,
    )
    torch.manual_seed(0)
    local = LanguageModel(MistralForCausalLM(config).eval(), lm.tokenizer, lm.device)
    memory = PromptMemory(64 * MIB)
    logits_after(local, memory, texts(lm, *FIRST))
    memory.next_turn()
    prompts = texts(lm, *CONTINUED)
    with counted_tokens() as counts:
        recalled = logits_after(local, memory, prompts)
    with counted_tokens() as expected:
        assert torch.equal(recalled, logits_after(local, None, prompts))
    assert counts == expected


RETRIES = game(
    parse(
        "assign(s=story())\nelicit(x, 6)\nensure(len(x) > 12)\nelicit(y, 6)\nreward(xed(s | x))",
        "xent",
    )
)
SEEDS = [Seeds(number, 0) for number in range(12)]


def moves_of(policy: LocalPolicy, seat: Callable[[Player], Cast]) -> list[list[str]]:
    plays = play_all([Instance(RETRIES, each) for each in SEEDS], seat(policy))
    return [[e.move.text for e in play.events if isinstance(e, Moved)] for play in plays]


def test_plays_with_failed_ensures_have_the_same_moves_and_read_less(
    lm: LanguageModel, seat: Callable[[Player], Cast]
) -> None:
    with counted_tokens() as whole:
        expected = moves_of(LocalPolicy(lm), seat)
    assert any(len(moves) > 3 for moves in expected)
    with counted_tokens() as remembered:
        assert moves_of(LocalPolicy(lm, remember=True), seat) == expected
    assert sum(remembered) < 0.6 * sum(whole)


def test_a_policy_that_forgets_reads_everything_again(
    lm: LanguageModel, seat: Callable[[Player], Cast]
) -> None:
    policy = LocalPolicy(lm, remember=True)
    with counted_tokens() as first:
        moves_of(policy, seat)
    policy.forget()
    with counted_tokens() as again:
        moves_of(policy, seat)
    assert first == again
