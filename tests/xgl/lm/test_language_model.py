"""Caches of every family of models, by the names that the installed transformers gives them;
log-probabilities by tiles, which are those of a whole softmax; out of memory halves a batch."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from support.small_models import HEADS, small_model
from torch import Tensor, nn

from xgl.judge.engine import ScoringEngine
from xgl.judge.forward import supports_prefix_sharing, tree_states
from xgl.lm import language_model as tiled
from xgl.lm.language_model import LanguageModel, keeps_caches, target_logprobs
from xgl.lm.prefix_sharing import ScoredSequence, prefix_trees
from xgl.lm.sampling import sample

SHARED = tuple(range(1, 60))
FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {"num_key_value_heads": 1},
    "Qwen3": {"num_key_value_heads": 1, "head_dim": 16},
    "GPT2": {"n_positions": 128, "num_key_value_heads": None},
}
LINEAR = {"layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 4}
WITHOUT_CACHES: dict[str, dict[str, Any]] = {
    "Mamba": {"state_size": 8},
    "Lfm2": {"layer_types": ["conv", "full_attention"]},
    "Qwen3_5Text": {"linear_num_key_heads": 2, "head_dim": 16, **LINEAR},
}
"""States of recurrent layers, and positions counted in columns."""


@pytest.fixture(autouse=True)
def deprecations_are_errors() -> Iterator[None]:
    def refuse(record: logging.LogRecord) -> bool:
        assert "deprecated" not in record.getMessage()
        return True

    logger = logging.getLogger("transformers.utils.generic")
    logger.addFilter(refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        yield
    logger.removeFilter(refuse)


def model(family: str) -> LanguageModel:
    return small_model(family, **(FAMILIES | WITHOUT_CACHES)[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shared_prefix_gives_the_bits_of_the_whole_text(family: str) -> None:
    lm = model(family)
    rows = [ScoredSequence((*SHARED, 61 + k, 5, 6), len(SHARED)) for k in range(20)]
    together = ScoringEngine(lm).bits(rows)
    for row, bits in zip(rows, together, strict=True):
        assert bits == pytest.approx(ScoringEngine(lm).bits([row])[0], abs=1e-4)


@pytest.mark.parametrize("family", [*FAMILIES, *WITHOUT_CACHES])
def test_rows_that_share_a_prefix_go_on_as_each_does_alone(family: str) -> None:
    """By caches that rows share, or by reading all again; the gradient is that of each text too."""
    lm = model(family)
    assert keeps_caches(lm) == (family in FAMILIES)
    prompts = [(*SHARED, 61), (*SHARED, 62, 63), (*SHARED, 61), (5, 6)]
    ends = [(7, 8, 9), (7,), (8,), (9, 10)]
    rows = [ScoredSequence(p + end, len(end)) for p, end in zip(prompts, ends, strict=True)]
    has_trees = supports_prefix_sharing(lm)
    states, targets = tree_states(lm, prefix_trees(rows) if has_trees else prefix_trees(rows, 0))
    lm.logits(states).log_softmax(-1).gather(1, targets[:, None]).sum().backward()
    gradient = {name: p.grad for name, p in lm.model.named_parameters() if p.grad is not None}
    lm.model.zero_grad()

    def alone(prompt: tuple[int, ...], end: tuple[int, ...]) -> Tensor:
        logits = lm.model(input_ids=torch.tensor([prompt + end])).logits[0, len(prompt) - 1 : -1]
        return logits.log_softmax(-1).gather(1, torch.tensor(end)[:, None])[:, 0]

    stops = torch.zeros(int(lm.model.config.vocab_size), dtype=torch.bool)
    moves = sample(lm, prompts, [3, 1, 2, 3], np.full((4, 3), 0.4), stops)
    for prompt, end, move in zip(prompts, ends, moves, strict=True):
        assert move.logprobs == pytest.approx(alone(prompt, move.ids).tolist(), abs=1e-4)
        alone(prompt, end).sum().backward()
    for name, parameter in lm.model.named_parameters():
        if name in gradient:
            torch.testing.assert_close(gradient[name], parameter.grad, atol=1e-3, rtol=1e-3)


def test_who_counts_positions_in_columns_shares_nothing_in_any_dtype() -> None:
    """In bfloat16 such a model is apart from itself by little more than by rounding."""
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 2, "max_seq_len": 512}
    for dtype in (torch.float32, torch.bfloat16):
        lm = small_model("Mpt", **sizes, **dict.fromkeys(HEADS))
        lm.model.to(dtype)
        assert not keeps_caches(lm)
        assert not supports_prefix_sharing(lm)


VOCABULARY, HIDDEN, POSITIONS = 1000, 16, 37


def reference(head: nn.Module, hidden: Tensor, targets: Tensor) -> Tensor:
    return head(hidden).double().log_softmax(-1).gather(1, targets[:, None])[:, 0]


@pytest.fixture
def case() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(POSITIONS, HIDDEN), torch.randint(VOCABULARY, (POSITIONS,))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("width", "room"), [(8192, 8 << 20), (300, 4 * 300 * 5), (7, 4 * 7)])
def test_tiles_give_what_a_whole_softmax_gives(
    case: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch, bias: bool, width: int, room: int
) -> None:
    monkeypatch.setitem(tiled.TILE_WIDTH, "cpu", width)
    monkeypatch.setitem(tiled.TILE_BYTES, "cpu", room)
    head = nn.Linear(HIDDEN, VOCABULARY, bias=bias)
    logprobs = target_logprobs(head, *case)
    assert logprobs.dtype == torch.float32
    torch.testing.assert_close(logprobs.double(), reference(head, *case), atol=1e-5, rtol=0)


@pytest.mark.parametrize("low", [-1e4, -1e9, torch.finfo(torch.float32).min, -torch.inf])
def test_an_entry_that_is_masked_takes_nothing_from_the_others(
    case: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch, low: float
) -> None:
    """Vocabularies are padded with entries that must never be sampled."""
    monkeypatch.setitem(tiled.TILE_WIDTH, "cpu", 100)
    head = nn.Linear(HIDDEN, VOCABULARY)
    head.bias.data[::100] = low
    hidden, targets = case[0], case[1] // 100 * 100 + 1
    logprobs = target_logprobs(head, hidden, targets)
    torch.testing.assert_close(
        logprobs.double(), reference(head, hidden, targets), atol=1e-5, rtol=0
    )


@pytest.mark.long
def test_what_a_cpu_says_when_it_has_no_memory_is_understood() -> None:
    """A real refusal of the allocator, under a limit on the process's address space."""
    script = (
        "import resource, torch\n"
        "from xgl.lm.memory import retry_in_halves\n"
        "def run(batch): return [float(x) for x in torch.ones(len(batch), 1 << 24).sum(1)]\n"
        "torch.ones(1 << 20).sum()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20),) * 2)\n"
        "print(retry_in_halves(run, range(8), 'rows'))\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.stdout.strip() == str([float(1 << 24)] * 8), process.stderr
    assert "out of memory at 8 rows" in process.stderr
