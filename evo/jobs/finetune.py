"""F_G^𝒯[M]: REINFORCE on a game's rewards under AdamW, for a budget of tokens
(paper §4.1.4; docs/specification.md, "Fine-tuning").

Each step plays ``rollouts`` times on each of ``maps`` fresh maps with the present policy and
takes one gradient step. A move is credited with the rewards that came after it; its baseline
is the mean of its group, the moves made at the same place of the same map. No importance
ratio, no clipping of it; on demand a penalty on the divergence from the base player.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evo.config.schema import FinetuneConfig
from evo.jobs.evaluate import Task, finite_score
from evo.jobs.job import Finetune
from evo.jobs.lora import AdaptedModel
from xgl.lm.language_model import LanguageModel, continuation_logits
from xgl.lm.memory import micro_batches, retry_in_halves
from xgl.players.local import MEMORY_BYTES, LocalPolicy
from xgl.random_streams import seed as named_seed
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Move, Moved, Play, Rewarded, Seeds

ROUNDING = 1e-6
"""Bits below which a spread of rewards is rounding error, not to be scaled up."""


@dataclass(frozen=True)
class Credit:
    """A move, the score collected after it (bits), and the group it is compared within."""

    move: Move
    reward_to_go: float
    group: tuple[int, int, int]


def training_seeds(seed: int, step: int, maps: int, rollouts: int) -> list[Seeds]:
    """Fresh even map seeds for every step, the same for every game of a run."""
    map_seeds = [2 * named_seed("training", seed, step, index, bits=61) for index in range(maps)]
    return [Seeds(map_seed, play) for map_seed in map_seeds for play in range(rollouts)]


def finetune(
    adapted: AdaptedModel,
    cast: Cast,
    task: Task,
    settings: FinetuneConfig,
    seed: int,
    count: Callable[[str], int] | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Finetune:
    """Train a new adapter on ``task``; equal arguments give equal adapters on one machine.

    ``count`` counts judge tokens where the player's are others, ``memory_bytes`` bound the
    sampling of a batch, see :class:`LocalPolicy`, and the gathering of a gradient.
    """
    started = time.perf_counter()
    curve: list[float] = []
    entropy: list[float] = []
    norms: list[float] = []
    plays: list[Play] = []
    with adapted.new_adapter(named_seed("adapter", seed)) as lm:
        policy = LocalPolicy(lm, count=count, memory_bytes=memory_bytes)
        players = cast.players | {task.role: policy}
        optimizer = torch.optim.AdamW(adapted.parameters(), lr=settings.learning_rate)
        while policy.prompt_tokens + policy.new_tokens < settings.tokens:
            seeds = training_seeds(seed, len(curve), settings.maps, settings.rollouts)
            instances = [Instance(task.game, each) for each in seeds]
            plays = play_all(instances, Cast(cast.judge, cast.stories, players))
            scores = [finite_score(play, task) for play in plays]
            credits = _credits(plays, seeds, task)
            if not credits:  # no view fits the model: such steps would spend no tokens, for ever
                break
            if settings.shuffle:
                credits = shuffled(credits, named_seed("shuffle", seed, len(curve)))
            uncertainty, norm = update(lm, adapted, optimizer, credits, settings, memory_bytes)
            if not math.isfinite(norm):
                break
            curve.append(float(np.mean(scores)))
            entropy.append(uncertainty)
            norms.append(norm)
        adapter = adapted.adapter_bytes()
    return Finetune(
        adapter=adapter,
        curve=curve,
        entropy=entropy,
        grad_norm=norms,
        distinct_moves=_distinct(plays, task.role),
        forfeit_rate=_unfinished(plays, task.role),
        prompt_tokens=policy.prompt_tokens,
        generated_tokens=policy.new_tokens,
        seconds=time.perf_counter() - started,
    )


def _credits(plays: Sequence[Play], seeds: Sequence[Seeds], task: Task) -> list[Credit]:
    return [
        credit
        for play, each in zip(plays, seeds, strict=True)
        for credit in credits_of(play, each.map_seed, task)
    ]


def credits_of(play: Play, map_seed: int, task: Task) -> list[Credit]:
    """Per-elicit credit: the role's rewards after each of its moves.

    In a play that did not finish every move is credited with the game's floor.
    """
    finished = play.outcome_for(task.role) == "finished"
    to_go, returns = 0.0, []
    for event in reversed(play.events):
        if isinstance(event, Rewarded) and event.player == task.role:
            to_go += event.bits
        if isinstance(event, Moved) and event.player == task.role:
            returns.append((event, to_go if finished else task.floor))
    occurrence: dict[int, int] = defaultdict(int)
    credits = []
    for moved, value in reversed(returns):
        credits.append(Credit(moved.move, value, (map_seed, moved.line, occurrence[moved.line])))
        occurrence[moved.line] += 1
    return credits


def shuffled(credits: Sequence[Credit], seed: int) -> list[Credit]:
    """Rewards shuffled among the moves (docs/specification.md, "Null control")."""
    order = np.random.default_rng(seed).permutation(len(credits))
    dealt = [credits[index].reward_to_go for index in order]
    return [replace(credit, reward_to_go=to) for credit, to in zip(credits, dealt, strict=True)]


def advantages(credits: Sequence[Credit], baseline: str, scale: bool) -> Tensor:
    """(N,) float32: reward to go minus the baseline, over its standard deviation if ``scale``.

    ``group_mean`` subtracts the group's mean, ``leave_one_out`` the mean of the others, ``none``
    nothing. A group of one has no baseline and no advantage.
    """
    values = np.array([credit.reward_to_go for credit in credits])
    groups: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, credit in enumerate(credits):
        groups[credit.group].append(index)
    centred = values.copy()
    for members in groups.values():
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
    before = [None if p.grad is None else p.grad.clone() for p in adapted.parameters()]
    moves = [credit.move for credit, _ in part]
    try:
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
    except (RuntimeError, MemoryError):
        for parameter, gradient in zip(adapted.parameters(), before, strict=True):
            parameter.grad = gradient
        raise
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


def _distinct(plays: Sequence[Play], role: str) -> float | None:
    moves = [tuple(play.accepted_moves(role)) for play in plays]
    return len(set(moves)) / len(moves) if moves else None


def _unfinished(plays: Sequence[Play], role: str) -> float | None:
    rate = [play.outcome_for(role) != "finished" for play in plays]
    return float(np.mean(rate)) if rate else None
