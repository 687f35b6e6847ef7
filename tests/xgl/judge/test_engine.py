"""The scoring engine: the same number whatever else is in the batch, the caches, the bounds."""

from __future__ import annotations

import copy
import logging
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from support.memory import peak_bytes
from support.small_models import small_model

from xgl.judge.engine import ENTRY_BYTES, Engine, ScoringEngine
from xgl.judge.forward import supports_prefix_sharing
from xgl.lm.captured import Places
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence

CLOSE = 1e-4
"""Bits a token by which a number may move with the rest of its batch, in float32."""

Ids = tuple[int, ...]
Sequences = list[ScoredSequence]
TOKEN = st.integers(5, 4000)
PREFIXES = [tuple(range(100 + k, 100 + k + 9 * k)) for k in range(5)]
IDS = st.builds(
    lambda start, rest: start + tuple(rest),
    st.sampled_from(PREFIXES),
    st.lists(TOKEN, min_size=2, max_size=12),
)
ROWS = st.lists(
    IDS.flatmap(lambda ids: st.builds(ScoredSequence, st.just(ids), st.integers(1, len(ids) - 1))),
    min_size=1,
    max_size=14,
)


def alone(lm: LanguageModel, row: ScoredSequence) -> list[float]:
    """Bits from a forward pass of this row only, by a softmax in float64."""
    with torch.no_grad():
        logits = lm.model(input_ids=torch.tensor([row.ids])).logits[0].double()
    logprobs = logits.log_softmax(-1)
    places = range(len(row.ids) - row.target_count, len(row.ids))
    return [
        -float(logprobs[place - 1, row.ids[place]]) / float(torch.log(torch.tensor(2.0)))
        for place in places
    ]


@settings(max_examples=8)
@given(rows=ROWS, batch_tokens=st.sampled_from([1, 64, 200, 2048]), data=st.data())
def test_the_same_number_whatever_else_is_in_the_batch(
    lm: LanguageModel, rows: Sequences, batch_tokens: int, data: Any
) -> None:
    """Batch size, order, padding, trees, prefixes and caches move a token by 1e-4 bits at most."""
    engine = ScoringEngine(lm, batch_tokens=batch_tokens)
    order = data.draw(st.permutations(rows))
    boundary = data.draw(st.integers(0, len(order)))
    scores = [*engine.bits(order[:boundary]), *engine.bits(order[boundary:]), *engine.bits(rows)]
    bits_alone = {row: alone(lm, row) for row in rows}
    for row, bits in zip([*order, *rows], scores, strict=True):
        assert bits == pytest.approx(bits_alone[row], abs=CLOSE)


def test_chains_read_in_place_have_the_same_bits(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where such a pass is captured; a place is used again by other texts."""
    monkeypatch.setattr("xgl.lm.captured.DEVICES", ("cpu",))
    own, rng = LanguageModel(lm.model, lm.tokenizer, lm.device), np.random.default_rng(0)
    engine = ScoringEngine(own, batch_tokens=256)
    for width in (30, 21, 30, 9):
        ids = [tuple(rng.integers(5, 4000, width - row % 4).tolist()) for row in range(9)]
        rows = [ScoredSequence(each, 1 + row % 3) for row, each in enumerate(ids)]
        for row, bits in zip(rows, engine.bits(rows), strict=True):
            assert bits == pytest.approx(alone(lm, row), abs=CLOSE)
    used = [key for key in Places.of(own).places if key[0] == "bits"]
    assert 0 < len(used) < engine.counts["forwards"]


def test_a_common_prefix_is_read_once(lm: LanguageModel) -> None:
    start = tuple(range(50, 90))
    rows = [ScoredSequence((*start, first, 8, 9), 2) for first in range(10, 20)]
    engine = ScoringEngine(lm)
    engine.bits(rows)
    assert engine.counts["read_tokens"] == 40 + 10 * 2
    assert engine.counts["forwards"] == 1


def test_a_long_common_prefix_is_read_once_where_memory_allows() -> None:
    lm = small_model("Llama", max_position_embeddings=4096)
    start = [place % 40 for place in range(1040)]
    rows = [ScoredSequence((*start, first, 8), 2) for first in range(10, 13)]
    for room, read in ((1 << 30, 1040 + 3), (1 << 22, 3 * 1041)):
        engine = ScoringEngine(lm, room)
        engine.bits(rows)
        assert engine.counts["read_tokens"] == read


@pytest.mark.parametrize("kind", ["plain", "trees"])
def test_a_forward_pass_keeps_the_byte_budget(kind: str) -> None:
    """Measured, with as many tokens allowed as there are."""
    limit, rng = 24 << 20, np.random.default_rng(0)

    def some(count: int) -> Ids:
        return tuple(rng.integers(5, 1000, count).tolist())

    start, (count, tail) = some(60), {"plain": (60, 76), "trees": (140, 16)}[kind]
    shared = start if kind == "trees" else ()
    rows = [ScoredSequence((*shared, *some(tail)), 1) for _ in range(count)]
    sizes = {"vocab_size": 1000, "hidden_size": 128, "intermediate_size": 256}
    heads = {"num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 4}
    model = small_model("Llama", **sizes, **heads)
    engine = ScoringEngine(model, limit, batch_tokens=10**6, cache_bytes=0)
    engine.bits(rows[:1])
    assert peak_bytes(lambda: engine.bits(rows)) <= limit
    assert engine.counts["forwards"] > 2


@dataclass(frozen=True)
class Small(LanguageModel):
    """A model on a device that has room for so many tokens at once; remembers what it was given
    when it failed, and whether that was still held in a later pass."""

    room: list[int] = field(default_factory=lambda: [10**6])
    failed_inputs: list[Any] = field(default_factory=list)
    alive: list[bool] = field(default_factory=list)

    def backbone(self, policies: Any = None, **inputs: Any) -> Any:
        self.alive.append(any(reference() is not None for reference in self.failed_inputs))
        if inputs["input_ids"].numel() > self.room[0]:
            self.failed_inputs.append(weakref.ref(inputs["input_ids"]))
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super().backbone(**inputs)


def test_out_of_memory_halves_the_batch_and_says_so(
    lm: LanguageModel, caplog: pytest.LogCaptureFixture
) -> None:
    """What a failed pass held is free before the halves are read."""
    rows = [ScoredSequence((first, *range(20, 30)), 3) for first in range(10, 18)]
    small = Small(lm.model, lm.tokenizer, lm.device)
    engine = ScoringEngine(small)
    engine.bits(rows[:1])
    small.room[0] = 30
    engine.forget()
    with caplog.at_level(logging.WARNING):
        _agree(lm, rows, engine.bits(rows))
    assert [record.message.split(":")[0] for record in caplog.records][:2] == [
        "out of memory at 8 sequences to score, going on with 4",
        "out of memory at 4 sequences to score, going on with 2",
    ]
    assert len(small.failed_inputs) > 1
    assert not any(small.alive)
    one_tree = [ScoredSequence((*range(20, 40), first, 8), 2) for first in range(50, 60)]
    _agree(lm, one_tree, engine.bits(one_tree))
    small.room[0] = 0
    with pytest.raises(torch.OutOfMemoryError):
        engine.bits([ScoredSequence((5, 6), 1)])


def test_no_memory_for_the_trial_is_no_verdict_on_the_model(lm: LanguageModel) -> None:
    small = Small(lm.model, lm.tokenizer, lm.device, room=[30])
    with pytest.raises(torch.OutOfMemoryError):
        supports_prefix_sharing(small)


def test_one_bad_sequence_leaves_those_that_share_its_prefix() -> None:
    lm = small_model("Llama", vocab_size=1000)
    rows = [ScoredSequence((*range(100, 130), first, 8, 9), 2) for first in (10, 900, 20)]
    engine = ScoringEngine(lm)
    engine.bits([ScoredSequence((5, 6), 1)])
    lm.model.get_input_embeddings().weight.data[900] = torch.nan
    good, bad, fine = engine.bits(rows)
    assert not all(map(math.isfinite, bad))
    _agree(lm, [rows[0], rows[2]], [good, fine])


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("Mistral", {"sliding_window": 8}),
        ("GPTNeo", {"attention_types": [[["local"], 2]], "window_size": 16}),
        ("Mamba", {}),
    ],
)
def test_models_that_cannot_share_prefixes_read_each_sequence_whole(
    family: str, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    odd = small_model(family, **settings)
    rows = [ScoredSequence((*range(1, 31), first, 40, 41), 3) for first in range(50, 54)]
    assert not supports_prefix_sharing(odd)
    with caplog.at_level(logging.WARNING):
        scores = ScoringEngine(odd).bits(rows)
    assert "each is read whole" in caplog.text
    _agree(odd, rows, scores)


def _agree(lm: LanguageModel, rows: Sequences, scores: Sequence[Sequence[float]]) -> None:
    for row, bits in zip(rows, scores, strict=True):
        assert bits == pytest.approx(alone(lm, row), abs=CLOSE)


def test_no_token_has_less_than_no_bits(lm: LanguageModel) -> None:
    """In bfloat16 a sure token's logit and the normaliser are rounded apart."""
    rough = LanguageModel(copy.deepcopy(lm.model).bfloat16(), lm.tokenizer, lm.device)
    text = "Once upon a time there was a little girl named Lily. " * 6
    ids = (lm.bos, *lm.encode(text))
    [bits] = ScoringEngine(rough).bits([ScoredSequence(ids, len(ids) - 1)])
    assert min(bits) >= 0


class Counted(Engine):
    """An engine whose sequences have one ``score`` for each of their target tokens."""

    def __init__(self, limit: int, score: float = 0.5) -> None:
        super().__init__(limit)
        self.score = score
        self.computed: Sequences = []

    def compute(self, sequences: Sequence[ScoredSequence]) -> Any:
        self.computed += sequences
        return [(each, (self.score,) * each.target_count) for each in sequences]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 400))), st.integers(0, 5000))
def test_scores_never_take_more_bytes_than_the_limit(
    asked: list[tuple[int, int]], limit: int
) -> None:
    engine = Counted(limit)
    for token, length in asked:
        assert engine.bits([ScoredSequence((token, *range(length)), length)]) == [(0.5,) * length]
        assert engine._scores.currsize <= limit


def test_a_kept_score_is_the_one_that_was_computed() -> None:
    """A server answers in double precision."""
    engine, asked = Counted(10_000, score=1 / 3), [ScoredSequence((1, 2), 1)]
    assert engine.bits(asked) == engine.bits(asked)
    assert len(engine.computed) == 1


def test_the_scores_that_were_used_last_stay() -> None:
    engine = Counted(3 * (ENTRY_BYTES + 100))
    first, second, third, fourth = (ScoredSequence((token, 1), 1) for token in range(4))
    for asked in ([first, second, third], [first], [fourth]):
        engine.bits(asked)
    engine.computed.clear()
    engine.bits([first, third, fourth, second, first])
    assert engine.computed == [second]
