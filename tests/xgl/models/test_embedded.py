"""The committed model and its tokenizer: what the rest of the system relies on."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.embedded.player_check import check
from training.embedded.topicality import RULES, compression, topicality, triples
from xgl.models.corpus import stories
from xgl.models.resolve import EMBEDDED, load

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def embedded_model() -> tuple[Any, Any]:
    return load("embedded")


def test_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.rglob("*")) <= 16 * MEGABYTE


def test_model_is_a_small_llama_with_room_for_a_game(embedded_model: tuple[Any, Any]) -> None:
    model, tokenizer = embedded_model
    assert type(model).__name__ == "LlamaForCausalLM"
    assert 1_000_000 < model.num_parameters() < 4_000_000
    assert model.config.max_position_embeddings >= 512
    assert model.config.vocab_size == len(tokenizer) == 4096
    assert next(model.parameters()).dtype == torch.float32


def test_tokenizer_adds_nothing_and_knows_its_ends(embedded_model: tuple[Any, Any]) -> None:
    _, tokenizer = embedded_model
    special = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    assert None not in special
    assert tokenizer.bos_token_id != tokenizer.eos_token_id
    assert tokenizer("")["input_ids"] == []
    assert not special & set(tokenizer("A queen and a balloon.\n")["input_ids"])


@settings(max_examples=200, deadline=None)
@given(text=st.text())
def test_every_text_survives_the_tokenizer(text: str) -> None:
    _, tokenizer = load_once()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text


def load_once(cache: list[Any] = []) -> tuple[Any, Any]:  # noqa: B006  # the cache of this module
    if not cache:
        cache.append(load("embedded"))
    return cache[0]


def test_code_is_not_split_to_bytes(embedded_model: tuple[Any, Any]) -> None:
    _, tokenizer = embedded_model
    code = "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))\n"
    assert len(tokenizer(code)["input_ids"]) < 0.55 * len(code)


def test_model_config_and_tokenizer_agree(embedded_model: tuple[Any, Any]) -> None:
    model, tokenizer = embedded_model
    assert model.config.bos_token_id == tokenizer.bos_token_id
    assert model.config.eos_token_id == tokenizer.eos_token_id


@pytest.mark.long
def test_topicality_passes_the_gate(embedded_model: tuple[Any, Any]) -> None:
    sample = triples()[::2]
    for rule in RULES[:2]:
        result = topicality(*embedded_model, sample, rule)
        assert result.own_words >= 0.9
        assert result.own_bits > result.other_bits
        assert result.related_bits > result.related_other_bits


def test_model_compresses_unseen_stories_better_than_xz(embedded_model: tuple[Any, Any]) -> None:
    result = compression(*embedded_model, [story.text for story in stories("held_out")[:100]])
    assert result.model < 1.3 < result.xz


@pytest.mark.long
def test_untrained_player_answers_with_words_about_its_texts(
    embedded_model: tuple[Any, Any],
) -> None:
    result = check(*embedded_model, "two stories", 60)
    assert result.on_topic >= 0.5
    assert result.own_bits > result.permuted_bits
    assert result.distinct > 0.8
