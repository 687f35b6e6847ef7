"""Learning from verdicts: a policy gradient on the proposals, always from the shipped weights.

The weights are a function of the shipped ones and of the list of lessons, so nothing drifts, and
the list is enough to compute the weights. A lesson's advantage is its reward minus the mean of all
rewards, multiplied by a fifth if it is below 0. The objective is that of proximal policy
optimisation, with the shipped model as the old policy, minus the divergence from that model on the
lessons' texts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from meta_sampler.base import Progress
from meta_sampler.settings import LearnedSettings

BOS_ID, EOS_ID = 0, 1


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """Token ids of ``BOS parent BOS child EOS``; the child is ``ids[start:]``."""

    ids: tuple[int, ...]
    start: int


def example(tokenizer: Tokenizer, parent: str, child: str) -> TrainingExample:
    """A pair of canonical texts as the model reads it."""
    head = (BOS_ID, *tokenizer.encode(parent).ids, BOS_ID)
    return TrainingExample((*head, *tokenizer.encode(child).ids, EOS_ID), len(head))


def next_token_scores(
    model: Any, group: Sequence[TrainingExample]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Log-probabilities (N, L − 1, V) of each next token, float32, in nats; the tokens themselves
    (N, L − 1); bool masks (N, L − 1) of those that are no padding, and of those of the child."""
    width = max(len(item.ids) for item in group)
    ids = torch.full((len(group), width), EOS_ID)
    for row, item in enumerate(group):
        ids[row, : len(item.ids)] = torch.tensor(item.ids)
    positions = torch.arange(1, width)
    real = positions < torch.tensor([len(item.ids) for item in group])[:, None]
    child = real & (positions >= torch.tensor([item.start for item in group])[:, None])
    scores = model(input_ids=ids[:, :-1]).logits.float().log_softmax(-1)
    return scores, ids[:, 1:], real, child


REWARDS: Mapping[Progress, float] = {
    Progress.UNPLAYABLE: -0.3,
    Progress.UNLEARNED: 0.0,
    Progress.UNCONFIRMED: 0.1,
    Progress.UNHELPFUL: 0.2,
    Progress.COVERED: 0.4,
    Progress.OPEN: 0.5,
    Progress.OUTRANKED: 0.7,
    Progress.ACCEPTED: 1.0,
}
"""The reward of a candidate, by its progress (docs/specification.md, "The decision rule")."""
GROUP = 24
"""Lessons in one gradient step."""
BLAME = 0.2
"""Weight of lessons that earned less than the mean, relative to the others: most programs that are
unlike a refused one make no sense."""


@dataclass(frozen=True, slots=True)
class ProposalLesson:
    """A proposal with its reward; canonical texts, ``parent`` empty if it is not known."""

    parent: str
    child: str
    reward: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: sums are then the same to the last bit with any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def adapt(
    base_model: Any,
    tokenizer: Tokenizer,
    lessons: Sequence[ProposalLesson],
    settings: LearnedSettings,
) -> Any:
    """A model that has learned the lessons; ``base_model`` itself if there is nothing to learn.

    Lessons with equal rewards teach nothing, and lessons that are too long for the window are left
    out.
    """
    window = int(base_model.config.max_position_embeddings)
    examples = [
        (example(tokenizer, lesson.parent, lesson.child), lesson.reward) for lesson in lessons
    ]
    examples = [(item, reward) for item, reward in examples if len(item.ids) <= window]
    rewards = [reward for _, reward in examples]
    if not settings.steps or len(set(rewards)) < 2:
        return base_model
    mean = sum(rewards) / len(rewards)
    advantages = [(item, reward - mean) for item, reward in examples]
    pairs = [(item, value if value > 0 else BLAME * value) for item, value in advantages]
    return _train(base_model, pairs, settings)


def _train(
    base_model: Any, lessons: Sequence[tuple[TrainingExample, float]], settings: LearnedSettings
) -> Any:
    model = copy.deepcopy(base_model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    rng, order = Random(0), list[tuple[TrainingExample, float]]()
    for _ in range(settings.steps):
        if len(order) < GROUP:
            order += rng.sample(list(lessons), len(lessons))
        group, order = order[:GROUP], order[GROUP:]
        loss = _loss(model, base_model, group, settings)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def _loss(
    model: Any,
    base_model: Any,
    group: Sequence[tuple[TrainingExample, float]],
    settings: LearnedSettings,
) -> Tensor:
    """The loss of a gradient step, a scalar in nats a token."""
    examples = [item for item, _ in group]
    advantage = torch.tensor([value for _, value in group])[:, None]
    scores, ids, real, child = next_token_scores(model, examples)
    with torch.no_grad():
        prior = next_token_scores(base_model, examples)[0]
    targets = ids[..., None]
    ratio = (scores.gather(-1, targets) - prior.gather(-1, targets))[..., 0].exp()
    clipped_ratio = ratio.clamp(1 / settings.clip_ratio, settings.clip_ratio)
    gain = torch.minimum(ratio * advantage, clipped_ratio * advantage)
    lengths = child.sum(1, keepdim=True)
    surrogate = (gain * child / lengths).sum() / len(examples)
    away = (prior.exp() * (prior - scores)).sum(-1)
    return settings.kl * (away * real).sum() / real.sum() - surrogate
