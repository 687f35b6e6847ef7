"""Plays of a player against a game's opponent, seats in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from evo.ggbench.answers import GameFaultError
from evo.ggbench.box import Agent, Box, ProgramView
from evo.ggbench.opponents import SECONDS_A_GAME
from evo.ggbench.players import Mover, ProgramTurn
from xgl.chat.accounting import Usage
from xgl.random_streams import seed


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
        elif result == 0:
            self.outcome = "draw"
        else:
            self.outcome = "win" if (result > 0) == (self.seat == 0) else "loss"


def new_plays(game_id: str, plays: int, run_seed: int) -> list[ProgramPlay]:
    """The plays of every player on a game: the same seeds, the same seats."""
    key = ("ggbench", "play", run_seed, game_id)
    return [ProgramPlay(number, number % 2, seed(*key, number, bits=32)) for number in range(plays)]


def play_agent(box: Box, player: Agent, opponent: Agent, plays: Sequence[ProgramPlay]) -> None:
    """Play whole games in the box, to their outcomes."""
    for play in plays:
        seats = (player, opponent) if play.seat == 0 else (opponent, player)
        began = monotonic()
        try:
            match = box.match(seats, play.seed, SECONDS_A_GAME)
            play.moves = list(match.moves)
            play.finish(match.result)
        except GameFaultError as fault:
            play.outcome, play.reason = "broken", str(fault)
        play.seconds = monotonic() - began


def play_model(box: Box, mover: Mover, opponent: Agent, plays: Sequence[ProgramPlay]) -> None:
    """Play all plays side by side, one turn of the model in each, to their outcomes.

    Raises what the model's endpoint raises.
    """
    waiting = list(plays)
    while waiting:
        began = monotonic()
        turns = {id(play): turn for play in waiting if (turn := _advance(box, play, opponent))}
        waiting = [play for play in waiting if id(play) in turns]
        answers = mover.choose([turns[id(play)] for play in waiting])
        share = (monotonic() - began) / max(1, len(waiting))
        for play, answer in zip(waiting, answers, strict=True):
            play.usage += answer.usage
            play.seconds += share
            if answer.move is None:
                play.outcome, play.reason = "fault", answer.reason
            else:
                play.moves.append(answer.move)
        waiting = [play for play in waiting if play.outcome is None]


def _advance(box: Box, play: ProgramPlay, opponent: Agent) -> ProgramTurn | None:
    """Play on to where the model has a choice; None if the play has ended."""
    try:
        view = _replay(box, play)
        while view.result is None and len(play.moves) < box.limits.most_moves:
            if view.mover != play.seat:
                key = ("ggbench", "opponent", play.seed, len(play.moves))
                move = box.choose(opponent, seed(*key, bits=32), SECONDS_A_GAME)
            elif len(view.legal) == 1:
                move = view.legal[0]
            else:
                board, legal = view.text, view.legal
                return ProgramTurn(box.game, board, legal, play.number, len(play.moves))
            play.moves.append(move)
            view = box.play(move)
        play.finish(view.result)
    except GameFaultError as fault:
        play.outcome, play.reason = "broken", str(fault)
    return None


def _replay(box: Box, play: ProgramPlay) -> ProgramView:
    """The position after the moves so far: games are the same under the same seed and moves."""
    view = box.new(play.seed)
    for move in play.moves:
        view = box.play(move)
    return view
