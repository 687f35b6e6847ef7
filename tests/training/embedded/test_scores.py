"""Scoring and sampling with a model of two layers and random weights."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from support.small_models import network

from training.embedded.scores import token_bits
from training.embedded.topicality import RULES, xeds


class Letters:
    """A tokenizer whose tokens are characters."""

    bos_token_id = 0

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        return {"input_ids": [ord(character) % 97 + 1 for character in text]}


@pytest.fixture(scope="module")
def tiny() -> Any:
    with torch.random.fork_rng(devices=[]):
        return network("Llama", vocab_size=100, initializer_range=0.5)


def by_hand(model: Any, before: list[int], target: list[int]) -> float:
    total = 0.0
    for place, token in enumerate(target):
        with torch.no_grad():
            logits = model(torch.tensor([before + target[:place]])).logits[0, -1]
        total -= float(logits.log_softmax(-1)[token]) / math.log(2)
    return total


def test_bits_are_those_of_one_token_after_another(tiny: Any) -> None:
    pairs = [([0], [5, 6, 7]), ([0, 9, 9, 9], [5]), ([3, 2], [1] * 9)]
    for (before, target), row in zip(pairs, token_bits(tiny, pairs), strict=True):
        assert row.shape == (len(target),)
        assert float(row.sum()) == pytest.approx(by_hand(tiny, before, target), abs=1e-4)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_xed_follows_its_rule(tiny: Any, rule: Any) -> None:
    story, hint = "abc", "xy"
    s, t = (Letters()(text, False)["input_ids"] for text in (story, hint))
    bos = [0] if rule.bos else []
    skip = 0 if rule.first_token else 1
    expected = by_hand(tiny, bos + s[:skip], s[skip:]) - by_hand(tiny, bos + t + s[:skip], s[skip:])
    pairs = [(story, hint), ("zz", hint), (story, hint)]
    result = xeds(tiny, Letters(), pairs, rule)
    assert result[0] == result[2] == pytest.approx(expected, abs=1e-4)
