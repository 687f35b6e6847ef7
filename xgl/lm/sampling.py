"""Sampling of continuations: batched, with a cache, each row from its own random stream.

The key-value caches of the prompts that a policy read last are kept: the next prompt of a play
mostly continues an earlier one, after a failed ``ensure``, at the second move of a game, in later
rounds of repeated play. What both share need not be read again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from cachetools import LRUCache
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from xgl.errors import PlayerError
from xgl.lm.captured import Rows, can_capture, captured, sampled_rows
from xgl.lm.language_model import (
    UNBOUNDED,
    DecoderState,
    LanguageModel,
    PolicyPrompt,
    distinct_prompts,
    encode_distinct,
    exceeds_local_attention,
    extend,
    length_mask,
    pad,
    select_rows,
    split_prompts,
)
from xgl.lm.prefix_sharing import shared_length


class Continuation(NamedTuple):
    """Sampled tokens, the stop token included, with natural-log probabilities."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


def stop_tokens(lm: LanguageModel, mark: str) -> Tensor:
    """(V,) bool: tokens that end a continuation: those that contain ``mark``, and EOS."""
    return _stop_tokens(lm.tokenizer, int(lm.model.config.vocab_size), mark).to(lm.device)


@lru_cache(8)  # decoding each of 152k tokens takes a second
def _stop_tokens(tokenizer: Any, size: int, mark: str) -> Tensor:
    stops = torch.zeros(size, dtype=torch.bool)
    texts = tokenizer.batch_decode([[token] for token in range(min(size, len(tokenizer)))])
    stops[: len(texts)] = torch.tensor([mark in text for text in texts])
    stops[tokenizer.eos_token_id] = True
    return stops


@dataclass(frozen=True)
class Decoding:
    """``temperature`` divides the logits, 0 takes the likeliest token; ``top_p`` keeps the fewest
    likeliest tokens whose probabilities add up to at least that much, in (0, 1]."""

    temperature: float = 1.0
    top_p: float = 1.0

    def logprobs(self, logits: Tensor) -> Tensor:
        """Log-probabilities (…, V) at this temperature, before ``top_p`` cuts; at 0, as at 1."""
        return (logits / (self.temperature or 1.0)).log_softmax(-1)

    def choose(self, logprobs: Tensor, uniform: Tensor) -> Tensor:
        """Tokens (N,) drawn from ``logprobs`` (N, V) by numbers (N,) in [0, 1): those at which the
        cumulative probability first exceeds them."""
        if self.temperature == 0:
            return logprobs.argmax(-1)
        if self.top_p < 1:  # −∞ for all but the likeliest tokens of this mass
            ordered, places = logprobs.sort(-1, descending=True)
            mass = ordered.double().exp()
            beyond = mass.cumsum(-1) - mass >= self.top_p
            logprobs = logprobs.scatter(1, places, ordered.masked_fill(beyond, -torch.inf))
        # In double, since a float32 sum over 50,000 entries loses the tail that a draw near 1 falls
        # into; scaled by its own total, which is not exactly 1.
        cumulative = logprobs.double().exp().cumsum(-1)
        target = (uniform * cumulative[:, -1])[:, None]
        tokens = torch.searchsorted(cumulative, target, right=True)[:, 0]
        return tokens.clamp(max=logprobs.shape[1] - 1)


StopCondition = Callable[[int, Sequence[int]], bool]
"""Whether the continuation of a row (an index) ends after the tokens that it has."""

AllowedTokens = Callable[[int, Sequence[int]], Tensor]
"""(V,) bool, on the CPU: tokens that may follow those which a row (an index) has; at least one."""


@torch.inference_mode()
def sample(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    limits: Sequence[int],
    uniforms: np.ndarray,
    stops: Tensor,
    decoding: Decoding | None = None,
    policies: Sequence[str] | None = None,
    stop_when: StopCondition | None = None,
    allowed: AllowedTokens | None = None,
    caches: PromptCaches | None = None,
) -> list[Continuation]:
    """One continuation for each prompt, by inversion of the cumulative distribution.

    ``uniforms`` (N, T ≥ max limit) float64 in [0, 1): row ``i`` decides all of continuation
    ``i``, so policies that agree sample alike. ``limits`` are in the model's tokens;
    ``stop_when`` may end a row before. ``policies`` (N,) name each row's policy, where ``lm`` holds
    several. Common prefixes are read once; what prompts share with those in ``caches`` is not read
    again. Log-probabilities are :meth:`Decoding.logprobs`, over the tokens that are ``allowed``.
    Rows in which local attention would count padding are sampled one by one, without ``caches``.
    Raises :class:`PlayerError` if logits are not finite.
    """
    decoding = decoding or Decoding()

    def alone(row: int) -> Continuation:
        return sample(
            lm, [prompts[row]], [limits[row]], uniforms[row : row + 1], stops, decoding,
            policies and [policies[row]],
            stop_when and (lambda _, ids: stop_when(row, ids)),
            allowed and (lambda _, ids: allowed(row, ids)),
        )[0]  # fmt: skip

    if len(prompts) > 1 and exceeds_local_attention(lm, prompts, max(limits)):
        return [alone(row) for row in range(len(prompts))]
    rows: Rows | None = None
    if allowed is None and can_capture(lm, [*set(prompts)]):
        options = prompts, limits, uniforms, stops, decoding, policies, stop_when
        rows = captured(lm, lambda: sampled_rows(lm, *options))
    if rows is None:
        encode = encode_distinct if caches is None else caches.encode
        distinct, owner = distinct_prompts(prompts, policies)
        state = select_rows(encode(lm, distinct), owner)
        rows = _stepwise_rows(lm, state, limits, uniforms, stops, decoding, stop_when, allowed)
    for prompt, (ids, logprobs) in zip(prompts, rows, strict=True):
        bad = next((n for n, value in enumerate(logprobs) if not math.isfinite(value)), None)
        if bad is not None:
            after = lm.decode((*prompt, *ids[:bad]))[-80:]
            raise PlayerError(f"the player's logits are not finite after {after!r}")
    return [Continuation(tuple(ids), tuple(logprobs)) for ids, logprobs in rows]


def _stepwise_rows(
    lm: LanguageModel,
    state: DecoderState,
    limits: Sequence[int],
    uniforms: np.ndarray,
    stops: Tensor,
    decoding: Decoding,
    stop_when: StopCondition | None,
    allowed: AllowedTokens | None,
) -> Rows:
    """Rows after ``state``; the host decides after every token which go on, and ended rows leave
    the batch."""
    draws = torch.from_numpy(np.asarray(uniforms)).to(lm.device)
    rows = list(range(len(limits)))
    drawn: Rows = [([], []) for _ in rows]
    for step in range(max(limits)):
        logits = lm.logits(state.last)
        if allowed is not None:
            masks = torch.stack([allowed(row, drawn[row][0]) for row in rows])
            logits = logits.masked_fill(~masks.to(logits.device), -torch.inf)
        row_logprobs = decoding.logprobs(logits)
        tokens = decoding.choose(row_logprobs, draws[rows, step])
        chosen = row_logprobs.gather(1, tokens[:, None])[:, 0]
        for row, token, logprob in zip(rows, tokens.tolist(), chosen.tolist(), strict=True):
            drawn[row][0].append(token)
            drawn[row][1].append(logprob)
        if not bool(chosen.isfinite().all()):
            break  # what follows a NaN is noise, which ``allowed`` may refuse
        alive = [
            index
            for index, (row, is_stop) in enumerate(zip(rows, stops[tokens].tolist(), strict=True))
            if step + 1 < limits[row] and not is_stop
            if not (stop_when and stop_when(row, drawn[row][0]))
        ]
        if not alive:
            break
        if len(alive) < len(rows):
            state, tokens = select_rows(state, alive), tokens[alive]
            rows = [rows[index] for index in alive]
        state = extend(lm, state, tokens[:, None])
    return drawn


Layers = tuple[tuple[Tensor, Tensor], ...]
"""Keys and values (heads, L, width) of the L tokens of a text, of each layer."""


class PromptCaches:
    """The caches of the latest prompts, up to ``max_bytes`` together; the one that was used longest
    ago is dropped first.

    Valid while the weights stay the same: the owner calls :meth:`clear` before they change, and
    between jobs, so that the numbers of a job do not depend on earlier ones. If a model has local
    attention, or other caches than keys and values of all positions, nothing is kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.kept: LRUCache[PolicyPrompt, Layers] = LRUCache(
            max_bytes, lambda layers: sum(int(each.nbytes) for pair in layers for each in pair)
        )

    def clear(self) -> None:
        self.kept.clear()

    def encode(self, lm: LanguageModel, prompts: Sequence[PolicyPrompt]) -> DecoderState:
        """:func:`~xgl.lm.language_model.encode_distinct`, without reading again what the prompts
        share with earlier ones; keeps their own caches."""
        state = self._continue(lm, prompts) or encode_distinct(lm, prompts)
        self._keep(lm, prompts, state)
        return state

    def _keep(
        self, lm: LanguageModel, prompts: Sequence[PolicyPrompt], state: DecoderState
    ) -> None:
        layers = getattr(state.cache, "layers", ())
        plain = layers and all(type(layer) is DynamicLayer for layer in layers)
        if not plain or lm.is_spread or lm.local_attention < UNBOUNDED:
            return
        for row, prompt in enumerate(prompts):
            columns = torch.nonzero(state.mask[row])[:, 0]  # without the padding between its parts
            with suppress(ValueError):  # larger than all the room there is
                self.kept[prompt] = tuple(
                    (layer.keys[row].index_select(1, columns), layer.values[row][:, columns])
                    for layer in layers
                )

    def _continue(self, lm: LanguageModel, prompts: Sequence[PolicyPrompt]) -> DecoderState | None:
        """The state after different ``prompts``; None if they are read from the beginning with
        fewer tokens."""
        if not self.kept:
            return None
        known = sorted(self.kept)
        sources = [_closest(prompt, known) for prompt in prompts]
        # At least one token of each prompt is read: from its state the next one is drawn.
        suffixes = [ids[shared:] for (_, ids), (_, shared) in zip(prompts, sources, strict=True)]
        prefixes, _, rests = split_prompts(prompts)
        whole_tokens = sum(len(ids) for _, ids in prefixes) + sum(map(len, rests))
        if len(suffixes) * max(map(len, suffixes)) >= whole_tokens:
            return None
        shared = [shared for _, shared in sources]
        cache: Any = DynamicCache()
        kept = [self.kept[source] for source, _ in sources]
        for index, layers in enumerate(zip(*kept, strict=True)):
            parts = [
                [each[:, :n].transpose(0, 1) for each in layer]
                for layer, n in zip(layers, shared, strict=True)
            ]
            keys, values = (pad_sequence([*each], True) for each in zip(*parts, strict=True))
            cache.update(keys.transpose(1, 2), values.transpose(1, 2), index)
        lengths = torch.tensor(shared, device=lm.device)
        policies = tuple(name for name, _ in prompts)
        unread = torch.empty(0)  # a hidden state, which the next tokens replace
        state = DecoderState(cache, length_mask(lengths, max(shared)), lengths, unread, policies)
        return extend(lm, state, *pad(suffixes, lm.device))


def _closest(prompt: PolicyPrompt, known: Sequence[PolicyPrompt]) -> tuple[PolicyPrompt, int]:
    """Of the sorted ``known`` prompts the one of the same policy that shares most tokens with
    ``prompt``, and how many; at least its last token is left to be read."""
    name, ids = prompt
    # Of all texts in sorted order the one before or after a text shares the most with it.
    place, best = bisect_left(known, prompt), (known[0], 0)
    for other in known[max(0, place - 1) : place + 1]:
        shared = min(shared_length(other[1], ids), len(ids) - 1) if other[0] == name else 0
        best = max(best, (other, shared), key=lambda each: each[1])
    return best
