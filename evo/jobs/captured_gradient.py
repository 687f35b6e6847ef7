"""Gradients of moves: by a captured pass (``xgl.lm.captured``), whose forward and backward pass are
one launch, or by a pass over trees, one for each prompt, with its moves as branches. Logits are
never held for more than a few positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from evo.jobs.lora import AdaptedModel
from xgl.judge.forward import tree_states
from xgl.lm.captured import (
    CapturedPass,
    NotCapturableError,
    Places,
    can_capture,
    captured,
    size_class,
)
from xgl.lm.language_model import LanguageModel, distinct_prompts, length_mask, pad
from xgl.lm.prefix_sharing import PrefixTree, ScoredSequence, prefix_trees
from xgl.runtime.requests import Move

POSITIONS = 256
"""Positions whose logits are held at once."""


class TokenTerms(torch.autograd.Function):
    """Log-probabilities (P,) of ``targets`` (P,) after ``hidden`` (P, H), and entropies (P,) there,
    both float32, in nats; the backward pass computes the logits again."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, head: nn.Linear, targets: Tensor
    ) -> tuple[Tensor, Tensor]:
        terms = []
        for states, ids in zip(hidden.split(POSITIONS), targets.split(POSITIONS), strict=True):
            logprobs = linear(states, head.weight, head.bias).float().log_softmax(-1)
            entropy = -(logprobs.exp() * logprobs).sum(-1)
            terms.append((logprobs.gather(1, ids[:, None])[:, 0], entropy))
        chosen, entropies = (torch.cat(parts) for parts in zip(*terms, strict=True))
        ctx.head = head
        ctx.save_for_backward(hidden, targets, entropies)
        return chosen, entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        parts = (each.split(POSITIONS) for each in (*ctx.saved_tensors, *gradients))
        return (
            torch.cat([_state_gradient(ctx.head, *part) for part in zip(*parts, strict=True)]),
            None,
            None,
        )


def _state_gradient(
    head: nn.Linear,
    states: Tensor,
    ids: Tensor,
    entropy: Tensor,
    of_chosen: Tensor,
    of_entropy: Tensor,
) -> Tensor:
    """Gradient (P, H): of a logit z_j, log p_t has [t = j] − p_j and H has −p_j (log p_j + H)."""
    logprobs = linear(states, head.weight, head.bias).float().log_softmax(-1)
    slope = of_chosen[:, None] + of_entropy[:, None] * (logprobs + entropy[:, None])
    of_logits = -logprobs.exp() * slope
    of_logits.scatter_add_(1, ids[:, None], of_chosen[:, None])
    return of_logits.to(states.dtype) @ head.weight


def surrogate(logprobs: Tensor, advantages: Tensor, made: Tensor, clip: Tensor) -> Tensor:
    """min(ρ·A, clamp(ρ, 1 − clip, 1 + clip)·A), ρ = exp(``logprobs`` − ``made``), elementwise (PPO,
    Schulman et al. 2017). At ρ = 1 its gradient is that of A · ``logprobs``."""
    ratio = (logprobs - made).exp()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def pad_logprobs(moves: Sequence[Move], width: int) -> Tensor:
    """(N, width) float32: log-probabilities (nats) at which the tokens of moves were sampled."""
    rows = [(*move.logprobs, *[0.0] * (width - len(move.logprobs))) for move in moves]
    return torch.tensor(rows)


class GradientPlace:
    """A batch of ``rows`` moves of at most ``steps`` tokens after ``prompts`` different prompts of
    at most ``width`` tokens; adds to the adapter's gradient that of

    −Σ_i w_i Σ_t log π(i, t) − b Σ_it H(i, t),

    or with the clipped ratio (:func:`surrogate`) in the place of log π."""

    bytes = 0
    """Of keys and values, which are intermediate results here."""

    def __init__(self, lm: LanguageModel, shape: tuple[int, int, int, int], pool: Any) -> None:
        self.lm = lm
        prompts, width, rows, steps = shape
        sizes = (prompts, width), (prompts,), (rows,), (rows, steps), (rows,)
        self.integers = [torch.zeros(s, dtype=torch.long, device=lm.device) for s in sizes]
        self.weights = torch.zeros(rows, device=lm.device)
        self.made = torch.zeros(rows, steps, device=lm.device)
        self.has_ratio = torch.zeros((), dtype=torch.bool, device=lm.device)
        self.bonus, self.clip = torch.zeros(2, device=lm.device)
        self.entropies = torch.zeros(rows, device=lm.device)
        self.add = CapturedPass(pool)

    def __call__(
        self, moves: Sequence[Move], weights: Sequence[float], bonus: float, clip: float | None
    ) -> list[float]:
        """Add the gradient; returns each move's entropy, summed, in nats."""
        distinct, owner = distinct_prompts([move.prompt_ids for move in moves], None)
        ids, lengths = pad([prompt for _, prompt in distinct], torch.device("cpu"))
        new, sizes = pad([move.token_ids for move in moves], torch.device("cpu"))
        values = ids, lengths, torch.tensor(owner), new, sizes, torch.tensor(weights)
        for place, value in zip((*self.integers, self.weights), values, strict=True):
            padded = torch.zeros(place.shape, dtype=value.dtype)
            padded[tuple(map(slice, value.shape))] = value
            place.copy_(padded)
        self.integers[1].clamp_(min=1)
        self.bonus.fill_(bonus)
        self.has_ratio.fill_(clip is not None)
        if clip is not None:
            self.clip.fill_(clip)
            self.made[: len(moves)].copy_(pad_logprobs(moves, self.made.shape[1]))
        self.add(self._add)
        summed: list[float] = self.entropies[: len(moves)].tolist()
        return summed

    def _add(self) -> None:
        prompts, lengths, owner, ids, sizes = self.integers
        mask = length_mask(sizes, ids.shape[1])
        hidden = self._states(prompts, lengths, owner, ids)
        head = self.lm.head
        if not isinstance(head, nn.Linear):
            raise NotCapturableError("its head is more than a matrix")
        logprobs, entropies = TokenTerms.apply(hidden.flatten(0, 1), head, ids.flatten())
        chosen, weights = logprobs.view(ids.shape), self.weights[:, None]
        made = torch.where(self.has_ratio, self.made, chosen.detach())
        by_ratio = surrogate(chosen, weights, made, self.clip)
        terms = torch.where(self.has_ratio, by_ratio, chosen * weights) * mask
        entropy = (entropies.view(ids.shape) * mask).sum(1)
        (-terms.sum() - self.bonus * entropy.sum()).backward()
        self.entropies.copy_(entropy.detach())

    def _states(self, prompts: Tensor, lengths: Tensor, owner: Tensor, ids: Tensor) -> Tensor:
        """Hidden states (N, T, H) before each token of ``ids`` (N, T)."""
        lm, device = self.lm, ids.device
        out = lm.backbone(input_ids=prompts, use_cache=True)
        last = out.last_hidden_state[torch.arange(len(prompts), device=device), lengths - 1]
        cache, width, steps = out[lm.cache_name], prompts.shape[1], ids.shape[1] - 1
        cache.batch_select_indices(owner)
        before = lengths.index_select(0, owner)[:, None]
        own = torch.arange(steps, device=device)
        seen = torch.cat(
            [
                (torch.arange(width, device=device) < before)[:, None].expand(-1, steps, -1),
                (own <= own[:, None]).expand(len(ids), -1, -1),
            ],
            2,
        )
        mask = (~seen * torch.finfo(lm.model.dtype).min).to(lm.model.dtype)[:, None]
        hidden = lm.backbone(
            input_ids=ids[:, :-1],
            attention_mask=mask,
            position_ids=(before + own).clamp(max=lm.window - 1),
            use_cache=True,
            **{lm.cache_name: cache},
        ).last_hidden_state
        return torch.cat([last.index_select(0, owner)[:, None], hidden], 1)


def _add_tree_gradient(
    lm: LanguageModel,
    moves: Sequence[Move],
    weights: Sequence[float],
    bonus: float,
    clip: float | None,
) -> list[float]:
    places, trees = list[int](), list[PrefixTree]()
    for prompt in dict.fromkeys(move.prompt_ids for move in moves):
        members = [place for place, move in enumerate(moves) if move.prompt_ids == prompt]
        rows = [(*prompt, *moves[place].token_ids) for place in members]
        own = [ScoredSequence(ids, len(ids) - len(prompt)) for ids in rows]
        for tree in prefix_trees(own):
            trees.append(tree)
            places += [members[index] for index in tree.members]
    states, targets = tree_states(lm, trees)
    logprobs, entropies = TokenTerms.apply(states, lm.head, targets)
    owner = torch.tensor([place for place in places for _ in moves[place].token_ids])
    owner = owner.to(lm.device)
    of_tokens = torch.tensor(weights, device=lm.device)[owner]
    if clip is None:
        terms = of_tokens * logprobs
    else:
        at = [each for place in places for each in moves[place].logprobs]
        made, width = (torch.tensor(each, device=lm.device) for each in (at, clip))
        terms = surrogate(logprobs, of_tokens, made, width)
    (-terms.sum() - bonus * entropies.sum()).backward()
    summed = torch.zeros(len(moves), device=lm.device).index_add(0, owner, entropies.detach())
    return [float(each) for each in summed]


def add_captured_gradient(
    lm: LanguageModel,
    adapted_model: AdaptedModel,
    moves: Sequence[Move],
    weights: Sequence[float],
    bonus: float,
    clip: float | None = None,
) -> list[float] | None:
    """Add the gradient of :class:`GradientPlace`, completely or not at all; returns each move's
    entropy, summed, in nats, or None where the pass is neither captured nor one over trees."""
    prompts = [move.prompt_ids for move in moves]
    if not can_capture(lm, prompts):
        if not adapted_model.shares_prefixes or not isinstance(lm.head, nn.Linear):
            return None
        with adapted_model.whole_gradient():
            return _add_tree_gradient(lm, moves, weights, bonus, clip)
    shape = (
        size_class(len(set(prompts)), 1),
        size_class(max(map(len, prompts)), 32),
        size_class(len(moves), 8),
        size_class(max(len(move.token_ids) for move in moves), 8),
    )

    def add() -> list[float]:
        with adapted_model.whole_gradient():
            place: GradientPlace = Places.of(lm).get(
                ("gradient", lm.variant, shape), lambda pool: GradientPlace(lm, shape, pool)
            )
            return place(moves, weights, bonus, clip)

    return captured(lm, add)
