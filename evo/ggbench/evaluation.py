"""Plays of a player against a game's opponent, seats in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from evo.ggbench.box import RANDOM, Agent, Box, BoxLimits, GameFaultError
from evo.ggbench.filters import FilterVerdict
from evo.ggbench.game import ProgramGame
from evo.ggbench.opponents import SECONDS_A_GAME
from evo.ggbench.players import Mover, ProgramTurn
from xgl.chat.accounting import Usage
from xgl.random_streams import seed, stream

MOST_EXCEPTIONS, MODEL_SECONDS = 0.2, 5400.0
"""Share of a model's games that end in an exception, and seconds of one of them (section 2.3)."""


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

    def break_off(self, reason: str) -> None:
        """End a play that goes on by a fault of the game."""
        if self.outcome is None:
            self.outcome, self.reason = "broken", reason


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
            moves, result = box.match(seats, play.seed, SECONDS_A_GAME)
            play.moves = list(moves)
            play.finish(result)
        except GameFaultError as fault:
            play.break_off(str(fault))
        play.seconds = monotonic() - began


def play_model(
    box: Box,
    mover: Mover,
    opponent: Agent,
    plays: Sequence[ProgramPlay],
    *,
    forgives: bool = False,
) -> None:
    """Play all plays side by side, one turn of the model in each, to their outcomes.

    ``forgives``: an answer without a legal move becomes a random move. Raises what the model's
    endpoint raises.
    """
    waiting = list(plays)
    while waiting:
        began = monotonic()
        turns = [(play, turn) for play in waiting if (turn := _advance(box, play, opponent))]
        answers = mover.choose([turn for _, turn in turns])
        share = (monotonic() - began) / max(1, len(turns))
        for (play, turn), answer in zip(turns, answers, strict=True):
            play.usage += answer.usage
            play.seconds += share
            move = answer.move
            if move is None and forgives:
                move = int(stream("ggbench", "forgiven", play.seed, turn.after).choice(turn.legal))
            if move is None:
                play.outcome, play.reason = "fault", answer.reason
            else:
                play.moves.append(move)
        waiting = [play for play, _ in turns if play.outcome is None]


def _advance(box: Box, play: ProgramPlay, opponent: Agent) -> ProgramTurn | None:
    """Play on to where the model has a choice; None if the play has ended. Games are the same under
    the same seed and moves, so one box plays many."""
    try:
        view = box.new(play.seed)
        for move in play.moves:
            view = box.play(move)
        while view.result is None and len(play.moves) < box.limits.most_moves:
            if view.mover != play.seat:
                key = ("ggbench", "opponent", play.seed, len(play.moves))
                move = box.choose(opponent, seed(*key, bits=32), SECONDS_A_GAME)
            elif len(view.legal) == 1:
                move = view.legal[0]
            else:
                return ProgramTurn(box.game, view.text, view.legal, play.number, len(play.moves))
            play.moves.append(move)
            view = box.play(move)
        play.finish(view.result)
    except GameFaultError as fault:
        play.break_off(str(fault))
    return None


# -- a language model's own games (section 2.3) ----------------------------------------------------


def model_timeout(
    game: ProgramGame, mover: Mover, count: int, limits: BoxLimits, run_seed: int
) -> FilterVerdict:
    """Games of a model against random moves: refused is a game that takes more than 100 moves or
    1.5 hours, or of which more than 20 % end in an exception. An answer that is no legal number
    becomes a random move.

    Raises what the model's endpoint raises.
    """
    plays = new_plays(game.game_id, count, run_seed)
    try:
        with Box(game, limits) as box:
            play_model(box, mover, {"kind": RANDOM}, plays, forgives=True)
    except GameFaultError as fault:
        for play in plays:
            play.break_off(str(fault))
    reason = _model_fault(plays)
    longest = max(len(play.moves) for play in plays)
    detail = f"{count} games of the model, at most {longest} moves"
    return FilterVerdict(
        "model",
        not reason,
        reason or detail,
        sum(play.seconds for play in plays),
        tokens=sum(play.usage.tokens for play in plays),
        dollars=sum(play.usage.dollars for play in plays),
    )


def _model_fault(plays: Sequence[ProgramPlay]) -> str | None:
    broken = [play for play in plays if play.outcome == "broken"]
    if len(broken) > MOST_EXCEPTIONS * len(plays):
        return f"{len(broken)} of {len(plays)} games end in an exception: {broken[0].reason}"
    if any(play.outcome == "long" for play in plays):
        return "a game of the model goes on after the most moves"
    if any(play.seconds > MODEL_SECONDS for play in plays):
        return f"a game of the model takes more than {MODEL_SECONDS / 3600:.1f} hours"
    return None
