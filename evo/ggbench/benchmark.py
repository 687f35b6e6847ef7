"""The benchmark: plays of players against a game's opponent, seats in turn (section 4, App. B.4).

A player is an agent of the box, a local model or a chat model. Models see the rule book, the action
description, the position and the legal moves, and no history.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import NamedTuple

import numpy as np

from evo.config.measure import GGBenchConfig
from evo.ggbench.box import (
    RANDOM,
    RANDOM_MOVES,
    SIMULATIONS,
    Agent,
    Box,
    BoxLimits,
    GameFaultError,
    ProgramView,
    searching,
)
from evo.ggbench.chat import prompt
from evo.ggbench.game import ProgramGame
from evo.ggbench.selfplay import AGENTS, keep_policies
from evo.measure.players import LocalPlayer, RemotePlayer, find_player as find_model
from xgl.chat.answers import parse_number
from xgl.chat.client import Message, RequestBatch, follow_up
from xgl.chat.paid_answers import PaidAnswers, UnusableAnswerError
from xgl.chat.settings import Usage
from xgl.errors import ConfigError, OversizeError, excerpt
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import PAPER
from xgl.lm.language_model import LanguageModel
from xgl.random_streams import seed, stream
from xgl.runtime.requests import ScoreRequest

ATTEMPTS = 5
"""Most requests to a chat model for one move; then the play ends by its fault."""


class AgentPlayer(NamedTuple):
    name: str
    agent: Agent


Player = AgentPlayer | LocalPlayer | RemotePlayer


def find_player(name: str, config: GGBenchConfig) -> Player:
    """The player of a name. Raises :class:`ConfigError`, :class:`~xgl.errors.ModelNotFoundError`,
    and :class:`~xgl.errors.PlayerError` for a key that is missing."""
    if name == RANDOM:
        return AgentPlayer(name, RANDOM_MOVES)
    if name == "greedy":
        return AgentPlayer(name, {"kind": name, "policy": AGENTS[-1]})
    if search := re.fullmatch(r"mcts(?:@([1-9][0-9]*))?", name):
        return AgentPlayer(name, searching(None, int(search[1] or SIMULATIONS)))
    player = find_model(name, config.chat, "ggbench.players")
    if isinstance(player, LocalPlayer) and player.chat:
        raise ConfigError(f"ggbench.players: found {name!r}, expected a model behind an endpoint")
    return player


@dataclass
class ProgramPlay:
    """One play. ``seat``: 0, the player moves first; ``outcome`` None while it goes on."""

    number: int
    seat: int
    seed: int
    moves: list[int] = field(default_factory=list)
    outcome: str | None = None
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def finish(self, result: int | None) -> None:
        """Set the outcome from the result for the first mover; None: too long."""
        if result is None:
            self.outcome, self.reason = "long", "it went on for the most moves that are allowed"
        else:
            self.outcome = ("draw", "win", "loss")[result if self.seat == 0 else -result]

    def break_off(self, fault: GameFaultError) -> None:
        """End a play that goes on by a fault of the game."""
        if self.outcome is None:
            self.outcome, self.reason = "broken", str(fault)


def new_plays(game_id: str, plays: int, run_seed: int, purpose: str = "play") -> list[ProgramPlay]:
    """The plays of every player on a game: the same seeds, the same seats."""
    key = ("ggbench", purpose, run_seed, game_id)
    return [ProgramPlay(number, number % 2, seed(*key, number, bits=32)) for number in range(plays)]


def play_in_box(
    game: ProgramGame,
    limits: BoxLimits,
    weights: Mapping[int, bytes],
    opponent: Agent,
    plays: list[ProgramPlay],
    player: Agent | Mover,
    *,
    forgives: bool = False,
) -> list[ProgramPlay]:
    """The ``plays``, played to their outcomes with checkpoints of these ``weights`` by quarter.
    ``forgives``: a model's answer without a legal move becomes a random move. Raises what the
    model's endpoint raises."""
    try:
        with Box(game, limits) as box:
            keep_policies(box, weights)
            if isinstance(player, Mapping):
                _play_agent(box, player, opponent, plays)
            else:
                _play_model(box, player, opponent, plays, forgives)
    except GameFaultError as fault:
        for play in plays:
            play.break_off(fault)
    return plays


def _play_agent(box: Box, player: Agent, opponent: Agent, plays: Sequence[ProgramPlay]) -> None:
    for play in plays:
        seats = (player, opponent) if play.seat == 0 else (opponent, player)
        began = monotonic()
        try:
            moves, result = box.match(seats, play.seed)
            play.moves = list(moves)
            play.finish(result)
        except GameFaultError as fault:
            play.break_off(fault)
        play.seconds = monotonic() - began


def _play_model(
    box: Box, mover: Mover, opponent: Agent, plays: Sequence[ProgramPlay], forgives: bool
) -> None:
    """All plays side by side, one turn of the model in each."""
    waiting = list(plays)
    while waiting:
        began = monotonic()
        turns = [(play, view) for play in waiting if (view := _advance(box, play, opponent))]
        answers = mover.choose(box.game, turns)
        share = (monotonic() - began) / max(1, len(turns))
        for (play, view), (move, usage, reason) in zip(turns, answers, strict=True):
            play.usage += usage
            play.seconds += share
            if move is None and forgives:
                rng = stream("ggbench", "forgiven", play.seed, len(play.moves))
                move = int(rng.choice(view.legal))
            if move is None:
                play.outcome, play.reason = "fault", reason
            else:
                play.moves.append(move)
        waiting = [play for play, _ in turns if play.outcome is None]


def _advance(box: Box, play: ProgramPlay, opponent: Agent) -> ProgramView | None:
    """Play on to where the model has a choice; None if the play has ended. Games are the same under
    the same seed and moves, so one box plays many."""
    try:
        view = box.new(play.seed)
        for move in play.moves:
            view = box.play(move)
        while view.result is None and len(play.moves) < box.limits.most_moves:
            if len(play.moves) % 2 != play.seat:
                key = ("ggbench", "opponent", play.seed, len(play.moves))
                move = box.choose(opponent, seed(*key, bits=32))
            elif len(view.legal) == 1:
                move = view.legal[0]
            else:
                return view
            play.moves.append(move)
            view = box.play(move)
        play.finish(view.result)
    except GameFaultError as fault:
        play.break_off(fault)
    return None


# -- models: from positions to moves -------------------------------------------------------------

Turn = tuple[ProgramPlay, ProgramView]
"""A play, and its position with several legal moves."""
ChosenMove = tuple[int | None, Usage, str | None]
"""A legal move, or None; its usage; the reason where there is none."""


def messages_of(game: ProgramGame, board: str, legal: Sequence[int]) -> list[Message]:
    """One turn: the rules and moves as the system's message, the position as the user's."""
    system = prompt("play", rules=game.rules, moves=game.moves)
    user = f"{board.strip(chr(10))}\n\n{prompt('turn', legal=_listed(legal))}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _listed(legal: Sequence[int]) -> str:
    return ", ".join(map(str, sorted(legal)))


def text_of(game: ProgramGame, board: str, legal: Sequence[int]) -> str:
    """The same for a model without roles; its answer begins where the text ends."""
    system, user = messages_of(game, board, legal)
    return f"{system['content']}\n\n{user['content']}\nMove: "


class LocalMover:
    """Draws among the legal moves by the probability that the model gives to their numbers, so it
    can commit no fault but a prompt that is longer than its window. ``temperature`` divides the
    logarithms of these probabilities; 0 takes the likeliest number."""

    def __init__(self, lm: LanguageModel, run_seed: int, temperature: float = 1.0) -> None:
        self.judge = TransformerJudge(lm)
        self.run_seed, self.temperature = run_seed, temperature

    def choose(self, game: ProgramGame, turns: Sequence[Turn]) -> list[ChosenMove]:
        """An answer to each turn."""
        return [self._answer(game, *turn) for turn in turns]

    def _answer(self, game: ProgramGame, play: ProgramPlay, view: ProgramView) -> ChosenMove:
        prompt, bits = text_of(game, view.text, view.legal), list[float]()
        asked = [ScoreRequest(f"{move}\n", (prompt,), PAPER.scoring) for move in view.legal]
        for score in self.judge.score(asked):
            if isinstance(score, OversizeError):
                return None, Usage(), f"oversize: {score}"
            bits.append(score.total)
        lead, warm = min(bits) - np.array(bits), self.temperature
        weights = np.exp2(lead / warm) if warm else (lead == 0).astype(float)
        key = ("ggbench", "local", self.run_seed, game.game_id, play.number, len(play.moves))
        place = stream(*key).choice(len(weights), p=weights / weights.sum())
        usage = Usage(requests=1, prompt_tokens=1 + self.judge.count(prompt))  # BOS is one
        return view.legal[int(place)], usage, None


class ChatMover(PaidAnswers):
    """Asks a chat model; an answer counts if it names a legal number, otherwise the model is told
    so, up to ``ATTEMPTS`` answers."""

    def choose(self, game: ProgramGame, turns: Sequence[Turn]) -> list[ChosenMove]:
        """Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer, and
        :class:`~xgl.errors.BudgetError`: neither is a lost game."""
        return self.gather([partial(self._move, game, *turn) for turn in turns])

    async def _move(
        self, game: ProgramGame, play: ProgramPlay, view: ProgramView, batch: RequestBatch
    ) -> ChosenMove:
        messages = messages_of(game, view.text, view.legal)
        usage, found = Usage(), ""
        for attempt in range(ATTEMPTS):
            draw = (game.game_id, play.seed, len(play.moves), attempt)
            try:
                answer, cost = await self.answer(batch, messages, *draw)
            except UnusableAnswerError as error:
                if attempt == 0:
                    return None, usage, f"oversize: {error}"
                break  # the position fits, its lengthened conversation does not
            usage += cost
            number, found = parse_number(answer.text), answer.text
            if number is not None and number in view.legal:
                return number, usage, None
            messages = follow_up(messages, found, prompt("again", legal=_listed(view.legal)))
        reason = f"no legal number in {ATTEMPTS} answers; the last: {excerpt(found, 60)!r}"
        return None, usage, reason


Mover = LocalMover | ChatMover
"""A model that plays: answers turns with moves."""
