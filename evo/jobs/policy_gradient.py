"""The policy gradient: advantages within groups, the REINFORCE loss and one gradient step
(docs/specification.md, "Fine-tuning")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from evo.config.schema import FinetuneConfig
from evo.jobs.credit import Credit, groups_of
from evo.jobs.lora import AdaptedModel
from xgl.lm.language_model import LanguageModel, continuation_logits
from xgl.lm.memory import micro_batches, retry_in_halves
from xgl.players.local import MEMORY_BYTES
from xgl.runtime.requests import Move

ROUNDING = 1e-6
"""Bits below which a spread of rewards is rounding error, not to be scaled up."""


def advantages(credits: Sequence[Credit], baseline: str, scale: bool) -> Tensor:
    """(N,) float32: reward to go minus the baseline, over its standard deviation if ``scale``.

    ``group_mean`` subtracts the group's mean, ``leave_one_out`` the mean of the others, ``none``
    nothing. A group of one has no baseline and no advantage.
    """
    values = np.array([credit.reward_to_go for credit in credits])
    centred = values.copy()
    for members in groups_of(credits):
        if baseline != "none":
            centred[members] -= values[members].mean()
        if baseline == "leave_one_out" and len(members) > 1:
            centred[members] *= len(members) / (len(members) - 1)
    spread = float(centred.std())
    return torch.tensor(centred / spread if scale and spread > ROUNDING else centred).float()


def policy_loss(
    logprobs: Tensor,
    mask: Tensor,
    advantages: Tensor,
    entropy: Tensor,
    bonus: float,
    whole: tuple[int, int] | None = None,
    divergence: Tensor | None = None,
) -> Tensor:
    """−mean_i A_i Σ_t log π(i, t) − bonus · mean entropy + mean divergence.

    ``logprobs``, ``mask``, ``entropy`` and ``divergence`` (weighted already) are (N, T),
    ``advantages`` (N,); entropy and divergence in nats. ``whole``: rows and tokens of the batch
    that these rows are a part of, so that the losses of its parts add up to its own.
    """
    rows, tokens = whole or (len(mask), int(mask.sum()))
    loss = -((logprobs * mask).sum(1) * advantages).sum() / rows
    if bonus:
        loss = loss - bonus * (entropy * mask).sum() / tokens
    if divergence is not None:
        loss = loss + (divergence * mask).sum() / tokens
    return loss


def update(
    lm: LanguageModel,
    adapted: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    credits: Sequence[Credit],
    settings: FinetuneConfig,
    memory_bytes: int = MEMORY_BYTES,
) -> tuple[float, float]:
    """One gradient step; returns the policy's entropy (bits a token) and the gradient norm.

    The gradient is gathered from parts that fit into ``memory_bytes`` and, where memory runs out
    all the same, from halves of them.
    """
    weights = advantages(credits, settings.baseline, settings.scale_advantages).tolist()
    whole = len(credits), sum(len(credit.move.token_ids) for credit in credits)

    def gather(part: Sequence[tuple[Credit, float]]) -> list[float]:
        return _gather(lm, adapted, part, settings, whole)

    optimizer.zero_grad()
    weighed = list(zip(credits, weights, strict=True))
    rows = [(credit.move.prompt_ids, len(credit.move.token_ids)) for credit in credits]
    parts = [weighed[part] for part in micro_batches(lm, rows, memory_bytes)]
    entropies = [
        e for part in parts for e in retry_in_halves(gather, part, "rollouts to learn from")
    ]
    norm = torch.nn.utils.clip_grad_norm_(adapted.parameters(), settings.gradient_clip)
    if torch.isfinite(norm):
        optimizer.step()
    return sum(entropies) / whole[1] / math.log(2), float(norm)


def _gather(
    lm: LanguageModel,
    adapted: AdaptedModel,
    part: Sequence[tuple[Credit, float]],
    settings: FinetuneConfig,
    whole: tuple[int, int],
) -> list[float]:
    """Add a part's gradient, all of it or nothing; returns each row's entropy, summed, in nats."""
    moves = [credit.move for credit, _ in part]
    with adapted.whole_gradient():
        logits, ids, mask = continuation_logits(
            lm, [move.prompt_ids for move in moves], [move.token_ids for move in moves]
        )
        logprobs = logits.log_softmax(-1)
        with torch.set_grad_enabled(settings.entropy_bonus != 0):
            entropy = -(logprobs.exp() * logprobs).sum(-1)
        divergence = (
            settings.kl * _divergence(lm, adapted, moves, logprobs) if settings.kl else None
        )
        chosen = logprobs.gather(2, ids[:, :, None])[:, :, 0]
        weights = torch.tensor([weight for _, weight in part], device=lm.device)
        bonus = settings.entropy_bonus
        policy_loss(chosen, mask, weights, entropy, bonus, whole, divergence).backward()
    return (entropy.detach() * mask).sum(1).tolist()


def _divergence(
    lm: LanguageModel, adapted: AdaptedModel, moves: Sequence[Move], logprobs: Tensor
) -> Tensor:
    """(N, T): KL of the policy from the base player before each token of the moves, in nats."""
    with adapted.without_adapter(), torch.no_grad():
        prompts = [move.prompt_ids for move in moves]
        logits, _, _ = continuation_logits(lm, prompts, [move.token_ids for move in moves])
        base = logits.log_softmax(-1)
    return (logprobs.exp() * (logprobs - base)).sum(-1)
