"""Log-probabilities by tiles are those of a whole softmax."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from xgl.lm import language_model as tiled
from xgl.lm.language_model import target_logprobs

VOCABULARY, HIDDEN, POSITIONS = 1000, 16, 37


def reference(head: nn.Module, hidden: Tensor, targets: Tensor) -> Tensor:
    return head(hidden).double().log_softmax(-1).gather(1, targets[:, None])[:, 0]


@pytest.fixture
def case() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(POSITIONS, HIDDEN), torch.randint(VOCABULARY, (POSITIONS,))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("width", "room"), [(8192, 8 << 20), (300, 4 * 300 * 5), (1, 4)])
def test_tiles_give_what_a_whole_softmax_gives(
    case: tuple[Tensor, Tensor],
    monkeypatch: pytest.MonkeyPatch,
    bias: bool,
    width: int,
    room: int,
) -> None:
    monkeypatch.setitem(tiled.TILE_WIDTH, "cpu", width)
    monkeypatch.setitem(tiled.TILE_BYTES, "cpu", room)
    head = nn.Linear(HIDDEN, VOCABULARY, bias=bias)
    logprobs = target_logprobs(head, *case)
    assert logprobs.dtype == torch.float32
    torch.testing.assert_close(logprobs.double(), reference(head, *case), atol=1e-5, rtol=0)


def test_no_tile_is_larger_than_its_bound(
    case: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    linear = nn.functional.linear

    def recorder(*arguments: Tensor) -> Tensor:
        sizes.append(linear(*arguments).numel() * 4)
        return linear(*arguments)

    monkeypatch.setitem(tiled.TILE_WIDTH, "cpu", 128)
    monkeypatch.setitem(tiled.TILE_BYTES, "cpu", 2048)
    monkeypatch.setattr(nn.functional, "linear", recorder)
    target_logprobs(nn.Linear(HIDDEN, VOCABULARY), *case)
    assert max(sizes) <= 2048


def test_a_head_that_is_more_than_a_matrix(case: tuple[Tensor, Tensor]) -> None:
    head = nn.Sequential(nn.Linear(HIDDEN, 8), nn.Linear(8, VOCABULARY))
    logprobs = target_logprobs(head, *case)
    torch.testing.assert_close(logprobs.double(), reference(head, *case), atol=1e-5, rtol=0)


def test_no_positions_no_numbers() -> None:
    head = nn.Linear(HIDDEN, VOCABULARY)
    none = torch.zeros(0, dtype=torch.long)
    assert target_logprobs(head, torch.zeros(0, HIDDEN), none).shape == (0,)


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
