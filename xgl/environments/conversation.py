"""One player's side of an episode as a chat: what it is told, and the moves in its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from xgl.errors import OversizeError
from xgl.runtime.episode import Episode, EpisodeQueue
from xgl.runtime.prompt import RULES, missing_text, news_text, parse_move, view_text
from xgl.runtime.requests import Move, MoveRequest, Play

ASK_AGAIN = 2
"""How often an answer without a move is asked again, where nobody says otherwise."""
__all__ = ["ASK_AGAIN", "RULES", "Conversation", "converse"]


class Conversation:
    """The messages to one player. The first shows its whole view, later ones what is new in it."""

    def __init__(self, ask_again: int = ASK_AGAIN) -> None:
        self.ask_again = ask_again
        self._shown: int | None = None
        self._left = ask_again

    def ask(self, request: MoveRequest) -> str:
        """The message that asks for a move."""
        view, self._left = request.view, self.ask_again
        shown, self._shown = self._shown, len(view.items)
        if shown is None:
            return view_text(view, request.max_len)
        return news_text(view, shown, request.max_len)

    def read(self, answer: str) -> Move | str:
        """The move of an answer; where it has none, what to say, and after ``ask_again`` times an
        empty move."""
        text = parse_move(answer)
        if text is not None:
            return Move(text)
        if self._left == 0:
            return Move("", format_failure=True)
        self._left -= 1
        return missing_text(answer)


async def converse(
    episode: Episode,
    queue: EpisodeQueue,
    answer: Callable[[str, str], Awaitable[str | None]],
    ask_again: int = ASK_AGAIN,
) -> Play:
    """Play an episode to its end with a chat model on each open seat.

    ``answer(player, message)`` gives what the player says to a message, None where it can say no
    more (its window or its budget of tokens is full), which ends the play as oversize.
    """
    seats: dict[str, Conversation] = {}
    await queue.start(episode)
    while not episode.done:
        turn = episode.turn
        assert turn is not None
        name = episode.player
        seat = seats.setdefault(name, Conversation(ask_again))
        message: str = seat.ask(turn.request)
        move: Move | str | None = None
        while not isinstance(move, Move):
            said = await answer(name, message)
            if said is None:
                break
            move = seat.read(said)
            message = move if isinstance(move, str) else message
        over = OversizeError(f"{name} can read no more")
        await queue.step(episode, move if isinstance(move, Move) else over)
    return episode.play
