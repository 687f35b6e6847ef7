"""A causal language model as the judge and the local policy both use it.

Right padding, positions counted from each row's own start, logits only where they are needed.
What prompts have in common is encoded once: its key-value cache is then selected row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xgl.lm.prefix_plan import plan

UNBOUNDED = 1 << 20
PLAIN = {"add_special_tokens": False, "split_special_tokens": True}
"""How a tokenizer reads a text: a move that spells out EOS must not end anything."""
LOCAL = ("sliding_window", "window_size", "attention_chunk_size")
"""What configurations call a width of attention that counts places in a cache."""


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model with its tokenizer; LoRA layers may have been injected into ``model``."""

    model: Any
    tokenizer: Any
    device: torch.device

    @property
    def several(self) -> bool:
        """Whether each row must name the policy that reads it."""
        return False

    @property
    def window(self) -> int:
        """Longest sequence in tokens; a recurrent model has no bound of its own."""
        return int(getattr(self.model.config, "max_position_embeddings", None) or UNBOUNDED)

    @property
    def reach(self) -> int:
        """Places of a cache back to which every layer attends; unbounded where none is local."""
        widths = [getattr(self.model.config, name, None) for name in LOCAL]
        return min([UNBOUNDED, *(int(width) for width in widths if width)])

    @property
    def bos(self) -> int:
        return int(self.tokenizer.bos_token_id)

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a text. No special token is added, and one spelt out in it is a text."""
        return tuple(self.tokenizer.encode(text, **PLAIN))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def backbone(self, policies: Sequence[str] | None = None, **inputs: Any) -> Any:
        """The model without its head: hidden states and cache.

        ``policies`` names one for each row, where several share the weights
        (``evo.jobs.multi_lora``).
        """
        if policies is not None:
            raise ValueError("this model is a single policy")
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
    lengths = np.fromiter(map(len, rows), np.int64)
    ids = np.zeros((len(rows), int(lengths.max())), np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(rows), np.int64
    )
    return torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)


def length_mask(lengths: Tensor, width: int) -> Tensor:
    """(N, width) int64: 1 where a row has a token."""
    return (torch.arange(width, device=lengths.device) < lengths[:, None]).long()


@dataclass(frozen=True)
class Context:
    """What N rows have read: cache, its mask (N, W), lengths (N,), last hidden state (N, H), and
    the policy that reads each row, where there are several."""

    cache: Any
    mask: Tensor
    lengths: Tensor
    last: Tensor
    policies: tuple[str, ...] | None = None


def encode_prompts(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    policies: Sequence[str] | None = None,
) -> Context:
    """Read one prompt a row: equal ones once, and once what others have in common.

    ``policies`` (N,), None for a single one: nothing is shared between two of them.
    """
    rows = list(zip(policies or [""] * len(prompts), prompts, strict=True))
    unique = sorted(dict.fromkeys(rows), key=lambda row: row[0])
    stems: list[tuple[str, tuple[int, ...]]] = []
    owner: list[int] = []
    for policy in dict.fromkeys(each for each, _ in unique):
        found, owners = plan([prompt for each, prompt in unique if each == policy])
        owner += [len(stems) + index for index in owners]
        stems += [(policy, stem) for stem in found]
    state = select(_encode(lm, stems, policies is not None), owner)
    rests = [prompt[len(stems[stem][1]) :] for (_, prompt), stem in zip(unique, owner, strict=True)]
    if any(rests):
        state = _read_rests(lm, state, rests)
    place = {row: index for index, row in enumerate(unique)}
    return select(state, [place[row] for row in rows])


def _encode(
    lm: LanguageModel, stems: Sequence[tuple[str, tuple[int, ...]]], several: bool
) -> Context:
    policies = tuple(policy for policy, _ in stems) if several else None
    ids, lengths = padded([ids for _, ids in stems], lm.device)
    mask = length_mask(lengths, ids.shape[1])
    out = lm.backbone(policies, input_ids=ids, attention_mask=mask, use_cache=True)
    last = out.last_hidden_state[torch.arange(len(stems), device=lm.device), lengths - 1]
    return Context(out.past_key_values, mask, lengths, last, policies)


def _read_rests(lm: LanguageModel, state: Context, rests: Sequence[tuple[int, ...]]) -> Context:
    """Read on by rests of one or more tokens in some rows and none in others."""
    if all(rests):
        return read_on(lm, state, *padded(rests, lm.device))[1]
    ids, lengths = padded([rest or (0,) for rest in rests], lm.device)
    some = torch.tensor([bool(rest) for rest in rests], device=lm.device)
    after = read_on(lm, state, ids, lengths)[1]
    mask = after.mask.clone()
    mask[~some, state.mask.shape[1] :] = 0
    return Context(
        after.cache,
        mask,
        torch.where(some, after.lengths, state.lengths),
        torch.where(some[:, None], after.last, state.last),
        after.policies,
    )


def select(state: Context, rows: Sequence[int]) -> Context:
    """The context of ``rows``, which may repeat; takes the cache over."""
    if list(rows) == list(range(len(state.lengths))):
        return state
    index = torch.tensor(list(rows), device=state.lengths.device)
    state.cache.batch_select_indices(index)
    policies = None if state.policies is None else tuple(state.policies[row] for row in rows)
    return Context(
        state.cache, state.mask[index], state.lengths[index], state.last[index], policies
    )


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
        state.policies,
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions.clamp(max=lm.window - 1),
        past_key_values=state.cache,
        use_cache=True,
    )
    hidden: Tensor = out.last_hidden_state
    last = hidden[torch.arange(count, device=lm.device), lengths - 1]
    after = state.lengths + lengths
    return hidden, Context(out.past_key_values, mask, after, last, state.policies)


def continuation_logits(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    completions: Sequence[tuple[int, ...]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (N, T, V), ids (N, T) and mask (N, T) of completions; differentiable."""
    ids, lengths = padded(completions, lm.device)
    whole = slice(0, len(prompts))
    alone = beyond_reach(lm, prompts, ids.shape[1])
    parts = [slice(row, row + 1) for row in range(len(prompts))] if alone else [whole]
    hidden = torch.cat([_continued(lm, prompts[part], ids[part]) for part in parts])
    return lm.logits(hidden), ids, length_mask(lengths, ids.shape[1])


def _continued(lm: LanguageModel, prompts: Sequence[tuple[int, ...]], ids: Tensor) -> Tensor:
    """Hidden states (N, T, H) before each of the next tokens ``ids`` (N, T)."""
    state = encode_prompts(lm, prompts)
    hidden = state.last[:, None]
    if ids.shape[1] == 1:
        return hidden
    return torch.cat([hidden, read_on(lm, state, ids[:, :-1])[0]], dim=1)


def beyond_reach(lm: LanguageModel, prompts: Sequence[tuple[int, ...]], steps: int) -> bool:
    """Whether local attention would count padding for text, so that rows must be read alone."""
    return 2 * max(map(len, prompts)) + steps > lm.reach
