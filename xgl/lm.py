"""A causal language model as the judge and the local policy both use it.

Right padding, positions counted from each row's own start, logits only where they are needed.
What prompts have in common is encoded once: its key-value cache is then selected row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from xgl.stems import plan


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model with its tokenizer; LoRA layers may have been injected into ``model``."""

    model: Any
    tokenizer: Any
    device: torch.device

    @property
    def window(self) -> int:
        """Longest sequence in tokens."""
        return int(self.model.config.max_position_embeddings)

    @property
    def bos(self) -> int:
        return int(self.tokenizer.bos_token_id)

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a text, no special token added."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def backbone(self, **inputs: Any) -> Any:
        """The model without its head: hidden states and cache."""
        return self.model.base_model(**inputs)

    @property
    def head(self) -> Any:
        """The module from hidden states to logits."""
        return self.model.get_output_embeddings()

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits, float32, of hidden states (…, H)."""
        return torch.as_tensor(self.head(hidden)).float()


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Right-padded ids (N, L) and their lengths (N,), int64; pads are token 0 and masked."""
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
    return ids.to(device), lengths.to(device)


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """(N, width) int64: 1 where a row has a token."""
    return (torch.arange(width, device=lengths.device) < lengths[:, None]).long()


@dataclass(frozen=True)
class Context:
    """What N rows have read: cache, its mask (N, W), lengths (N,), last hidden state (N, H)."""

    cache: Any
    mask: Tensor
    lengths: Tensor
    last: Tensor


def encode_prompts(lm: LanguageModel, prompts: Sequence[tuple[int, ...]]) -> Context:
    """Read one prompt a row: equal ones once, and once what others have in common."""
    unique = list(dict.fromkeys(prompts))
    place = {prompt: index for index, prompt in enumerate(unique)}
    stems, owner = plan(unique)
    state = _select(_encode(lm, stems), owner)
    rests = [prompt[len(stems[stem]) :] for prompt, stem in zip(unique, owner, strict=True)]
    if any(rests):
        state = read_on(lm, state, *padded(rests, lm.device))[1]
    return _select(state, [place[prompt] for prompt in prompts])


def _encode(lm: LanguageModel, prompts: Sequence[tuple[int, ...]]) -> Context:
    ids, lengths = padded(prompts, lm.device)
    mask = length_mask(lengths, ids.shape[1])
    out = lm.backbone(input_ids=ids, attention_mask=mask, use_cache=True)
    last = out.last_hidden_state[torch.arange(len(prompts), device=lm.device), lengths - 1]
    return Context(out.past_key_values, mask, lengths, last)


def _select(state: Context, rows: Sequence[int]) -> Context:
    """The context of ``rows``, which may repeat; takes the cache over."""
    if list(rows) == list(range(len(state.lengths))):
        return state
    index = torch.tensor(list(rows), device=state.lengths.device)
    state.cache.batch_select_indices(index)
    return Context(state.cache, state.mask[index], state.lengths[index], state.last[index])


def read_on(
    lm: LanguageModel, state: Context, ids: Tensor, lengths: Tensor | None = None
) -> tuple[Tensor, Context]:
    """Hidden states (N, T, H) of the next tokens ``ids`` (N, T), and the context after them.

    ``lengths`` (N,) ≥ 1 says how many of a row's tokens count; None: all. Grows the cache.
    """
    count, steps = ids.shape
    if lengths is None:
        lengths = torch.full((count,), steps, device=lm.device)
    mask = torch.cat([state.mask, length_mask(lengths, steps)], dim=1)
    positions = state.lengths[:, None] + torch.arange(steps, device=lm.device)
    out = lm.backbone(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions.clamp(max=lm.window - 1),
        past_key_values=state.cache,
        use_cache=True,
    )
    hidden: Tensor = out.last_hidden_state
    last = hidden[torch.arange(count, device=lm.device), lengths - 1]
    return hidden, Context(out.past_key_values, mask, state.lengths + lengths, last)


def continuation_logits(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    completions: Sequence[tuple[int, ...]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (N, T, V), ids (N, T) and mask (N, T) of completions; differentiable."""
    ids, lengths = padded(completions, lm.device)
    state = encode_prompts(lm, prompts)
    hidden = state.last[:, None]
    if ids.shape[1] > 1:
        hidden = torch.cat([hidden, read_on(lm, state, ids[:, :-1])[0]], dim=1)
    return lm.logits(hidden), ids, length_mask(lengths, ids.shape[1])
