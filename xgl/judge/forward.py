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

from xgl.judge.prefix_tree import WORTH, Ids, Pack, Row, packs
from xgl.lm.language_model import UNBOUNDED, LanguageModel, padded
from xgl.lm.memory import out_of_memory
from xgl.lm.target_logprobs import target_logprobs

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
def read(
    lm: LanguageModel,
    batch: Sequence[Pack],
    root: Root | None = None,
    tile_bytes: int | None = None,
) -> list[list[Bits]]:
    """Bits of each scored token of each row of each pack, from one forward pass."""
    ids, _ = padded([pack.tokens for pack in batch], lm.device)
    hidden = lm.backbone(input_ids=ids, **_surroundings(lm, batch, root)).last_hidden_state
    counts = [sum(map(len, pack.wanted)) for pack in batch]
    where = np.repeat(np.arange(len(batch)), counts)
    states = hidden[_tensor(lm, where), _flat(lm, [row for pack in batch for row in pack.wanted])]
    targets = _flat(lm, [row for pack in batch for row in pack.targets])
    found = iter((-BITS * target_logprobs(lm.head, states, targets, tile_bytes)).tolist())
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


PROBE = 320
"""Tokens of the pack that is tried: more than the usual widths of local attention."""


def shares_beginnings(lm: LanguageModel) -> bool:
    """Whether packs and roots give this model's rows the numbers that they have alone.

    Tried on random tokens: a model with recurrent layers or local attention reads a pack wrongly.
    Raises what a forward pass raises where memory runs out.
    """
    if lm.reach < UNBOUNDED:
        return False
    width = min(PROBE, lm.window - 1)
    if width < 2 * WORTH:
        return False
    rows = _branches(width, int(lm.model.config.vocab_size))
    try:
        [pack] = packs(rows, longest=width)
        together = dict(zip(pack.rows, read(lm, [pack])[0], strict=True))
        first, last = pack.rows[0], pack.rows[-1]
        root = read_root(lm, rows[last].ids[:WORTH])
        [below] = read(lm, packs([rows[last]], WORTH, 0), root)[0]
        alone = [read(lm, packs([rows[index]], longest=0))[0][0] for index in (first, last)]
    except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
        return False
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        return False
    exact = 1e-3 if lm.model.dtype == torch.float32 else 1.0
    pairs = ((alone[0], together[first]), (alone[1], together[last]), (alone[1], below))
    return all(np.allclose(one, other, atol=exact) for one, other in pairs)


def _branches(width: int, vocabulary: int) -> list[Row]:
    """Rows that fill one pack of ``width`` tokens below a common beginning."""
    start, rest = 2 * WORTH, 2 * WORTH
    some = np.random.default_rng(0).integers(vocabulary, size=width + 1).tolist()
    cuts = range(start, width, rest)
    return [Row((*some[:start], *some[cut : cut + rest], some[-1]), 2) for cut in cuts]
