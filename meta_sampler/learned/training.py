"""Maximum likelihood of pairs: what a model reads, in which batches, and what it is scored by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

BOS_ID, EOS_ID = 0, 1


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids of ``BOS parent BOS child EOS``; the child is ``ids[start:]``."""

    ids: tuple[int, ...]
    start: int


def example(tokenizer: Tokenizer, parent: str, child: str) -> Example:
    head = (BOS_ID, *tokenizer.encode(parent).ids, BOS_ID)
    return Example((*head, *tokenizer.encode(child).ids, EOS_ID), len(head))


def batches(examples: Sequence[Example], tokens: int, rng: Random) -> Iterator[list[Example]]:
    """All examples once, in random order, those of a batch about equally long.

    ``tokens`` bounds a batch: its longest example times its number of examples.
    """
    order = sorted(examples, key=lambda each: (len(each.ids), rng.random()))
    groups: list[list[Example]] = [[]]
    for each in order:
        if groups[-1] and len(each.ids) * (len(groups[-1]) + 1) > tokens:
            groups.append([])
        groups[-1].append(each)
    rng.shuffle(groups)
    yield from groups


def read(model: Any, group: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Log-probabilities (N, L − 1, V) of each next token, float32, in nats; the tokens that came
    (N, L − 1); bool masks (N, L − 1) of those that are no padding, and of those of the child."""
    width = max(len(each.ids) for each in group)
    ids = torch.full((len(group), width), EOS_ID)
    for row, each in enumerate(group):
        ids[row, : len(each.ids)] = torch.tensor(each.ids)
    places = torch.arange(1, width)
    real = places < torch.tensor([len(each.ids) for each in group])[:, None]
    child = real & (places >= torch.tensor([each.start for each in group])[:, None])
    scores = model(input_ids=ids[:, :-1]).logits.float().log_softmax(-1)
    return scores, ids[:, 1:], real, child


def losses(model: Any, group: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Loss of each predicted token in nats (N, L − 1), and the two masks of :func:`read`."""
    scores, ids, real, child = read(model, group)
    return -scores.gather(-1, ids[..., None])[..., 0], real, child


def rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Learning rate: up in a line, then down along a half cosine to a hundredth."""
    if step < warmup:
        return peak * (step + 1) / warmup
    left = math.cos(math.pi * (step - warmup) / max(1, steps - warmup))
    return peak * (0.01 + 0.99 * (1 + left) / 2)


@torch.inference_mode()
def child_bits(model: Any, examples: Sequence[Example]) -> float:
    """Bits that the children take, each given its parent."""
    total = 0.0
    for group in batches(examples, 4096, Random(0)):
        loss, _, child = losses(model, group)
        total += float(loss[child].sum())
    return total / math.log(2)
