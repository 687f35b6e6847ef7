"""Who plays against a game's opponent: agents in the box, local models, chat models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from evo.config.ggbench import GGBenchConfig
from evo.ggbench.box import MCTS, Agent, agent_named
from evo.ggbench.game import ProgramGame
from evo.ggbench.paid_answers import PaidAnswers, UnusableAnswerError
from evo.ggbench.prompts import play_messages, play_text
from evo.ggbench.selfplay import AGENTS
from evo.measure.players import LocalPlayer, RemotePlayer
from evo.measure.players import find_player as find_model
from meta_sampler.chat.cache import CachedAnswer
from xgl.chat.accounting import Budget, Usage
from xgl.chat.answers import final_text, parse_number
from xgl.chat.calls import RequestBatch
from xgl.chat.client import follow_up
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError, excerpt
from xgl.lm.language_model import LanguageModel, continuation_logits
from xgl.random_streams import stream

GREEDY = "greedy"


@dataclass(frozen=True)
class AgentPlayer:
    """An agent of the box."""

    name: str
    agent: Agent


Player = AgentPlayer | LocalPlayer | RemotePlayer


def find_player(name: str, config: GGBenchConfig) -> Player:
    """The player of a name. Raises :class:`ConfigError`, :class:`~xgl.errors.ModelNotFoundError`,
    and :class:`~xgl.errors.PlayerError` for a key that is missing."""
    if agent := agent_named(name):
        return AgentPlayer(name, agent)
    if name == GREEDY:
        return AgentPlayer(name, {"kind": "greedy", "policy": AGENTS[-1]})
    if name.partition("@")[0] == MCTS:
        raise ConfigError(f"ggbench.players: found {name!r}, expected mcts or mcts@N")
    return find_model(name, config.chat)


# -- models: from positions to moves -------------------------------------------------------------


@dataclass(frozen=True)
class ProgramTurn:
    """A position with several legal moves: its play, and the number of moves before it."""

    game: ProgramGame
    board: str
    legal: tuple[int, ...]
    play: int
    after: int


@dataclass(frozen=True)
class ChosenMove:
    """A legal move, or None with the reason, and its usage."""

    move: int | None
    usage: Usage = field(default_factory=Usage)
    reason: str | None = None


class Mover(Protocol):
    """A model that plays."""

    def choose(self, turns: Sequence[ProgramTurn]) -> list[ChosenMove]:
        """An answer to each turn."""


class LocalMover:
    """Draws among the legal moves by the probability that the model gives to their numbers, so it
    can commit no fault but a prompt that is longer than its window.

    ``temperature`` divides the logarithms of these probabilities; 0 takes the likeliest number.
    """

    def __init__(self, lm: LanguageModel, run_seed: int, temperature: float = 1.0) -> None:
        self.lm, self.run_seed, self.temperature = lm, run_seed, temperature

    def choose(self, turns: Sequence[ProgramTurn]) -> list[ChosenMove]:
        """An answer to each turn."""
        return [self._answer(turn) for turn in turns]

    @torch.inference_mode()
    def _answer(self, turn: ProgramTurn) -> ChosenMove:
        prompt = (self.lm.bos, *self.lm.encode(play_text(turn.game, turn.board, turn.legal)))
        answers = [self.lm.encode(f"{move}\n") for move in turn.legal]
        length = len(prompt) + max(map(len, answers))
        if length > self.lm.window:
            return ChosenMove(None, reason=f"oversize: {length} tokens, at most {self.lm.window}")
        logits, ids, mask = continuation_logits(self.lm, [prompt] * len(answers), answers)
        chances = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        scores = (chances * mask).sum(-1).double().cpu().numpy()
        best = scores == scores.max()
        warm = self.temperature
        weights = np.exp((scores - scores.max()) / warm) if warm else best.astype(float)
        key = ("ggbench", "local", self.run_seed, turn.game.game_id, turn.play, turn.after)
        place = stream(*key).choice(len(weights), p=weights / weights.sum())
        usage = Usage(requests=1, prompt_tokens=len(prompt), new_tokens=0)
        return ChosenMove(turn.legal[int(place)], usage)


class ChatMover(PaidAnswers):
    """Asks a chat model, without a history of the game; an answer counts if it names a legal
    number, otherwise the model is told what was wrong with it, up to ``attempts`` times."""

    def __init__(self, settings: ChatSettings, attempts: int, folder: Path, budget: Budget) -> None:
        super().__init__(settings, folder, budget)
        self.attempts = attempts

    def choose(self, turns: Sequence[ProgramTurn]) -> list[ChosenMove]:
        """Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer, and
        :class:`~xgl.errors.BudgetError`: neither is a lost game."""
        return self.gather([partial(self._move, turn) for turn in turns])

    async def _move(self, turn: ProgramTurn, batch: RequestBatch) -> ChosenMove:
        messages = play_messages(turn.game, turn.board, turn.legal)
        usage, found = Usage(), ""
        for attempt in range(self.attempts):
            draw = (turn.game.game_id, turn.play, turn.after, attempt)
            try:
                answer, cost = await self.answer(batch, messages, *draw, asked_again=attempt > 0)
            except UnusableAnswerError as error:
                if attempt == 0:
                    return ChosenMove(None, usage, f"oversize: {error}")
                break  # the position fits, its lengthened conversation does not
            usage += cost
            number, found = parse_number(answer.text), answer.text
            if number is not None and number in turn.legal:
                return ChosenMove(number, usage)
            messages = follow_up(messages, found, _wrong(answer, number, turn.legal))
        reason = f"no legal number in {self.attempts} answers; the last: {excerpt(found, 60)!r}"
        return ChosenMove(None, usage, reason)


def _wrong(answer: CachedAnswer, number: int | None, legal: Sequence[int]) -> str:
    """The reply to an answer without a legal number."""
    if number is not None:
        wrong = f"named {number}, which is not allowed now"
    elif answer.cut:
        wrong = "reached its limit before it named a number; be brief"
    elif answer.text.strip() and not final_text(answer.text):
        wrong = "held thoughts and nothing after them"
    else:
        wrong = "did not name one number as your move"
    allowed = ", ".join(map(str, sorted(legal)))
    return f"Your answer {wrong}. Answer with one of these numbers, and nothing else: {allowed}."
