"""Log-probabilities of given tokens, without ever holding logits for a whole vocabulary.

The head is applied in tiles of positions × vocabulary; a tile's logits shrink to one log-sum-exp
a position before the next tile is made.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TILE_BYTES = {"cpu": 4 << 20}
"""Bytes of one tile's float32 logits, by kind of device: on a CPU what stays in its cache."""
DEFAULT_TILE_BYTES = 256 << 20
TILE_WIDTH = {"cpu": 2048}
"""Vocabulary entries of one tile; elsewhere as many as its bytes allow 1,024 positions."""


def target_logprobs(
    head: nn.Module, hidden: Tensor, targets: Tensor, tile_bytes: int | None = None
) -> Tensor:
    """Natural log-probabilities (P,), float32, of ``targets`` (P,) after ``hidden`` (P, H).

    ``tile_bytes`` bound a tile where that is less than the device's own bound.
    """
    if not isinstance(head, nn.Linear):
        return _whole(head, hidden, targets)
    kind = hidden.device.type
    tile = TILE_BYTES.get(kind, DEFAULT_TILE_BYTES) // 4
    tile = min(tile, tile_bytes // 4) if tile_bytes else tile
    width = max(1, min(TILE_WIDTH.get(kind, tile // 1024), tile, head.out_features))
    parts = [
        _target_logits(head, h, t) - _normaliser(head, h, width)
        for h, t in _chunks(hidden, targets, max(1, tile // width))
    ]
    if not parts:
        return hidden.new_zeros(0, dtype=torch.float32)
    # The target's logit and the normaliser are rounded apart: a sure token could come out above 0.
    return torch.cat(parts).clamp(max=0.0)


def _target_logits(head: nn.Linear, hidden: Tensor, targets: Tensor) -> Tensor:
    """The targets' logits (P,), multiplied in float32."""
    logits = (hidden.float() * head.weight[targets].float()).sum(-1)
    return logits if head.bias is None else logits + head.bias[targets].float()


def _normaliser(head: nn.Linear, hidden: Tensor, width: int) -> Tensor:
    """The log-sum-exp (P,) of all logits, one tile of the vocabulary after another."""
    biases = [None] * head.out_features if head.bias is None else head.bias.split(width)
    sums = [
        _log_sum_exp(nn.functional.linear(hidden, weight, bias))
        for weight, bias in zip(head.weight.split(width), biases, strict=False)
    ]
    return torch.stack(sums, -1).logsumexp(-1) if len(sums) > 1 else sums[0]


def _log_sum_exp(logits: Tensor) -> Tensor:
    """log-sum-exp over the last axis, float32; from log_softmax, whose kernel is twice as fast."""
    largest = logits.log_softmax(-1, dtype=torch.float32).amax(-1)
    return logits.amax(-1).float() - largest


def _whole(head: nn.Module, hidden: Tensor, targets: Tensor) -> Tensor:
    """Log-probabilities for a head that is more than a matrix, a few positions at a time."""
    parts = [
        head(h).float().log_softmax(-1).gather(1, t[:, None])[:, 0]
        for h, t in _chunks(hidden, targets, 256)
    ]
    return torch.cat(parts) if parts else hidden.new_zeros(0, dtype=torch.float32)


def _chunks(hidden: Tensor, targets: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    return list(zip(hidden.split(size), targets.split(size), strict=True)) if len(targets) else []
