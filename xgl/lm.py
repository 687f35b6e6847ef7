"""A causal language model as the judge and the local policy both use it.

Right padding, positions counted from each row's own start, logits only where they are needed.
A group's shared prompt is encoded once: its key-value cache is then selected row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LOGIT_CHUNK = 4096
"""Positions whose logits are held at once, times the vocabulary."""


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

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits, float32, of hidden states (…, H)."""
        head: Any = self.model.get_output_embeddings()
        return torch.as_tensor(head(hidden)).float()


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


def target_logprobs(lm: LanguageModel, hidden: Tensor, targets: Tensor) -> Tensor:
    """Natural log-probabilities (P,) of ``targets`` (P,) after ``hidden`` (P, H), in chunks."""
    parts = []
    for h, t in zip(hidden.split(LOGIT_CHUNK), targets.split(LOGIT_CHUNK), strict=True):
        parts.append(lm.logits(h).log_softmax(-1).gather(1, t[:, None])[:, 0])
    return torch.cat(parts) if parts else hidden.new_zeros(0)


@dataclass(frozen=True)
class Prompts:
    """Encoded prompts: cache and last hidden state (N, H), one row for each continuation."""

    cache: Any
    lengths: Tensor
    width: int
    last: Tensor


def encode_prompts(
    lm: LanguageModel, prompts: Sequence[tuple[int, ...]], owner: Sequence[int]
) -> Prompts:
    """Encode each distinct prompt once; row ``i`` of the result continues ``prompts[owner[i]]``."""
    ids, lengths = padded(prompts, lm.device)
    width = ids.shape[1]
    mask = length_mask(lengths, width)
    out = lm.backbone(input_ids=ids, attention_mask=mask, use_cache=True)
    rows = torch.tensor(list(owner), device=lm.device)
    last = out.last_hidden_state[torch.arange(len(prompts), device=lm.device), lengths - 1]
    out.past_key_values.batch_select_indices(rows)
    return Prompts(out.past_key_values, lengths[rows], width, last[rows])


def continue_prompts(lm: LanguageModel, prompts: Prompts, ids: Tensor, start: int) -> Tensor:
    """Hidden states (N, T, H) of ``ids`` (N, T), the tokens from ``start`` on of each row's
    continuation; grows the cache."""
    count, steps = ids.shape
    new = torch.ones(count, start + steps, dtype=torch.long, device=lm.device)
    mask = torch.cat([length_mask(prompts.lengths, prompts.width), new], dim=1)
    positions = prompts.lengths[:, None] + torch.arange(start, start + steps, device=lm.device)
    out = lm.backbone(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=prompts.cache,
        use_cache=True,
    )
    hidden: Tensor = out.last_hidden_state
    return hidden


def continuation_logits(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    owner: Sequence[int],
    completions: Sequence[tuple[int, ...]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (N, T, V), ids (N, T) and mask (N, T) of completions; differentiable."""
    ids, lengths = padded(completions, lm.device)
    state = encode_prompts(lm, prompts, owner)
    hidden = state.last[:, None]
    if ids.shape[1] > 1:
        hidden = torch.cat([hidden, continue_prompts(lm, state, ids[:, :-1], 0)], dim=1)
    return lm.logits(hidden), ids, length_mask(lengths, ids.shape[1])
