"""The warm start of a fine-tune: best-of-n distillation (docs/specification.md, "Fine-tuning").

A move that a game pays for may be one that the base player never makes: then REINFORCE has nothing
to reinforce. In these rounds some moves are made of arbitrary words in the player's view, and the
best ones are edited word by word; only rewards decide which moves are imitated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from evo.config.models import WarmStartConfig
from evo.jobs.lora import AdaptedModel
from evo.jobs.policy_gradient import ROUNDING, Credit, gradient_step, groups_of
from xgl.errors import OversizeError
from xgl.language.syntax import REGISTERS
from xgl.lm.language_model import LanguageModel
from xgl.players.local import LocalPolicy
from xgl.players.scripts import SCRIPTS, ScriptPlayer
from xgl.random_streams import stream
from xgl.runtime.requests import Move, Moved, Play, Seeds, Turn, View

QUOTES, IN_ORDER = 0.3, 0.65
"""Proposals up to the first share are quotes of a text, up to the second words of it in its
order, beyond it in any order."""


SECOND_EDIT = 0.3
"""Share of edited moves that are edited twice."""

OWN, WORDS = "", "words"
"""Authors of moves other than scripts: the policy, and random words in view."""
Author = Callable[[Seeds, int], str]
"""Author of the moves of a play at a line: ``OWN``, ``WORDS`` or the name of a script."""
Propose = Callable[[Turn], str | None]
"""The text of a move by another author than the policy; None if the policy makes its own."""


def authors_of_round(settings: WarmStartConfig, index: int) -> Author:
    """Authors of the moves in round ``index`` (from 0) of the warm start.

    The numbers of plays by scripts, of words in view and by the policy are the same on every map.
    The order of the scripts is drawn for each map and line, so that the reward of a line can be
    attributed to its own moves; no script makes a second play on a map and line before each has
    made one.
    """
    proposals = round(settings.proposals / 2**index * settings.rollouts)
    n_scripted = round(settings.script_share * proposals)

    def author(seeds: Seeds, line: int) -> str:
        place, names = seeds.play_seed, list(SCRIPTS)
        if place < n_scripted:
            order = stream("scripts", seeds.map_seed, line).permutation(len(names))
            return names[order[place % len(names)]]
        return WORDS if place < proposals else OWN

    return author


class ExploringPolicy:
    """A policy, or several, in whose plays other authors supply some of the moves; every move is a
    function of the turn. ``proposals`` and the moves ``made`` are by the name of the policy."""

    def __init__(self, policy: LocalPolicy, proposals: Mapping[str, Propose]) -> None:
        self.policy, self.proposals = policy, proposals
        self.made: dict[str, list[Move]] = {name: [] for name in proposals}

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn; an error value where the view does not fit the model's window."""
        texts = [self.proposals[turn.policy](turn) for turn in turns]
        own = iter(
            self.policy.moves([t for t, text in zip(turns, texts, strict=True) if text is None])
        )
        moves = [
            next(own) if text is None else self.policy.move_for_text(turn, text)
            for turn, text in zip(turns, texts, strict=True)
        ]
        for turn, move in zip(turns, moves, strict=True):
            if isinstance(move, Move):
                self.made[turn.policy].append(move)
        return moves


def own_move(turn: Turn) -> None:
    """The policy makes all moves."""


def proposals_of(author: Author, scripts: ScriptPlayer) -> Propose:
    """Moves by scripts and of words in view."""

    def propose(turn: Turn) -> str | None:
        name = author(turn.seeds, turn.request.line)
        if name == WORDS:
            rng = stream("words", *turn.key)
            return words_in_view(turn.request.view, turn.request.max_len, rng) or None
        return scripts.text(turn, name) if name else None

    return propose


def best_scripts(
    authors: Sequence[str], credits: Sequence[Credit], most: int
) -> dict[int, list[str]]:
    """The ``most`` best scripts of each line whose best author is a script, the best first;
    ``authors`` made the moves that ``credits`` are of.

    Scores are compared within groups, since not every script plays every map, and maps differ more
    than scripts do.
    """
    advantages = defaultdict[int, defaultdict[str, list[float]]](lambda: defaultdict(list))
    for group in groups_of(credits):
        mean = float(np.mean([credits[index].reward_to_go for index in group]))
        for index in group:
            of_line = advantages[credits[index].line]
            of_line[authors[index]].append(credits[index].reward_to_go - mean)
    best: dict[int, list[str]] = {}
    for line, by_author in advantages.items():
        names = sorted(by_author, key=lambda name: -float(np.mean(by_author[name])))
        if names[0] in SCRIPTS:
            best[line] = [name for name in names if name in SCRIPTS][:most]
    return best


def authors_of_demonstrations(finalists: Mapping[int, Sequence[str]]) -> Author:
    """Authors of the moves on the further maps: each finalist of a line makes the moves of one play
    on each map, in an order drawn for the map and line; the policy plays lines without any."""

    def author(seeds: Seeds, line: int) -> str:
        names = finalists.get(line)
        if not names:
            return OWN
        order = stream("finalists", seeds.map_seed, line).permutation(len(names))
        return names[order[seeds.play_seed % len(names)]]

    return author


def words_of(view: View) -> list[list[str]]:
    """The words of each text that the player sees."""
    texts = [item.text.split() for item in view.items if item.label in REGISTERS]
    return [words for words in texts if words]


def words_in_view(view: View, most: int, rng: np.random.Generator) -> str:
    """1 to ``most`` words of one text that the player sees: a quote, words in the text's order or
    in any order. Empty if no text is in view."""
    texts = words_of(view)
    if not texts:
        return ""
    words = texts[rng.integers(len(texts))]
    count, form = min(int(rng.integers(1, most + 1)), len(words)), rng.random()
    if form < QUOTES:
        first = int(rng.integers(len(words) - count + 1))
        return " ".join(words[first : first + count])
    places = rng.choice(len(words), count, replace=False)
    if form < IN_ORDER:
        places = np.sort(places)
    return " ".join(bare(words[place]) for place in places).strip()


def bare(word: str) -> str:
    """A word without the punctuation around it."""
    return word.strip(".,;:!?\"'")


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


def edits_of(best: Mapping[tuple[int, int], Imitation]) -> Propose:
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


@dataclass(frozen=True)
class Imitation:
    """A move to imitate, its map and line, and its weight in the loss."""

    move: Move
    map_seed: int
    line: int
    weight: float


def demonstrated_moves(
    plays: Sequence[Play],
    seeds: Sequence[Seeds],
    role: str,
    author: Author,
    best: Mapping[int, Sequence[str]],
) -> tuple[list[Imitation], list[Move]]:
    """The moves of ``role`` to imitate, of one play for each map and line, and the moves that other
    scripts made and those that the best ones repeated.

    A line with fewer finalists than another has its best script play a map several times.
    """
    imitations, others, sources = list[Imitation](), list[Move](), dict[tuple[int, int], int]()
    for place, (play, each) in enumerate(zip(plays, seeds, strict=True)):
        accepted = {id(event) for event in play.accepted_events(role)}
        finished = play.outcome_for(role) == "finished"
        for event in play.events:
            if not isinstance(event, Moved) or event.player != role:
                continue
            script, key = author(each, event.line), (each.map_seed, event.line)
            if script in best.get(event.line, ()) and sources.get(key, place) == place:
                if finished and id(event) in accepted:
                    sources[key] = place
                    imitations.append(Imitation(event.move, each.map_seed, event.line, 1.0))
            elif script:
                others.append(event.move)
    return imitations, others


def mixed_batches(
    by_game: Sequence[Sequence[Imitation]], size: int, rng: np.random.Generator
) -> list[list[Imitation]]:
    """Batches of ``size`` of each game, the last one of what is left, those of several games in
    random order. They go over maps in random order: moves of one map stand together, since what
    their prompts have in common is encoded once a batch."""
    batches = []
    for moves in by_game:
        by_map = defaultdict[int, list[Imitation]](list)
        for each in moves:
            by_map[each.map_seed].append(each)
        maps = list(by_map.values())
        in_order = [each for place in rng.permutation(len(maps)) for each in maps[place]]
        batches += [in_order[first : first + size] for first in range(0, len(in_order), size)]
    if len(by_game) == 1:
        return batches
    return [batches[index] for index in rng.permutation(len(batches))]


def best_of_groups(credits: Sequence[Credit], settings: WarmStartConfig) -> list[Imitation]:
    """The best moves of each group, with weights exp(score / temperature) that sum to 1 in a group
    of which all are above the mean, and to as many as there are moves over all.

    Scores are in units of the mean standard deviation within groups; if it is 0, no move is better
    than another.
    """
    groups = groups_of(credits)
    values = np.array([credit.reward_to_go for credit in credits])
    spread = float(np.mean([values[group].std() for group in groups])) if groups else 0.0
    if spread <= ROUNDING:
        return []
    best_credits: list[Credit] = []
    weights: list[float] = []
    for group in groups:
        scores = (values[group] - values[group].mean()) / spread
        odds = np.exp((scores - scores.max()) / settings.temperature)
        for rank in np.argsort(-scores, kind="stable")[: settings.imitated_moves]:
            if scores[rank] > 0:
                best_credits.append(credits[group[rank]])
                weights.append(float(odds[rank] / odds.sum()))
    mean = sum(weights) / len(weights)
    return [
        Imitation(credit.move, credit.map_seed, credit.line, each / mean)
        for credit, each in zip(best_credits, weights, strict=True)
    ]


def imitate(
    lm: LanguageModel,
    adapted_model: AdaptedModel,
    optimizer: torch.optim.Optimizer,
    by_game: Sequence[Sequence[Imitation]],
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
            moves = [(each.move, each.weight) for each in batch]
            on = lm, adapted_model, optimizer, moves, (tokens, tokens), clip, memory_bytes
            nats, norm = gradient_step(*on, "moves to imitate")
            entropy += nats if epoch == 0 else 0.0
            if not math.isfinite(norm):
                return math.nan, norm
    tokens = sum(len(each.move.token_ids) for game in by_game for each in game)
    return entropy / tokens / math.log(2), norm
