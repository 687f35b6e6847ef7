"""Sampling continuations: batched, cached, each row from a random stream of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xgl.lm import Context, LanguageModel, encode_prompts, read_on


@dataclass(frozen=True)
class Continuation:
    """Sampled tokens, the stop token included, with natural-log probabilities."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


def stop_tokens(lm: LanguageModel, mark: str) -> Tensor:
    """(V,) bool: tokens that end a continuation: those that contain ``mark``, and EOS."""
    size = int(lm.model.config.vocab_size)
    stops = torch.zeros(size, dtype=torch.bool)
    pieces = lm.tokenizer.batch_decode([[index] for index in range(min(size, len(lm.tokenizer)))])
    for index, piece in enumerate(pieces):
        stops[index] = mark in piece
    stops[lm.tokenizer.eos_token_id] = True
    return stops.to(lm.device)


@torch.inference_mode()
def sample(
    lm: LanguageModel,
    prompts: Sequence[tuple[int, ...]],
    limits: Sequence[int],
    uniforms: np.ndarray,
    stops: Tensor,
    temperature: float = 1.0,
) -> list[Continuation]:
    """One continuation for each prompt, by inversion of the cumulative distribution.

    ``uniforms`` (N, T ≥ max limit) float64 in [0, 1): row ``i`` decides all of continuation
    ``i``, so policies that agree sample alike. Common beginnings are encoded once.
    """
    state = encode_prompts(lm, prompts)
    bounds = torch.tensor(list(limits), device=lm.device)
    draws = torch.from_numpy(np.asarray(uniforms)).to(lm.device)
    tokens, logprobs, lengths = _decode(lm, state, bounds, draws, stops, temperature)
    return [
        Continuation(tuple(ids[:length]), tuple(values[:length]))
        for ids, values, length in zip(
            tokens.tolist(), logprobs.tolist(), lengths.tolist(), strict=True
        )
    ]


def _decode(
    lm: LanguageModel,
    state: Context,
    limits: Tensor,
    draws: Tensor,
    stops: Tensor,
    temperature: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens (N, T), log-probabilities (N, T) and lengths (N,)."""
    steps = int(limits.max())
    alive = torch.ones_like(limits, dtype=torch.bool)
    lengths = torch.zeros_like(limits)
    tokens, logprobs = [], []
    for step in range(steps):
        scores = (lm.logits(state.last) / temperature).log_softmax(-1)
        chosen = _invert(scores, draws[:, step])
        tokens.append(chosen)
        logprobs.append(scores.gather(1, chosen[:, None])[:, 0])
        lengths += alive
        alive = alive & ~stops[chosen] & (step + 1 < limits)
        if step + 1 == steps or not bool(alive.any()):
            break
        state = read_on(lm, state, chosen[:, None])[1]
    return torch.stack(tokens, 1), torch.stack(logprobs, 1), lengths


def _invert(logprobs: Tensor, uniform: Tensor) -> Tensor:
    """The token at which the cumulative probability first exceeds ``uniform`` (N,)."""
    cumulative = logprobs.double().exp().cumsum(-1)
    target = (uniform * cumulative[:, -1])[:, None]
    chosen = torch.searchsorted(cumulative, target, right=True)[:, 0]
    return chosen.clamp(max=logprobs.shape[1] - 1)
