"""Key-value caches of the prompts that a policy read last.

The next prompt of a play mostly continues an earlier one: after a failed ``ensure``, at the second
move of a game, in later rounds of repeated play. What both share need not be read again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as pad_tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from xgl.lm.language_model import (
    UNBOUNDED,
    DecoderState,
    LanguageModel,
    PolicyPrompt,
    distinct_prompts,
    encode_distinct,
    extend,
    pad,
    select_rows,
)
from xgl.lm.prefix_sharing import Ids, common_prefixes, shared_length


@dataclass(frozen=True, eq=False)
class _Batch:
    """A batch that was read: its ``prompts``, keys and values (N, heads, W, width) of each layer,
    and the mask (N, W) of their columns. Tensors are never written to: a cache that grows makes new
    ones."""

    prompts: tuple[PolicyPrompt, ...]
    layers: tuple[tuple[Tensor, Tensor], ...]
    mask: Tensor

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return sum(each.numel() * each.element_size() for layer in self.layers for each in layer)


_Source = tuple[int, int, int]
"""The number of a batch, a row of it, and how many of its first tokens a prompt repeats."""


class PromptCaches:
    """The caches of the latest batches, up to ``max_bytes`` together; the oldest is dropped first.

    Valid while the weights stay the same: the owner calls :meth:`clear` before they change, and
    between jobs, so that the numbers of a job do not depend on earlier ones. If a model has local
    attention, or other caches than keys and values of all positions, nothing is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._batches: deque[_Batch] = deque()
        self._n_dropped = 0
        self._sorted: list[tuple[PolicyPrompt, int, int]] = []

    def __len__(self) -> int:
        """Number of prompts whose caches are kept."""
        return len(self._sorted)

    def encode(
        self, lm: LanguageModel, prompts: Sequence[Ids], policies: Sequence[str] | None = None
    ) -> DecoderState:
        """:func:`~xgl.lm.language_model.encode_prompts`, without reading again what the prompts
        share with earlier ones; keeps their own caches."""
        distinct, rows = distinct_prompts(prompts, policies)
        state = self._continue(lm, distinct, policies is not None)
        if state is None:
            state = encode_distinct(lm, distinct, policies is not None)
        self._keep(lm, distinct, state)
        return select_rows(state, rows)

    def _keep(
        self, lm: LanguageModel, prompts: Sequence[PolicyPrompt], state: DecoderState
    ) -> None:
        layers = getattr(state.cache, "layers", ())
        plain = layers and all(type(layer) is DynamicLayer for layer in layers)
        if not plain or lm.is_spread or lm.local_attention < UNBOUNDED:
            return
        tensors = tuple((layer.keys, layer.values) for layer in layers)
        self._batches.append(_Batch(tuple(prompts), tensors, state.mask))
        number = self._n_dropped + len(self._batches) - 1
        for row, prompt in enumerate(prompts):
            insort(self._sorted, (prompt, number, row))
        while sum(batch.size for batch in self._batches) > self.max_bytes:
            self._batches.popleft()
            self._n_dropped += 1
        self._sorted = [entry for entry in self._sorted if entry[1] >= self._n_dropped]

    def _continue(
        self, lm: LanguageModel, prompts: Sequence[PolicyPrompt], multi_policy: bool
    ) -> DecoderState | None:
        """The state after different ``prompts``; None if they are read from the beginning with
        fewer tokens."""
        if not self._sorted:
            return None
        sources = [self._closest(prompt) for prompt in prompts]
        # At least one token of each prompt is read: from its state the next one is drawn.
        suffixes = [ids[shared:] for (_, ids), (*_, shared) in zip(prompts, sources, strict=True)]
        if len(suffixes) * max(map(len, suffixes)) >= _tokens_of_whole(prompts):
            return None
        cache, mask = self._gather(sources)
        lengths = torch.tensor([shared for *_, shared in sources], device=mask.device)
        policies = tuple(name for name, _ in prompts) if multi_policy else None
        unread = torch.empty(0)  # a hidden state, which the next tokens replace
        state = DecoderState(cache, mask, lengths, unread, policies)
        return extend(lm, state, *pad(suffixes, lm.device))[1]

    def _closest(self, prompt: PolicyPrompt) -> _Source:
        """The kept prompt of the same policy that shares most tokens with ``prompt``: a neighbour
        of it in sorted order. At least its last token is left to be read."""
        name, ids = prompt
        # Of all texts in sorted order the one before or after a text shares the most with it.
        index = bisect_left(self._sorted, (prompt, -1, -1))
        best = self._n_dropped, 0, 0  # nothing shared, with a batch that still exists
        for (other, known), batch, row in self._sorted[max(0, index - 1) : index + 1]:
            shared = min(shared_length(known, ids), len(ids) - 1) if other == name else 0
            if shared > best[2]:
                best = batch, row, shared
        return best

    def _gather(self, sources: Sequence[_Source]) -> tuple[Any, Tensor]:
        """Cache and mask (N, W) of the shared tokens of each source; columns that no row needs are
        left out."""
        numbers = sorted({batch for batch, *_ in sources})
        batches = [self._batches[number - self._n_dropped] for number in numbers]
        device = batches[0].mask.device
        # One index_select for each batch, then the rows are put back into the order of the sources.
        order = sorted(range(len(sources)), key=lambda index: sources[index][0])
        back = torch.tensor(order, device=device).argsort()
        rows = [
            torch.tensor([sources[i][1] for i in order if sources[i][0] == number]).to(device)
            for number in numbers
        ]
        shared = torch.tensor([shared for *_, shared in sources], device=device)
        mask = _joined([batch.mask for batch in batches], rows, 1)[back]
        mask = mask * (mask.cumsum(1) <= shared[:, None])
        used = torch.nonzero(mask.any(0))[:, 0]
        cache: Any = DynamicCache()
        for layer in range(len(batches[0].layers)):
            keys, values = (
                _joined([batch.layers[layer][kind] for batch in batches], rows, 2)[back][:, :, used]
                for kind in (0, 1)
            )
            cache.update(keys, values, layer)
        return cache, mask[:, used]


def _tokens_of_whole(prompts: Sequence[PolicyPrompt]) -> int:
    """Tokens that a model reads from the beginning of ``prompts``, those of one policy together,
    with common prefixes once; without padding."""
    count = 0
    for _, group in groupby(prompts, key=lambda prompt: prompt[0]):
        ids = [prompt for _, prompt in group]
        prefixes, owners = common_prefixes(ids)
        count += sum(map(len, prefixes))
        count += sum(len(each) - len(prefixes[own]) for each, own in zip(ids, owners, strict=True))
    return count


def _joined(tensors: Sequence[Tensor], rows: Sequence[Tensor], columns: int) -> Tensor:
    """The ``rows`` of each tensor, one after another; dimension ``columns`` is padded with zeros to
    the widest."""
    width = max(each.shape[columns] for each in tensors)
    after = (tensors[0].dim() - 1 - columns) * (0, 0)
    return torch.cat(
        [
            pad_tensor(each[index], (*after, 0, width - each.shape[columns]))
            for each, index in zip(tensors, rows, strict=True)
        ]
    )
