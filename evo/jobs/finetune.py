"""F_G^𝒯[M]: a player fine-tuned on a game's rewards for a budget of tokens (paper §4.1.4;
docs/specification.md, "Fine-tuning").

First a warm start (``evo.jobs.warm_start``), which may have no maps, then a policy gradient with
AdamW: each step plays ``rollouts`` times on each of ``maps`` fresh maps with the present policy and
takes ``updates`` gradient steps, each on its part of the maps, by a clipped ratio (PPO) or, to the
letter of the paper, by REINFORCE. A move is credited with the rewards that came after it; its
baseline is the mean of its group, the moves made at the same place of the same map. A penalty on
the divergence from the base player is optional.

A fine-tune may pause at a share of its budget, its rung, and go on later, elsewhere, to the adapter
that it would have ended with: the learning rate is a function of the whole budget, and what is
random follows from seeds and step numbers. An adapter of a rung is the mean over the last steps
before the pause; the training itself goes on from the last step.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.optim.swa_utils import get_swa_multi_avg_fn

from evo.jobs.evaluation import Task, finite_score, seated, seconds_of_work
from evo.jobs.job import Finetune, Training, content
from evo.jobs.lora import AdaptedModel, NotByRowError
from evo.jobs.policy_gradient import Credit, credits_of, shuffle_rewards, training_seeds, update
from evo.jobs.warm_start import (
    ExploringPolicy,
    Propose,
    best_of_groups,
    edits_of,
    imitate,
    own_move,
    words_in_plays,
)
from xgl.lm.language_model import LanguageModel
from xgl.players.local import LocalPolicy
from xgl.random_streams import seed as named_seed, stream
from xgl.runtime.lockstep import Cast, Instance, play_together
from xgl.runtime.requests import Move, Play, Seeds

log = logging.getLogger("evo")
_CURVES = "curve", "entropy", "norms"
MAPS_AT_ONCE, MOST_EXPLORING = 8, 0.25
"""Maps of a warm start that are played together, and the share of the tokens after which it plays
no more of them: plays with many retries are long."""

Watch = Callable[[LanguageModel, float], None]
ResultT = TypeVar("ResultT")
_Asked = tuple["_Game", Sequence[Seeds], Propose]
"""Plays that a game's fine-tune waits for, and who makes moves in them."""
_Reply = tuple[list[Play], list[Move]]
"""The plays, and all moves that were made in them, those too that no play remembers."""
_Playing = Generator[_Asked, _Reply, ResultT]
"""A process that asks for plays."""


def finetune_together(
    adapted_model: AdaptedModel,
    trainings: Sequence[Training],
    cast: Callable[[Task], Cast],
    policy: Callable[[LanguageModel], LocalPolicy],
    memory_bytes: int,
    watch: Watch = lambda lm, share: None,
) -> list[Finetune]:
    """Fine-tunes in lockstep: the plays that they wait for are made together, in shared passes of
    player and judge, then each goes on with its own weights until it asks for more. Equal arguments
    give equal adapters on one machine.

    ``trainings`` have their settings. ``policy`` samples for a model; ``memory_bytes`` bound the
    gathering of a gradient. ``watch`` is called before each step with the model as it is and the
    share that is spent, and with the model's last weights at the end. The seconds of shared passes
    are divided by the numbers of plays.
    """
    start = seconds_of_work()
    factors = [adapted_model.new_factors(named_seed("adapter", t.seed)) for t in trainings]
    seconds = [(seconds_of_work() - start) / len(trainings)] * len(trainings)
    outcomes: dict[int, Finetune] = {}
    with adapted_model.attached(factors[0]):
        on = adapted_model, cast, memory_bytes, watch
        finetunes = [_FineTune(training, *on).run() for training in trainings]
        replies: dict[int, Any] = dict.fromkeys(range(len(trainings)))
        while replies:
            asked: dict[int, _Asked] = {}
            for index, reply in replies.items():
                start = seconds_of_work()
                with adapted_model.holding(factors[index]):
                    try:
                        asked[index] = finetunes[index].send(reply)
                    except StopIteration as end:
                        outcomes[index] = end.value
                seconds[index] += seconds_of_work() - start
            start, count = seconds_of_work(), sum(len(seeds) for _, seeds, _ in asked.values())
            replies = _replies(asked, factors, adapted_model, policy)
            for index, (_, seeds, _) in asked.items():
                seconds[index] += (seconds_of_work() - start) * len(seeds) / count
    return [replace(outcomes[index], seconds=spent) for index, spent in enumerate(seconds)]


def _replies(
    asked: Mapping[int, _Asked],
    factors: Sequence[list[Tensor]],
    adapted_model: AdaptedModel,
    policy: Callable[[LanguageModel], LocalPolicy],
) -> dict[int, _Reply]:
    """The plays that fine-tunes ask for, by shared passes where several ask and the model's layers
    read rows one by one."""
    if len(asked) > 1:
        own = [factors[index] for index in asked]
        with suppress(NotByRowError), adapted_model.with_factors(own) as lm:
            return _played(policy(lm), asked)
    replies: dict[int, _Reply] = {}
    for index, one in asked.items():
        with adapted_model.holding(factors[index]):
            replies |= _played(policy(adapted_model.lm), {index: one})
    return replies


def _played(policy: LocalPolicy, asked: Mapping[int, _Asked]) -> dict[int, _Reply]:
    """The plays by the policies "0", "1", … of a model that holds as many, or by its only one."""
    player = ExploringPolicy(policy, [propose for _, _, propose in asked.values()])
    groups = []
    for n, (game, seeds, _) in enumerate(asked.values()):
        # The plays of a map differ by the trained player's moves alone, so all draw alike.
        instances = [Instance(game.task.game, each, f"{n}", draw_seed=0) for each in seeds]
        groups.append((instances, seated(game.cast, game.task, player)))
    plays = play_together(groups)
    policy.clear_caches()  # the weights change next
    return dict(zip(asked, zip(plays, player.made, strict=True), strict=True))


@dataclass(eq=False)
class _FineTune:
    """One fine-tune in progress. The curves have an entry for each step on any game, in their
    order, rounds of the warm start included; ``reinforced``: steps without these rounds."""

    training: Training
    adapted_model: AdaptedModel
    cast: Callable[[Task], Cast]
    memory_bytes: int
    watch: Watch

    def __post_init__(self) -> None:
        assert self.training.settings is not None
        self.settings, self.reinforced = self.training.settings, 0
        self.curve, self.entropy, self.norms = list[float](), list[float](), list[float]()
        self.games = [_Game(self, each) for each in (self.training.task, *self.training.others)]
        self.active = [*self.games]
        rate = self.settings.learning_rate
        self.optimizer = torch.optim.AdamW(self.adapted_model.parameters(), lr=rate)

    def run(self) -> _Playing[Finetune]:
        """Train the present adapter: a warm start on all games together, then steps of REINFORCE on
        each in turn, until ``settings.tokens`` are spent in total. Tokens are those since the
        pause, seconds are not counted."""
        training, parameters = self.training, self.adapted_model.parameters()
        tokens_before = 0, 0
        if (paused := content(training.paused)) is None:
            yield from self._warm_start()
        else:
            tokens_before = self._restore(paused)
        means = yield from self._reinforce()
        state = self._state() if training.share < 1 else None
        for mean, parameter in zip(means, parameters, strict=False):
            parameter.data.copy_(mean)
        self.watch(self.adapted_model.lm, training.share)
        role, last = self.games[-1].task.role, self.games[-1].plays
        moves = [tuple(play.accepted_moves(role)) for play in last]
        unfinished = [play.outcome_for(role) != "finished" for play in last]
        prompt_tokens, generated_tokens = np.subtract(self._tokens(), tokens_before).tolist()
        return Finetune(
            adapter=self.adapted_model.adapter_bytes(),
            curve=self.curve,
            entropy=self.entropy,
            grad_norm=self.norms,
            distinct_moves=len(set(moves)) / len(moves) if moves else None,
            forfeit_rate=float(np.mean(unfinished)) if unfinished else None,
            prompt_tokens=prompt_tokens,
            generated_tokens=generated_tokens,
            seconds=0.0,
            state=state,
        )

    def _tokens(self) -> tuple[int, int]:
        """Tokens read and sampled by all games together."""
        return sum(g.prompt_tokens for g in self.games), sum(g.new_tokens for g in self.games)

    def _warm_start(self) -> _Playing[None]:
        """Best-of-n distillation: every game is played, then the moves of all games are imitated
        together: one after another, the last game would undo the others."""
        warm, adapted_model = self.settings.warm_start, self.adapted_model
        by_game = dict[_Game, list[Credit]]()
        for game in self.games if warm.maps and self.settings.tokens else ():
            if moves := (yield from game.imitations()):
                by_game[game] = moves
            else:  # later steps play other maps, as after an imitation
                game.note(0.0, 0.0)
        if not by_game:
            return
        optimizer = torch.optim.AdamW(adapted_model.parameters(), lr=warm.learning_rate)
        rng = stream("imitation", self.training.seed)
        terms = warm, self.settings.gradient_clip, rng, self.memory_bytes
        entropy, norm = imitate(adapted_model, optimizer, [*by_game.values()], *terms)
        for game in by_game:
            game.note(entropy, norm)

    def _reinforce(self) -> _Playing[list[Tensor]]:
        """Steps of REINFORCE on each game in turn until its share of the budget is spent; returns
        the mean of the last adapters, if one is taken. A game without a possible step drops out."""
        settings, until, active = self.settings, self.training.share, self.active
        means, count, average = list[Tensor](), 0, get_swa_multi_avg_fn()
        while active:
            game = active[self.reinforced % len(active)]
            share = sum(self._tokens()) / settings.tokens if settings.tokens else 1.0
            share = max(share, self.reinforced / settings.steps if settings.steps else 0.0)
            if share >= until:
                break
            self.watch(self.adapted_model.lm, share)
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * (1 - settings.decay * share)
            if not (yield from game.reinforce()):
                active.remove(game)
                continue
            self.reinforced += 1
            if settings.averaged_share and share >= until * (1 - settings.averaged_share):
                own = [each.detach() for each in self.adapted_model.parameters()]
                means = means or [each.clone() for each in own]
                average(means, own, count)
                count += 1
        return means

    # -- a pause: what a fine-tune goes on from ----------------------------------------------------

    def _state(self) -> bytes:
        """All that changes during a fine-tune, as safetensors: adapter, moments, counts, curves."""
        counts = [(g.step_count, g.prompt_tokens, g.new_tokens) for g in self.games]
        parameters = enumerate(self.adapted_model.parameters())
        tensors = {f"factor.{i}": each.detach() for i, each in parameters}
        for i, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"moment.{i}.{name}": each for name, each in moments.items()}
        for name in _CURVES:
            tensors[f"curve.{name}"] = torch.tensor(getattr(self, name), dtype=torch.float64)
        tensors |= {"counts": torch.tensor(counts), "reinforced": torch.tensor(self.reinforced)}
        tensors["active"] = torch.tensor([each in self.active for each in self.games])
        return bytes(save({name: tensors[name].cpu().contiguous() for name in sorted(tensors)}))

    def _restore(self, paused: bytes) -> tuple[int, int]:
        """Continue from what :meth:`_state` returned; returns the tokens until then."""
        tensors, moments = load(paused), dict[int, dict[str, Tensor]]()
        for i, factor in enumerate(self.adapted_model.parameters()):
            factor.data.copy_(tensors[f"factor.{i}"])
        for name in tensors:
            if name.startswith("moment."):
                _, place, moment = name.split(".")
                moments.setdefault(int(place), {})[moment] = tensors[name]
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        for name in _CURVES:
            getattr(self, name).extend(tensors[f"curve.{name}"].tolist())
        self.reinforced, goes_on = int(tensors["reinforced"]), tensors["active"].tolist()
        self.active[:] = (game for game, on in zip(self.games, goes_on, strict=True) if on)
        for game, counts in zip(self.games, tensors["counts"].tolist(), strict=True):
            game.step_count, game.prompt_tokens, game.new_tokens = counts
        return self._tokens()


class _Game:
    """One game of a fine-tune; ``step_count`` counts its own steps, ``prompt_tokens`` and
    ``new_tokens`` those of its moves."""

    def __init__(self, finetune: _FineTune, task: Task) -> None:
        self.finetune, self.task, self.cast = finetune, task, finetune.cast(task)
        self.settings, self.seed = finetune.settings, finetune.training.seed
        self.step_count = self.prompt_tokens = self.new_tokens = 0
        self.plays: list[Play] = []

    def count(self, moves: Sequence[Move], times: int = 1) -> None:
        """Count the tokens of moves; −1 times: of moves neither sampled nor learned from."""
        self.prompt_tokens += times * sum(len(move.prompt_ids) for move in moves)
        self.new_tokens += times * sum(len(move.token_ids) for move in moves)

    def imitations(self) -> _Playing[list[Credit]]:
        """The best move of each map and line. Where rewards are permuted, all are the player's own:
        words in view are about the map, whatever rewards say."""
        warm, shuffled = self.settings.warm_start, self.settings.shuffle
        propose = own_move if shuffled else words_in_plays(round(warm.proposals * warm.rollouts))
        seeds, plays = list[Seeds](), list[Play]()
        for first in range(0, warm.maps, MAPS_AT_ONCE):
            spent = (self.prompt_tokens + self.new_tokens) * len(self.finetune.games)
            if seeds and spent >= MOST_EXPLORING * self.settings.tokens:
                break
            maps = min(MAPS_AT_ONCE, warm.maps - first)
            more = training_seeds(self.seed, self.step_count, maps, warm.rollouts, first)
            seeds, plays = seeds + more, plays + (yield from self._play(more, propose))
        self.plays = plays
        best = best_of_groups(self._credits(plays, seeds, not shuffled))
        return best if shuffled or not best else (yield from self._edited(best))

    def _edited(self, imitations: Sequence[Credit]) -> _Playing[list[Credit]]:
        """The best move of each map and line after rounds of hill climbing: in each, plays in which
        one line's move is an edit of the best one so far. Edits cost no tokens of the budget: the
        moves in whose place they are imitated have cost theirs."""
        unplayed = (replace(each, reward_to_go=-math.inf) for each in reversed(imitations))
        best = {(each.map_seed, each.line): each for each in unplayed}
        rollouts = self.settings.warm_start.rollouts
        maps = list(dict.fromkeys(map_seed for map_seed, _ in best))
        for first in range(0, self.settings.warm_start.edits * rollouts, rollouts):
            propose = edits_of(dict(best))
            for start in range(0, len(maps), MAPS_AT_ONCE):
                chosen = maps[start : start + MAPS_AT_ONCE]
                seeds = [Seeds(m, play) for m in chosen for play in range(first, first + rollouts)]
                plays = yield from self._play(seeds, propose)
                for play, each in zip(plays, seeds, strict=True):
                    own = (event for event, *_ in play.turns(self.task.role))
                    self.count([e.move for e in own if (each.map_seed, e.line) in best], -1)
                    if play.outcome_for(self.task.role) != "finished":
                        continue
                    for credit in credits_of(play, each.map_seed, self.task, standing=True):
                        place = credit.map_seed, credit.line
                        if place in best and credit.reward_to_go > best[place].reward_to_go:
                            best[place] = credit
        return list(best.values())

    def reinforce(self) -> _Playing[bool]:
        """One step: plays on fresh maps, and ``updates`` gradient steps, each on its part of them;
        False if none can be made or a gradient is not finite."""
        settings, step, own = self.settings, (math.nan, math.nan), self.finetune
        seeds = training_seeds(self.seed, self.step_count, settings.maps, settings.rollouts)
        self.plays = yield from self._play(seeds)
        credits = self._credits(self.plays, seeds)
        if not credits:  # no view fits the model: such steps would spend no tokens, for ever
            return False
        maps = list(dict.fromkeys(credit.map_seed for credit in credits))
        order = stream("parts", self.seed, self.step_count).permutation(len(maps))
        for places in np.array_split(order, min(settings.updates, len(maps))):
            chosen = {maps[place] for place in places}
            part = [credit for credit in credits if credit.map_seed in chosen]
            step = update(own.adapted_model, own.optimizer, part, settings, own.memory_bytes)
            if not math.isfinite(step[1]):
                break
        return self.note(*step)

    def _play(self, seeds: Sequence[Seeds], propose: Propose = own_move) -> _Playing[list[Play]]:
        plays, moves = yield self, seeds, propose
        self.count(moves)
        return plays

    def _credits(
        self, plays: Sequence[Play], seeds: Sequence[Seeds], standing: bool = False
    ) -> list[Credit]:
        pairs = zip(plays, seeds, strict=True)
        by_play = (credits_of(one, each.map_seed, self.task, standing) for one, each in pairs)
        credits = [*chain(*by_play)]
        if self.settings.shuffle and credits:
            return shuffle_rewards(credits, named_seed("shuffle", self.seed, self.step_count))
        return credits

    def note(self, entropy: float, norm: float) -> bool:
        """Add a step to the curves; False if its gradient was not finite."""
        if not math.isfinite(norm):
            name = f"{self.task.game_id} under seed {self.seed}"
            log.warning("%s: no gradient after step %d is finite; it ends", name, self.step_count)
            return False
        scores = [finite_score(play, self.task) for play in self.plays]
        self.step_count += 1
        self.finetune.curve.append(float(np.mean(scores)))
        self.finetune.entropy.append(entropy)
        self.finetune.norms.append(norm)
        return True
