"""Learning from verdicts: a policy gradient on what was proposed, from the shipped weights anew.

The weights are a function of the shipped ones and of the list of lessons. So nothing drifts, and
who knows the list has the weights. A lesson's advantage is its reward less the mean of all, and a
fifth of that where it is below 0. The objective is that of proximal policy optimisation, a token's
probability being compared with the shipped model's, less the divergence from that model on the
lessons' texts.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from meta_sampler.learned.training import Example, example, read
from meta_sampler.settings import LearnedSettings

GROUP = 24
"""Lessons in one gradient step."""
BLAME = 0.2
"""Weight of what earned less than the mean, beside what earned more: away from a refused program
lie many that make no sense."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A proposal with what it earned; canonical texts, ``parent`` empty where it is not known."""

    parent: str
    child: str
    reward: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums come out the same to the last bit, however many cores there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def adapted(
    shipped: Any, tokenizer: Tokenizer, lessons: Sequence[Lesson], settings: LearnedSettings
) -> Any:
    """A model that has learned the lessons; ``shipped`` itself where there is nothing to learn.

    Lessons that all earned the same teach nothing, and those too long for the window are left out.
    """
    window = int(shipped.config.max_position_embeddings)
    told = [(example(tokenizer, each.parent, each.child), each.reward) for each in lessons]
    told = [(each, reward) for each, reward in told if len(each.ids) <= window]
    rewards = [reward for _, reward in told]
    if not settings.steps or len(set(rewards)) < 2:
        return shipped
    mean = sum(rewards) / len(rewards)
    advantages = [(each, reward - mean) for each, reward in told]
    weighed = [(each, value if value > 0 else BLAME * value) for each, value in advantages]
    return _descended(shipped, weighed, settings)


def _descended(
    shipped: Any, lessons: Sequence[tuple[Example, float]], settings: LearnedSettings
) -> Any:
    model = copy.deepcopy(shipped).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    rng, order = Random(0), list[tuple[Example, float]]()
    for _ in range(settings.steps):
        if len(order) < GROUP:
            order += rng.sample(list(lessons), len(lessons))
        group, order = order[:GROUP], order[GROUP:]
        loss = _loss(model, shipped, group, settings)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def _loss(
    model: Any, shipped: Any, group: Sequence[tuple[Example, float]], settings: LearnedSettings
) -> Tensor:
    """What a step descends, a scalar in nats a token."""
    examples = [each for each, _ in group]
    advantage = torch.tensor([value for _, value in group])[:, None]
    scores, ids, real, child = read(model, examples)
    with torch.no_grad():
        prior = read(shipped, examples)[0]
    chosen = ids[..., None]
    ratio = (scores.gather(-1, chosen) - prior.gather(-1, chosen))[..., 0].exp()
    held = ratio.clamp(1 / settings.spread, settings.spread)
    gain = torch.minimum(ratio * advantage, held * advantage)
    lengths = child.sum(1, keepdim=True)
    earned = (gain * child / lengths).sum() / len(examples)
    away = (prior.exp() * (prior - scores)).sum(-1)
    return settings.kl * (away * real).sum() / real.sum() - earned
