"""The scoring engine: the same number whatever the company, the memory, the bounds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import MambaConfig, MambaForCausalLM, MistralConfig, MistralForCausalLM

from xgl.judge.engine import EngineSettings, ScoringEngine, token_bytes
from xgl.judge.packs import Row
from xgl.judge.reading import shares_beginnings
from xgl.lm import LanguageModel

LONG = EngineSettings().long_tokens
CLOSE = 1e-4
"""Bits a token by which a number may move with its company, in float32."""

Ids = tuple[int, ...]
TOKEN = st.integers(5, 4000)
BEGINNINGS = [tuple(range(100 + k, 100 + k + 9 * k)) for k in range(5)]
IDS = st.builds(
    lambda start, rest: start + tuple(rest),
    st.sampled_from(BEGINNINGS),
    st.lists(TOKEN, min_size=2, max_size=12),
)
ROWS = st.lists(
    IDS.flatmap(lambda ids: st.builds(Row, st.just(ids), st.integers(1, len(ids) - 1))),
    min_size=1,
    max_size=14,
)
SETTINGS = st.builds(
    EngineSettings,
    batch_tokens=st.sampled_from([1, 64, 200, 2048]),
    long_tokens=st.sampled_from([9, 27, 256]),
)


def alone(lm: LanguageModel, row: Row) -> list[float]:
    """Bits from a forward pass of this row only, by a softmax in float64."""
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([row.ids])).logits[0].double()
    logprobs = logits.log_softmax(-1)
    places = range(len(row.ids) - row.counted, len(row.ids))
    return [
        -float(logprobs[place - 1, row.ids[place]]) / float(torch.log(torch.tensor(2.0)))
        for place in places
    ]


@settings(max_examples=40, deadline=None)
@given(
    rows=ROWS,
    chosen=SETTINGS,
    roots=st.lists(st.sampled_from(BEGINNINGS[1:]), max_size=2),
    data=st.data(),
)
def test_the_same_number_whatever_the_company(
    lm: LanguageModel, rows: list[Row], chosen: EngineSettings, roots: list[Ids], data: Any
) -> None:
    """Batch size, order, padding, packs, roots and memory move a token by 1e-4 bits at most."""
    engine = ScoringEngine(lm, chosen, roots)
    order = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(order)))
    found = [*engine.bits(order[:cut]), *engine.bits(order[cut:]), *engine.bits(rows)]
    for row, bits in zip([*order, *rows], found, strict=True):
        assert bits == pytest.approx(alone(lm, row), abs=CLOSE)


def test_beginnings_in_common_are_read_once(lm: LanguageModel) -> None:
    start = tuple(range(50, 90))
    rows = [Row((*start, first, 8, 9), 2) for first in range(10, 20)]
    engine = ScoringEngine(lm)
    engine.bits(rows)
    assert engine.statistics.asked_tokens == 10 * 42
    assert engine.statistics.read_tokens == 40 + 10 * 2
    assert engine.statistics.forwards == 1


def test_an_announced_root_is_read_once_for_all_calls(lm: LanguageModel) -> None:
    start = tuple(range(50, 90))
    engine = ScoringEngine(lm, roots=[start])
    for first in range(10, 20):
        engine.bits([Row((*start, first, 8, 9), 2)])
    assert engine.statistics.read_tokens == 40 + 10 * 2


def test_a_long_context_that_comes_again_is_read_once_more_and_kept(lm: LanguageModel) -> None:
    """The first call packs it, the second reads it into a cache, later ones read what follows."""
    start = tuple(range(50, 50 + LONG))
    engine, read = ScoringEngine(lm), []
    for first in range(10, 14):
        row = Row((*start, first, 8, 9), 2)
        [bits] = engine.bits([row])
        assert bits == pytest.approx(alone(lm, row), abs=CLOSE)
        read.append(engine.statistics.read_tokens)
    assert [b - a for a, b in zip([0, *read], read, strict=False)] == [LONG + 2, LONG + 2, 2, 2]
    engine.forget()
    engine.bits([Row((*start, 20, 8, 9), 2)])
    assert engine.statistics.read_tokens == read[-1] + LONG + 2


def test_a_root_is_not_used_where_its_own_tokens_are_scored(lm: LanguageModel) -> None:
    start = tuple(range(50, 90))
    row = Row((*start, 10), 2)
    [bits] = ScoringEngine(lm, roots=[start]).bits([row])
    assert bits == pytest.approx(alone(lm, row), abs=CLOSE)


def test_equal_rows_are_computed_once_and_remembered(lm: LanguageModel) -> None:
    row, other = Row((10, 11, 12, 13), 2), Row((10, 12, 13), 2)
    engine = ScoringEngine(lm)
    first = engine.bits([row, row, other])
    assert engine.bits([other, row]) == [first[2], first[0]]
    found = engine.statistics
    assert (found.asked, found.merged, found.remembered) == (5, 1, 2)
    assert found.hit_rate == 0.5
    assert found.read_tokens == found.new_tokens == 3 + 2
    engine.forget()
    engine.bits([row])
    assert engine.statistics.read_tokens == 5 + 3


def test_what_does_not_fit_in_memory_is_computed_again(lm: LanguageModel) -> None:
    engine = ScoringEngine(lm, EngineSettings(remembered_bytes=0))
    row = Row((10, 11, 12), 2)
    assert engine.bits([row]) == engine.bits([row])
    assert engine.statistics.remembered == 0


def test_batches_keep_the_byte_budget(lm: LanguageModel) -> None:
    """Of the tokens asked for, only as many at once as the bytes allow."""
    small = EngineSettings(batch_tokens=4096, memory_bytes=100 * token_bytes(lm))
    engine = ScoringEngine(lm, small)
    assert engine.batch_tokens == 100
    engine.bits([Row((first, *range(20, 44)), 2) for first in range(10, 20)])
    assert engine.statistics.forwards == 3


@dataclass(frozen=True)
class Small(LanguageModel):
    """A model on a device that has room for so many tokens at once."""

    room: int = 0

    def backbone(self, policies: Any = None, **inputs: Any) -> Any:
        if inputs["input_ids"].numel() > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super().backbone(**inputs)


def test_out_of_memory_halves_the_batch_and_says_so(
    lm: LanguageModel, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [Row((first, *range(20, 30)), 3) for first in range(10, 18)]
    small = Small(lm.model, lm.tokenizer, lm.device, room=30)
    with caplog.at_level(logging.WARNING):
        found = ScoringEngine(small).bits(rows)
    assert found == ScoringEngine(lm).bits(rows)
    assert [record.message.split(":")[0] for record in caplog.records][:2] == [
        "out of memory at 8 sequences to score, going on with 4",
        "out of memory at 4 sequences to score, going on with 2",
    ]


def test_a_row_that_does_not_fit_by_itself_is_an_error(lm: LanguageModel) -> None:
    small = Small(lm.model, lm.tokenizer, lm.device, room=30)
    with pytest.raises(torch.OutOfMemoryError):
        ScoringEngine(small).bits([Row(tuple(range(10, 50)), 3)])


def _model(kind: str) -> LanguageModel:
    torch.manual_seed(0)
    if kind == "window":
        shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
        config = MistralConfig(vocab_size=128, sliding_window=8, **shape, **heads)
        return LanguageModel(MistralForCausalLM(config).eval(), None, torch.device("cpu"))
    recurrent = MambaConfig(vocab_size=128, hidden_size=32, num_hidden_layers=2)
    return LanguageModel(MambaForCausalLM(recurrent).eval(), None, torch.device("cpu"))


@pytest.mark.parametrize("kind", ["window", "recurrent"])
def test_models_that_cannot_share_beginnings_read_each_row_whole(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    odd = _model(kind)
    rows = [Row((*range(1, 31), first, 40, 41), 3) for first in range(50, 54)]
    assert not shares_beginnings(odd)
    with caplog.at_level(logging.WARNING):
        found = ScoringEngine(odd).bits(rows)
    assert "each is read whole" in caplog.text
    _agree(odd, rows, found)


def test_eager_attention_shares_beginnings_too(lm: LanguageModel) -> None:
    config = type(lm.model.config).from_dict(lm.model.config.to_dict())
    model = type(lm.model)._from_config(config, attn_implementation="eager")
    model.load_state_dict(lm.model.state_dict())
    eager = LanguageModel(model.eval(), lm.tokenizer, lm.device)
    rows = [Row((*range(50, 80), first, 8, 9), 3) for first in range(10, 14)]
    engine = ScoringEngine(eager)
    _agree(lm, rows, engine.bits(rows))
    assert engine.statistics.forwards == 1


def _agree(lm: LanguageModel, rows: Sequence[Row], found: Sequence[Sequence[float]]) -> None:
    for row, bits in zip(rows, found, strict=True):
        assert bits == pytest.approx(alone(lm, row), abs=CLOSE)
