"""The policy gradient: credit for moves (what a play paid after each), advantages within the groups
that moves are compared in, the REINFORCE loss and one gradient step
(docs/specification.md, "Fine-tuning")."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from evo.config.models import FinetuneConfig
from evo.jobs.evaluation import Task
from evo.jobs.lora import AdaptedModel
from xgl.judge.forward import tree_states
from xgl.lm import prefix_sharing
from xgl.lm.captured import CapturedPass, Places, can_capture, captured, size_class
from xgl.lm.language_model import LanguageModel, distinct_prompts, length_mask, pad
from xgl.lm.memory import micro_batches, retry_in_halves, tree_parts
from xgl.players.local import MEMORY_BYTES
from xgl.random_streams import seed as named_seed
from xgl.runtime.requests import Move, Moved, Play, Rewarded, Seeds


@dataclass(frozen=True)
class Credit:
    """A move, the score collected after it (bits), and the group it is compared within: map seed,
    line, and how often that line was executed before."""

    move: Move
    reward_to_go: float
    group: tuple[int, int, int]

    @property
    def map_seed(self) -> int:
        """Seed of the map that the move was made on."""
        return self.group[0]

    @property
    def line(self) -> int:
        """Line of the elicit that requested the move."""
        return self.group[1]


def training_seeds(seed: int, step: int, maps: int, rollouts: int, first: int = 0) -> list[Seeds]:
    """Fresh even map seeds for every step, the same for every game of a run; from the map ``first``
    of the step on."""
    map_indices = range(first, first + maps)
    map_seeds = [2 * named_seed("training", seed, step, index, bits=61) for index in map_indices]
    return [Seeds(map_seed, play) for map_seed in map_seeds for play in range(rollouts)]


def credits_of(play: Play, map_seed: int, task: Task, standing: bool = False) -> list[Credit]:
    """Per-elicit credit: the role's rewards after each of its moves; with ``standing`` only of the
    moves that no failed ensure sent back.

    In a play that did not finish every move is credited with the game's floor.
    """
    turns = {id(move): each for move, *each in play.turns(task.role)}
    finished = play.outcome_for(task.role) == "finished"
    to_go, credits = 0.0, list[Credit]()
    for event in reversed(play.events):
        if isinstance(event, Rewarded) and event.player == task.role:
            to_go += event.bits
        elif isinstance(event, Moved) and event.player == task.role:
            place, stands = turns[id(event)]
            if stands or not standing:
                group = map_seed, event.line, place
                credits.append(Credit(event.move, to_go if finished else task.floor, group))
    return credits[::-1]


def shuffle_rewards(credits: Sequence[Credit], seed: int) -> list[Credit]:
    """The credits with their rewards permuted (docs/specification.md, "Null control")."""
    order = np.random.default_rng(seed).permutation(len(credits))
    rewards = [credits[index].reward_to_go for index in order]
    return [replace(credit, reward_to_go=to) for credit, to in zip(credits, rewards, strict=True)]


def groups_of(credits: Sequence[Credit]) -> list[NDArray[np.int64]]:
    """Indices of the members of each group, in the order of the groups' first members."""
    members: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for index, credit in enumerate(credits):
        members[credit.group].append(index)
    return [np.array(places) for places in members.values()]


ROUNDING = 1e-6
"""Bits below which a spread of rewards is rounding error, not to be scaled up."""


def advantages(credits: Sequence[Credit]) -> Tensor:
    """(N,) float32: reward to go minus the mean of the group, over the standard deviation of all. A
    group of one has no advantage."""
    deviations = np.array([credit.reward_to_go for credit in credits])
    for members in groups_of(credits):
        deviations[members] -= deviations[members].mean()
    spread = float(deviations.std())
    return torch.tensor(deviations / spread if spread > ROUNDING else deviations).float()


def objective_loss(
    logprobs: Tensor,
    entropies: Tensor,
    weights: Tensor,
    bonus: float | Tensor,
    made: Tensor | None = None,
    clip: float | Tensor = math.inf,
) -> Tensor:
    """−Σ_t min(ρ_t w_t, clamp(ρ_t, 1 − clip, 1 + clip) w_t) − bonus · Σ_t H_t over tokens of any
    shape, with ρ = exp(``logprobs`` − ``made``) (PPO, Schulman et al. 2017, eq. 7), in nats.

    ``made``: log-probabilities at which the tokens were sampled; None, or the present ones: ρ = 1,
    where the gradient is that of Σ w log π, REINFORCE.
    """
    ratio = (logprobs - (logprobs.detach() if made is None else made)).exp()
    near: Tensor = ratio.clamp(1 - clip, 1 + clip)  # type: ignore[arg-type]
    gains = torch.minimum(ratio * weights, near * weights)
    return -gains.sum() - bonus * entropies.sum()


Weighted = Sequence[tuple[Move, float]]
"""Moves and the weights of their tokens."""


def update(
    adapted_model: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    credits: Sequence[Credit],
    settings: FinetuneConfig,
    memory_bytes: int = MEMORY_BYTES,
) -> tuple[float, float]:
    """One gradient step; returns the policy's entropy (bits a token) and the gradient norm."""
    weights = [weight / len(credits) for weight in advantages(credits).tolist()]
    moves = [(credit.move, weight) for credit, weight in zip(credits, weights, strict=True)]
    terms = settings.entropy_bonus, settings.clipped_ratio, settings.kl
    on = adapted_model, optimizer, moves, settings.gradient_clip, memory_bytes
    nats, norm = gradient_step(*on, *terms)
    return nats / token_count(moves) / math.log(2), norm


def token_count(moves: Weighted) -> int:
    """Tokens of moves, without their prompts."""
    return sum(len(move.token_ids) for move, _ in moves)


def gradient_step(
    adapted_model: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    moves: Weighted,
    largest_norm: float,
    memory_bytes: int,
    bonus: float = 0.0,
    clip: float | None = None,
    kl: float = 0.0,
) -> tuple[float, float]:
    """One step along the gradient of :func:`objective_loss`, unless it is not finite; returns the
    moves' entropy, summed, in nats, and the gradient norm.

    ``bonus`` and ``kl``: weights of the mean entropy and of the mean divergence from the base
    player. The gradient is gathered from parts that fit into ``memory_bytes`` and, if memory still
    runs out, from halves of them.
    """
    lm, tokens = adapted_model.lm, token_count(moves)
    # Decided for all parts: what fits into captured passes may not fit as trees.
    captures = not kl and can_capture(lm, [*{move.prompt_ids for move, _ in moves}])

    def gather(part: Weighted) -> list[float]:
        return add_gradient(adapted_model, part, bonus / tokens, clip, kl / tokens, captures)

    adapted_model.zero_gradient()
    if captures:
        rows = [(move.prompt_ids, len(move.token_ids)) for move, _ in moves]
        parts = [list(moves[part]) for part in micro_batches(lm, rows, memory_bytes)]
    else:
        whole = move_trees([move for move, _ in moves], adapted_model.shares_prefixes)
        trees = tree_parts(lm, whole, memory_bytes, _holds_logits(lm, kl))
        parts = [[moves[place] for tree in part for place in tree.members] for part in trees]
    nats = sum(e for part in parts for e in retry_in_halves(gather, part, "moves to learn from"))
    norm = torch.nn.utils.clip_grad_norm_(adapted_model.parameters(), largest_norm)
    if torch.isfinite(norm):
        optimizer.step()
    return nats, float(norm)


def add_gradient(
    adapted_model: AdaptedModel,
    part: Weighted,
    bonus: float,
    clip: float | None,
    kl: float,
    captures: bool,
) -> list[float]:
    """Add the gradient of a part of a batch, completely or not at all, by a captured pass or over
    trees of prompts; returns each move's entropy, summed, in nats."""
    if captures and not adapted_model.lm.captured.get("refused"):
        captured_pass = partial(_add_in_place, adapted_model, part, bonus, clip)
        if (entropies := captured(adapted_model.lm, captured_pass)) is not None:
            return entropies
    with adapted_model.whole_gradient():
        return _add_tree_gradient(adapted_model, part, bonus, clip, kl)


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
        """Of a logit z_j, log p_t has [t = j] − p_j and H has −p_j (log p_j + H)."""
        head, of_states = ctx.head, []
        parts = (each.split(POSITIONS) for each in (*ctx.saved_tensors, *gradients))
        for states, ids, entropy, of_chosen, of_entropy in zip(*parts, strict=True):
            logprobs = linear(states, head.weight, head.bias).float().log_softmax(-1)
            slope = of_chosen[:, None] + of_entropy[:, None] * (logprobs + entropy[:, None])
            of_logits = -logprobs.exp() * slope
            of_logits.scatter_add_(1, ids[:, None], of_chosen[:, None])
            of_states.append(of_logits.to(states.dtype) @ head.weight)
            del logprobs, slope, of_logits  # before the next ones are made
        return torch.cat(of_states), None, None


class GradientPlace:
    """A batch of ``rows`` moves of at most ``steps`` tokens after ``prompts`` different prompts of
    at most ``width`` tokens; adds the gradient of :func:`objective_loss` to the adapter's."""

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

    def __call__(self, part: Weighted, bonus: float, clip: float | None) -> list[float]:
        """Add the gradient; returns each move's entropy, summed, in nats."""
        moves, weights = zip(*part, strict=True)
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
        self.clip.fill_(1.0 if clip is None else clip)
        if clip is not None:
            width = self.made.shape[1]
            made = [(*m.logprobs, *[0.0] * (width - len(m.logprobs))) for m in moves]
            self.made[: len(moves)].copy_(torch.tensor(made))
        self.add(self._add)
        return self.entropies[: len(moves)].tolist()

    def _add(self) -> None:
        prompts, lengths, owner, ids, sizes = self.integers
        mask = length_mask(sizes, ids.shape[1])
        hidden = self._states(prompts, lengths, owner, ids)
        head = self.lm.head
        if not isinstance(head, nn.Linear):
            raise TypeError("its head is more than a matrix")
        logprobs, entropies = TokenTerms.apply(hidden.flatten(0, 1), head, ids.flatten())
        chosen, weights = logprobs.view(ids.shape), self.weights[:, None] * mask
        made = torch.where(self.has_ratio & (mask > 0), self.made, chosen.detach())
        entropy = (entropies.view(ids.shape) * mask).sum(1)
        objective_loss(chosen, entropy, weights, self.bonus, made, self.clip).backward()
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
        of_prompt = (torch.arange(width, device=device) < before)[:, None].expand(-1, steps, -1)
        seen = torch.cat([of_prompt, (own <= own[:, None]).expand(len(ids), -1, -1)], 2)
        mask = (~seen * torch.finfo(lm.model.dtype).min).to(lm.model.dtype)[:, None]
        hidden = lm.backbone(
            input_ids=ids[:, :-1],
            attention_mask=mask,
            position_ids=(before + own).clamp(max=lm.window - 1),
            use_cache=True,
            **{lm.cache_name: cache},
        ).last_hidden_state
        return torch.cat([last.index_select(0, owner)[:, None], hidden], 1)


ATTENTION_TOKENS = 128
"""Tokens of a tree at which attention and its mask count as much as all else that reads them."""


def move_trees(
    moves: Sequence[Move], shares_prefixes: bool = True
) -> Iterator[prefix_sharing.PrefixTree]:
    """Trees of prompts and moves, whose members are places among ``moves``. A prompt that continues
    another stands in its tree: the moves of a play are learned in one reading of its last view, not
    in a reading for each. So do others that share so much that one tree costs less than two.
    Without ``shares_prefixes`` each is read by itself."""
    groups, root, last, size = list[list[int]](), prefix_sharing.Ids(), prefix_sharing.Ids(), 0
    rows = [
        prefix_sharing.ScoredSequence((*m.prompt_ids, *m.token_ids), len(m.token_ids))
        for m in moves
    ]
    if not shares_prefixes:
        yield from prefix_sharing.prefix_trees(rows, max_tokens=0)
        return
    for place in sorted(range(len(moves)), key=lambda place: moves[place].prompt_ids):
        prompt, whole = moves[place].prompt_ids, len(rows[place].ids)
        shared = prefix_sharing.shared_length(last, prompt)
        new = whole - shared  # a tree of T tokens costs T (ATTENTION_TOKENS + T)
        dearer = 2 * size * new + new**2 > whole**2 + ATTENTION_TOKENS * shared
        if not groups or (dearer and prompt[: len(root)] != root):
            groups.append([])
            root, size, new = prompt, 0, whole
        groups[-1].append(place)
        last, size = prompt, size + new
    for members in sorted(groups, key=min):
        own = [rows[place] for place in members]
        most = max(prefix_sharing.MAX_TREE_TOKENS, 2 * max(len(each.ids) for each in own))
        for tree in prefix_sharing.prefix_trees(own, max_tokens=most):
            yield replace(tree, members=tuple(members[index] for index in tree.members))


def _holds_logits(lm: LanguageModel, kl: float) -> bool:
    """Whether a gradient over trees needs the logits of the whole vocabulary."""
    return bool(kl) or not isinstance(lm.head, nn.Linear)


def _add_tree_gradient(
    adapted_model: AdaptedModel, part: Weighted, bonus: float, clip: float | None, kl: float
) -> list[float]:
    lm, divergence = adapted_model.lm, torch.zeros(())
    trees = list(move_trees([move for move, _ in part], adapted_model.shares_prefixes))
    places = [place for tree in trees for place in tree.members]
    states, targets = tree_states(lm, trees)
    if _holds_logits(lm, kl):
        whole = lm.logits(states).log_softmax(-1)
        logprobs = whole.gather(1, targets[:, None])[:, 0]
        with torch.set_grad_enabled(bonus != 0):
            entropies = -(whole.exp() * whole).sum(-1)
        if kl:
            with torch.no_grad():
                base = adapted_model.base.logits(tree_states(adapted_model.base, trees)[0])
            divergence = (whole.exp() * (whole - base.log_softmax(-1))).sum()
    else:
        logprobs, entropies = TokenTerms.apply(states, lm.head, targets)
    moves = [part[place] for place in places]
    weights = [weight for move, weight in moves for _ in move.token_ids]
    terms: list[Any] = [torch.tensor(weights, device=lm.device), bonus]
    if clip is not None:
        made = [each for move, _ in moves for each in move.logprobs]
        terms += [torch.tensor(made, device=lm.device), clip]
    (objective_loss(logprobs, entropies, *terms) + kl * divergence).backward()
    owner = torch.tensor([place for place in places for _ in part[place][0].token_ids])
    summed = torch.zeros(len(part)).index_add(0, owner, entropies.detach().cpu())
    return [float(each) for each in summed]


def _add_in_place(
    adapted_model: AdaptedModel, part: Weighted, bonus: float, clip: float | None
) -> list[float]:
    lm, moves = adapted_model.lm, [move for move, _ in part]
    shape = (
        size_class(len({move.prompt_ids for move in moves}), 1),
        size_class(max(len(move.prompt_ids) for move in moves), 32),
        size_class(len(moves), 8),
        size_class(max(len(move.token_ids) for move in moves), 8),
    )
    with adapted_model.whole_gradient():
        key = "gradient", lm.variant, shape
        place: GradientPlace = Places.of(lm).get(key, lambda pool: GradientPlace(lm, shape, pool))
        return place(part, bonus, clip)
