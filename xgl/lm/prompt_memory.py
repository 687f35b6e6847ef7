"""Key-value caches of the prompts that a policy read last.

The next prompt of a play mostly continues its last one: after a failed ``ensure``, at the second
move of a game, in the next round of repeated play. What both share need not be read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as pad_tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from xgl.lm.language_model import (
    DecoderState,
    LanguageModel,
    PolicyPrompt,
    distinct_prompts,
    encode_distinct,
    extend,
    pad,
    select_rows,
)
from xgl.lm.prefix_sharing import Ids, shared_length

MOST_READ_SHARE = 2 / 3
"""Most tokens that a batch may read, padding included, as a share of all tokens of its prompts;
above it the batch is read from the beginning, with common prefixes once."""


@dataclass(frozen=True)
class _Snapshot:
    """A batch that was read: keys and values of each layer (N, heads, W, width), and the mask
    (N, W) of their columns. They are never written to: a cache that grows makes new ones."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    mask: Tensor
    last: Tensor


@dataclass(frozen=True)
class _Place:
    """A row of a snapshot, and how many of its first tokens a new prompt repeats."""

    snapshot: int
    row: int
    shared: int


class PromptMemory:
    """The caches of the last turn's batches, up to ``max_bytes`` together; later batches of a turn
    that would exceed them are not kept.

    Valid only while the weights stay the same; the owner calls :meth:`forget` before they change,
    and between jobs, so that a job's numbers do not depend on earlier ones. Models with other
    caches than keys and values of all positions are read from the beginning each time.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.forget()

    def forget(self) -> None:
        """Drop everything."""
        self._prompts: list[tuple[PolicyPrompt, int, int]] = []
        self._snapshots: list[_Snapshot] = []
        self._new: list[tuple[Sequence[PolicyPrompt], _Snapshot]] = []

    def next_turn(self) -> None:
        """Make the batches remembered since the last call the ones that are recalled."""
        self._snapshots = [snapshot for _, snapshot in self._new]
        self._prompts = sorted(
            (prompt, index, row)
            for index, (prompts, _) in enumerate(self._new)
            for row, prompt in enumerate(prompts)
        )
        self._new = []

    def encode(
        self, lm: LanguageModel, prompts: Sequence[Ids], policies: Sequence[str] | None = None
    ) -> DecoderState:
        """:func:`~xgl.lm.language_model.encode_prompts`, without reading again what the prompts
        share with those of the last turn; remembers them for the next one."""
        distinct, rows = distinct_prompts(prompts, policies)
        multi_policy = policies is not None
        state = self._recall(lm, distinct, multi_policy)
        if state is None:
            state = encode_distinct(lm, distinct, multi_policy)
        self._remember(distinct, state)
        return select_rows(state, rows)

    def _remember(self, prompts: Sequence[PolicyPrompt], state: DecoderState) -> None:
        layers = getattr(state.cache, "layers", None)
        if not layers or any(type(layer) is not DynamicLayer for layer in layers):
            return
        snapshot = _Snapshot(
            tuple((layer.keys, layer.values) for layer in layers), state.mask, state.last
        )
        kept = [*(other for _, other in self._new), snapshot]
        if sum(map(_size, kept)) <= self.max_bytes:
            self._new.append((tuple(prompts), snapshot))

    def _recall(
        self, lm: LanguageModel, prompts: Sequence[PolicyPrompt], multi_policy: bool
    ) -> DecoderState | None:
        """The state after different ``prompts``; None if too little of them is known."""
        if not self._prompts:
            return None
        places = [self._closest(prompt) for prompt in prompts]
        suffixes = [ids[place.shared :] for (_, ids), place in zip(prompts, places, strict=True)]
        n_read = len(suffixes) * max(map(len, suffixes))
        if n_read > MOST_READ_SHARE * sum(len(ids) for _, ids in prompts):
            return None
        policies = tuple(name for name, _ in prompts) if multi_policy else None
        return extend(lm, self._gather(places, policies), *pad(suffixes, lm.device))[1]

    def _closest(self, prompt: PolicyPrompt) -> _Place:
        """The remembered prompt of the same policy that shares most tokens with ``prompt``, which
        is a neighbour of it in sorted order; at least its last token is left to be read."""
        name, ids = prompt
        index = bisect_left(self._prompts, (prompt, -1, -1))
        best = _Place(0, 0, 0)
        for (other, known), snapshot, row in self._prompts[max(0, index - 1) : index + 1]:
            shared = min(shared_length(known, ids), len(ids) - 1) if other == name else 0
            if shared > best.shared:
                best = _Place(snapshot, row, shared)
        return best

    def _gather(self, places: Sequence[_Place], policies: tuple[str, ...] | None) -> DecoderState:
        """The state after the first ``shared`` tokens of each place's prompt."""
        width = max(len(snapshot.mask[0]) for snapshot in self._snapshots)
        order = sorted(range(len(places)), key=lambda index: places[index].snapshot)
        parts = [
            (snapshot, [places[i].row for i in order if places[i].snapshot == number])
            for number, snapshot in enumerate(self._snapshots)
        ]
        parts = [(snapshot, rows) for snapshot, rows in parts if rows]
        back = torch.tensor(order).argsort().to(parts[0][0].mask.device)

        def rows_of(tensors: Sequence[Tensor], columns: int) -> Tensor:
            """The places' rows (N, …) of one tensor of each part, where dimension ``columns`` is
            padded to the common width."""
            padded = [_pad_columns(each, columns, width) for each in tensors]
            return torch.cat([each[rows] for each, (_, rows) in zip(padded, parts, strict=True)])[
                back
            ]

        shared = torch.tensor([place.shared for place in places], device=back.device)
        mask = rows_of([snapshot.mask for snapshot, _ in parts], 1)
        mask = mask * (mask.cumsum(1) <= shared[:, None])
        used = torch.nonzero(mask.any(0))[:, 0]
        cache: Any = DynamicCache()
        for layer in range(len(parts[0][0].layers)):
            keys, values = (
                rows_of([snapshot.layers[layer][kind] for snapshot, _ in parts], 2)[:, :, used]
                for kind in (0, 1)
            )
            cache.update(keys, values, layer)
        last = torch.cat([snapshot.last[rows] for snapshot, rows in parts])[back]
        return DecoderState(cache, mask[:, used], shared, last, policies)


def _size(snapshot: _Snapshot) -> int:
    """Bytes of keys and values."""
    return sum(each.numel() * each.element_size() for layer in snapshot.layers for each in layer)


def _pad_columns(tensor: Tensor, dimension: int, width: int) -> Tensor:
    missing = width - tensor.shape[dimension]
    after = (tensor.dim() - 1 - dimension) * (0, 0)
    return pad_tensor(tensor, (*after, 0, missing)) if missing else tensor
