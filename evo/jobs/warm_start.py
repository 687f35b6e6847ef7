"""The warm start of a fine-tune: best-of-n distillation (docs/specification.md, "Fine-tuning").

A move that a game pays for may be one that the base player never makes: then a policy gradient has
nothing to reinforce. So most moves are made of arbitrary words in the player's view first, and the
best ones are edited word by word; only rewards decide which moves are imitated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from evo.config.models import WarmStartConfig
from evo.jobs.lora import AdaptedModel
from evo.jobs.policy_gradient import ROUNDING, Credit, gradient_step, groups_of
from xgl.errors import OversizeError
from xgl.players.local import LocalPolicy
from xgl.random_streams import stream
from xgl.runtime.requests import Move, Turn, View

QUOTES, IN_ORDER = 0.3, 0.65
"""Proposals up to the first share are quotes of a text, up to the second words of it in its
order, beyond it in any order."""

SECOND_EDIT = 0.3
"""Share of edited moves that are edited twice."""

Propose = Callable[[Turn], str | None]
"""The text of a move by another author than the policy; None if the policy makes its own."""


class ExploringPolicy:
    """A policy, or several, in whose plays other authors supply some of the moves; every move is a
    function of the turn. ``proposals`` and the moves ``made`` are those of policy "0", "1", …"""

    def __init__(self, policy: LocalPolicy, proposals: Sequence[Propose]) -> None:
        self.policy, self.proposals = policy, proposals
        self.made: list[list[Move]] = [[] for _ in proposals]

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn; an error value where the view does not fit the model's window."""
        texts = [self.proposals[int(turn.policy)](turn) for turn in turns]
        asked = [turn for turn, text in zip(turns, texts, strict=True) if text is None]
        own = iter(self.policy.moves(asked))
        moves = [
            next(own) if text is None else self.policy.move_for_text(turn, text)
            for turn, text in zip(turns, texts, strict=True)
        ]
        for turn, move in zip(turns, moves, strict=True):
            if isinstance(move, Move):
                self.made[int(turn.policy)].append(move)
        return moves


def own_move(turn: Turn) -> None:
    """The policy makes all moves."""


def words_in_plays(count: int) -> Propose:
    """Moves made of words in view, in the first ``count`` plays of each map."""

    def propose(turn: Turn) -> str | None:
        if turn.seeds.play_seed >= count:
            return None
        return words_in_view(turn.request.view, turn.request.max_len, stream("words", *turn.key))

    return propose


def words_of(view: View) -> list[list[str]]:
    """The words of each text that the player sees."""
    labels = "ensure", "reward"
    texts = [item.text.split() for item in view.items if not item.label.startswith(labels)]
    return [words for words in texts if words]


def words_in_view(view: View, most: int, rng: np.random.Generator) -> str | None:
    """1 to ``most`` words of one text that the player sees: a quote, words in the text's order or
    in any order. None if no word is in view."""
    texts = words_of(view)
    if not texts:
        return None
    words = texts[rng.integers(len(texts))]
    count, form = min(int(rng.integers(1, most + 1)), len(words)), rng.random()
    if form < QUOTES:
        first = int(rng.integers(len(words) - count + 1))
        return " ".join(words[first : first + count])
    places = rng.choice(len(words), count, replace=False)
    if form < IN_ORDER:
        places = np.sort(places)
    return " ".join(bare(words[place]) for place in places).strip() or None


def bare(word: str) -> str:
    """A word without the punctuation around it."""
    return word.strip(".,;:!?\"'[]")


def edit(text: str, view: View, rng: np.random.Generator) -> str:
    """The text after an edit, sometimes two: a word of the view in the place of one of its words or
    between them, a word left out, or two words exchanged."""
    words, texts = text.split(), words_of(view)
    new = [bare(word) for word in texts[rng.integers(len(texts))]] if texts else words or [""]
    for _ in range(1 + int(rng.random() < SECOND_EDIT)):
        kind, place = rng.integers(4), int(rng.integers(max(len(words), 1)))
        if kind == 0 or not words:
            words[place : place + 1] = [new[rng.integers(len(new))]]
        elif kind == 1:
            words.insert(int(rng.integers(len(words) + 1)), new[rng.integers(len(new))])
        elif kind == 2 and len(words) > 1:
            del words[place]
        else:
            other = int(rng.integers(len(words)))
            words[place], words[other] = words[other], words[place]
    return " ".join(words)


def edits_of(best: Mapping[tuple[int, int], Credit]) -> Propose:
    """The best moves of each map and line, one line's edited in each play, none in play 0; the
    policy moves at lines without any."""
    lines = defaultdict[int, list[int]](list)
    for map_seed, line in best:
        lines[map_seed].append(line)

    def propose(turn: Turn) -> str | None:
        map_seed, play, line = turn.seeds.map_seed, turn.seeds.play_seed, turn.request.line
        if (map_seed, line) not in best:
            return None
        text, of_map = best[map_seed, line].move.text, lines[map_seed]
        if play == 0 or of_map[play % len(of_map)] != line:
            return text
        return edit(text, turn.request.view, stream("edits", *turn.key))

    return propose


def best_of_groups(credits: Sequence[Credit]) -> list[Credit]:
    """The best move of each group in which one is better than others."""
    best = []
    for group in groups_of(credits):
        values = np.array([credits[index].reward_to_go for index in group])
        if values.max() - values.mean() > ROUNDING:
            best.append(credits[group[int(values.argmax())]])
    return best


def mixed_batches(
    by_game: Sequence[Sequence[Credit]], size: int, rng: np.random.Generator
) -> list[list[Credit]]:
    """Batches of ``size`` of each game, the last one of what is left, those of several games in
    random order. They go over maps in random order: moves of one map stand together, since what
    their prompts have in common is encoded once a batch."""
    batches = []
    for moves in by_game:
        by_map = defaultdict[int, list[Credit]](list)
        for each in moves:
            by_map[each.map_seed].append(each)
        maps = list(by_map.values())
        in_order = [each for place in rng.permutation(len(maps)) for each in maps[place]]
        batches += [in_order[first : first + size] for first in range(0, len(in_order), size)]
    if len(by_game) == 1:
        return batches
    return [batches[index] for index in rng.permutation(len(batches))]


def imitate(
    adapted_model: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    by_game: Sequence[Sequence[Credit]],
    settings: WarmStartConfig,
    clip: float,
    rng: np.random.Generator,
    memory_bytes: int,
) -> tuple[float, float]:
    """Gradient steps towards the moves of all games, each step on a batch of one game; returns the
    policy's entropy before their tokens (bits a token, over the first pass) and the last gradient
    norm, which ends the steps if not finite."""
    entropy = norm = 0.0
    for epoch in range(settings.epochs):
        for batch in mixed_batches(by_game, settings.batch, rng):
            tokens = sum(len(each.move.token_ids) for each in batch)
            moves = [(each.move, 1 / tokens) for each in batch]
            nats, norm = gradient_step(adapted_model, optimizer, moves, clip, memory_bytes)
            entropy += nats if epoch == 0 else 0.0
            if not math.isfinite(norm):
                return math.nan, norm
    tokens = sum(len(each.move.token_ids) for game in by_game for each in game)
    return entropy / tokens / math.log(2), norm
