"""Games as environments of TRL's trainers: a move is a tool call, and retries, several moves and
other players are turns of one rollout."""

from __future__ import annotations

from collections.abc import Callable

from xgl.chat.answers import parse_move, remove_thoughts
from xgl.environments.conversation import Conversation
from xgl.environments.rows import Info, Row, read_row
from xgl.errors import PlayerError
from xgl.runtime.episode import Episode
from xgl.runtime.presentation import RULES
from xgl.runtime.requests import Judge, Move, Player

CALL = "Make the move by calling the tool `move`, once for each request."


class GameEnvironment:
    """One rollout of the game of a row; use :func:`environment_factory`.

    TRL takes every public method but ``reset`` and ``get_reward`` for a tool.
    """

    def __init__(self, judge: Judge, others: Player | None, normalise: bool) -> None:
        self._judge, self._others, self._normalise = judge, others, normalise
        self._row: Row | None = None
        self._episode: Episode | None = None
        self._talk = Conversation()

    def reset(self, info: Info, prompt: object = (), **_: object) -> str:
        """Begin the game of a row; returns the text that is appended to the row's prompt.

        A row that has a prompt has asked for the first move already.
        """
        self._row, self._talk = read_row(info), Conversation()
        names = [name for name in self._row.players if name != self._row.role]
        if names and self._others is None:
            raise PlayerError(
                f"{', '.join(names)} would have to move as well; expected a player for them: "
                "environment_factory(judge, others=player)"
            )
        seats = {name: self._others for name in names if self._others is not None}
        self._episode = self._row.episode(self._judge, players=seats)
        turn = self._ask()
        return f"\n{CALL}" if prompt else f"{RULES}\n\n{turn}"

    def move(self, text: str) -> str:
        """Make the move that you are asked for.

        Args:
            text: The move, one line.

        Returns:
            What you can see after it, and the request for your next move if there is one.
        """
        assert self._episode is not None
        if self._episode.done:
            return "The game is over."
        move = parse_move(text)
        self._episode.step(Move(remove_thoughts(text).strip() if move is None else move))
        return self._ask()

    def get_reward(self) -> float:
        """Bits of the measured player, or normalised; the floor where the game was left before
        its end."""
        assert self._row is not None
        assert self._episode is not None
        over = self._episode.done
        score = self._row.score(self._episode.play) if over else self._row.floor
        return self._row.reward(score, self._normalise)

    def _ask(self) -> str:
        assert self._episode is not None
        assert self._row is not None
        turn = self._episode.turn
        if turn is not None:
            return f"{self._talk.ask(turn.request)}\n{CALL}"
        play, role = self._episode.play, self._row.role
        return f"The game is over ({play.outcome_for(role)}): {self._row.score(play):.1f} bits."


def environment_factory(
    judge: Judge, others: Player | None = None, normalise: bool = False
) -> Callable[[], GameEnvironment]:
    """A value for TRL's ``environment_factory``, for rows of any games in one run.

    >>> GRPOTrainer(environment_factory=environment_factory(judge), …)  # doctest: +SKIP

    ``others`` makes the moves of all players but the row's role; ``normalise``: standard
    deviations above the base player's mean instead of bits.
    """
    return lambda: GameEnvironment(judge, others, normalise)
