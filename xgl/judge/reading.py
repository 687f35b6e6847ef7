"""Forward passes over packs: bits of the tokens that their rows want."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xgl.head import target_logprobs
from xgl.judge.packs import Ids, Pack, Row, packs
from xgl.lm import LanguageModel, padded

BITS = 1.0 / math.log(2.0)

Bits = tuple[float, ...]


@dataclass(frozen=True)
class Root:
    """A beginning that was read: its tokens, and its key-value cache of one row."""

    ids: Ids
    cache: Any

    @property
    def bytes(self) -> int:
        layers = self.cache.layers
        return sum(int(t.nbytes) for layer in layers for t in (layer.keys, layer.values))


@torch.inference_mode()
def read_root(lm: LanguageModel, ids: Ids) -> Root:
    """Read a beginning that many rows will share."""
    tokens = torch.tensor([ids], device=lm.device)
    return Root(ids, lm.backbone(input_ids=tokens, use_cache=True).past_key_values)


@torch.inference_mode()
def read(lm: LanguageModel, batch: Sequence[Pack], root: Root | None = None) -> list[list[Bits]]:
    """Bits of each scored token of each row of each pack, from one forward pass."""
    ids, _ = padded([pack.tokens for pack in batch], lm.device)
    hidden = lm.backbone(input_ids=ids, **_surroundings(lm, batch, root)).last_hidden_state
    counts = [sum(map(len, pack.wanted)) for pack in batch]
    where = np.repeat(np.arange(len(batch)), counts)
    states = hidden[_tensor(lm, where), _flat(lm, [row for pack in batch for row in pack.wanted])]
    targets = _flat(lm, [row for pack in batch for row in pack.targets])
    found = iter((-BITS * target_logprobs(lm.head, states, targets)).tolist())
    return [[tuple(islice(found, len(row))) for row in pack.targets] for pack in batch]


def _flat(lm: LanguageModel, rows: Sequence[Ids]) -> Tensor:
    """All numbers of all rows, int64, on the model's device."""
    return _tensor(lm, np.fromiter(chain.from_iterable(rows), np.int64))


def _tensor(lm: LanguageModel, numbers: np.ndarray) -> Tensor:
    return torch.from_numpy(numbers).to(lm.device)


def _surroundings(lm: LanguageModel, batch: Sequence[Pack], root: Root | None) -> dict[str, Any]:
    """What a forward pass needs beside tokens; nothing where all are plain sequences, since no
    token sees the padding after it."""
    if root is None and all(pack.plain for pack in batch):
        return {"use_cache": False}
    before = len(root.ids) if root else 0
    width = max(len(pack.tokens) for pack in batch)
    reach = np.zeros((len(batch), 1, width, before + width), bool)
    reach[..., :before] = True
    reach[..., before:] |= np.eye(width, dtype=bool)  # padding must see something: itself
    depths = np.zeros((len(batch), width), np.int64)
    for index, pack in enumerate(batch):
        size = len(pack.tokens)
        reach[index, 0, :size, before : before + size] = pack.ancestry()
        depths[index, :size] = pack.depths()
    found = {
        "attention_mask": _mask(lm, _tensor(lm, reach)),
        "position_ids": _tensor(lm, depths + before),
    }
    if root is None:
        return found | {"use_cache": False}
    grown = copy.deepcopy(root.cache)
    grown.batch_repeat_interleave(len(batch))
    return found | {"use_cache": True, "past_key_values": grown}


def _mask(lm: LanguageModel, reach: Tensor) -> Tensor:
    """``reach`` as the model's attention takes it: bool for SDPA, else added to its scores."""
    if lm.model.config._attn_implementation == "sdpa":
        return reach
    nothing = torch.zeros(reach.shape, dtype=lm.model.dtype, device=reach.device)
    return nothing.masked_fill(~reach, torch.finfo(lm.model.dtype).min)


def shares_beginnings(lm: LanguageModel) -> bool:
    """Whether packs and roots give this model's rows the numbers that they have alone.

    Tried on random tokens: a model with recurrent layers reads a pack wrongly. One with a sliding
    window would too, if only in long packs.
    """
    if getattr(lm.model.config, "sliding_window", None):
        return False
    size = int(lm.model.config.vocab_size)
    some = tuple(map(int, np.random.default_rng(0).integers(size, size=24)))
    rows = [Row((*some[:16], *some[18:22]), 3), Row((*some[:17], *some[19:23]), 2)]
    try:
        alone = [read(lm, packs([row], longest=0))[0][0] for row in rows]
        [pack] = packs(rows)
        together = read(lm, [pack])[0]
        below = [read(lm, packs([row], 12, 0), read_root(lm, some[:12]))[0][0] for row in rows]
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    exact = 1e-3 if lm.model.dtype == torch.float32 else 1.0
    order = [pack.rows.index(index) for index in range(len(rows))]
    return all(
        np.allclose(alone[index], found, atol=exact)
        for index in range(len(rows))
        for found in (together[order[index]], below[index])
    )
