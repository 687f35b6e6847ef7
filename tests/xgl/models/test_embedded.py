"""The committed model and its tokenizer: what the rest of the system relies on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from training.embedded.player_check import check
from training.embedded.sources import SAMPLED
from training.embedded.topicality import RULES, compression, topicality, triples
from xgl.models.corpus import read, split_of, stories
from xgl.models.resolve import load


@pytest.fixture(scope="module")
def embedded_model() -> tuple[Any, Any]:
    return load("embedded")


def test_tokenizer_adds_nothing_and_knows_its_ends(embedded_model: tuple[Any, Any]) -> None:
    model, tokenizer = embedded_model
    special = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    assert None not in special
    assert tokenizer.bos_token_id != tokenizer.eos_token_id
    assert tokenizer("")["input_ids"] == []
    assert not special & set(tokenizer("A queen and a balloon.\n")["input_ids"])
    ends = (model.config.bos_token_id, model.config.eos_token_id)
    assert ends == (tokenizer.bos_token_id, tokenizer.eos_token_id)


@settings(max_examples=50)
@given(text=st.text())
def test_every_text_survives_the_tokenizer(embedded_model: tuple[Any, Any], text: str) -> None:
    _, tokenizer = embedded_model
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text


@pytest.mark.long
def test_topicality_passes_the_gate(embedded_model: tuple[Any, Any]) -> None:
    sample = triples()[::4]
    for rule in RULES[:2]:
        result = topicality(*embedded_model, sample, rule)
        assert result.own_words >= 0.9
        assert result.own_bits > result.other_bits
        assert result.related_bits > result.related_other_bits


def test_model_compresses_unseen_stories_better_than_xz(embedded_model: tuple[Any, Any]) -> None:
    result = compression(*embedded_model, [story.text for story in stories("held_out")[:15]])
    assert result.model < 1.3 < result.xz


@pytest.mark.long
def test_untrained_player_answers_with_words_about_its_texts(
    embedded_model: tuple[Any, Any],
) -> None:
    result = check(*embedded_model, "two stories", 60)
    assert result.on_topic >= 0.5
    assert result.own_bits > result.permuted_bits
    assert result.distinct > 0.8


def test_splits_are_fixed_functions_of_the_text_disjoint_and_about_four_to_one() -> None:
    assert [split_of(text) for text in ("a", "b", "c")] == ["held_out", "train", "held_out"]
    train, held_out = ({story.text for story in stories(name)} for name in ("train", "held_out"))
    assert (len(stories("train")), len(stories("held_out"))) == (3232, 853)
    assert not train & held_out
    assert all(split_of(text) == "held_out" for text in held_out)
    samples = read(SAMPLED.read_bytes())
    assert len(samples) > 6000
    assert not {text[:80] for text in held_out} & {story.text[:80] for story in samples}
