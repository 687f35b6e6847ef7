"""Maximum likelihood of pairs: batches, losses, learning rate, held-out bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import torch
from torch import Tensor

from meta_sampler.learned.adaptation import TrainingExample, next_token_scores


def batches(
    examples: Sequence[TrainingExample], tokens: int, rng: Random
) -> Iterator[list[TrainingExample]]:
    """All examples once, in random order, those of a batch about equally long.

    ``tokens`` bounds a batch: its longest example times its number of examples.
    """
    order = sorted(examples, key=lambda each: (len(each.ids), rng.random()))
    groups: list[list[TrainingExample]] = [[]]
    for each in order:
        if groups[-1] and len(each.ids) * (len(groups[-1]) + 1) > tokens:
            groups.append([])
        groups[-1].append(each)
    rng.shuffle(groups)
    yield from groups


def losses(model: Any, group: Sequence[TrainingExample]) -> tuple[Tensor, Tensor, Tensor]:
    """Loss of each predicted token in nats (N, L − 1), and the two masks of
    :func:`~meta_sampler.learned.adaptation.next_token_scores`."""
    scores, ids, real, child = next_token_scores(model, group)
    return -scores.gather(-1, ids[..., None])[..., 0], real, child


def rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Learning rate: up in a line, then down along a half cosine to a hundredth."""
    if step < warmup:
        return peak * (step + 1) / warmup
    cosine = math.cos(math.pi * (step - warmup) / max(1, steps - warmup))
    return peak * (0.01 + 0.99 * (1 + cosine) / 2)


@torch.inference_mode()
def child_bits(model: Any, examples: Sequence[TrainingExample]) -> float:
    """Bits that the children take, each given its parent."""
    total = 0.0
    for group in batches(examples, 4096, Random(0)):
        loss, _, child = losses(model, group)
        total += float(loss[child].sum())
    return total / math.log(2)
