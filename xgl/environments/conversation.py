"""One player's side of an episode as a chat: the messages to it, and the moves in its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from xgl.chat.answers import missing_text, parse_move
from xgl.errors import OversizeError
from xgl.runtime.episode import Episode, EpisodeQueue
from xgl.runtime.presentation import RULES, news_text, view_text
from xgl.runtime.requests import Move, MoveRequest, Play

ASK_AGAIN = 2
"""Default number of times that an answer without a move is asked again."""
__all__ = ["ASK_AGAIN", "RULES", "Conversation", "converse"]


class Conversation:
    """The messages to one player. The first shows its whole view, later ones what is new in it."""

    def __init__(self, ask_again: int = ASK_AGAIN) -> None:
        self.ask_again = ask_again
        self._item_count: int | None = None
        self._retries = ask_again

    def ask(self, request: MoveRequest) -> str:
        """The message that asks for a move."""
        view, self._retries = request.view, self.ask_again
        item_count, self._item_count = self._item_count, len(view.items)
        if item_count is None:
            return view_text(view, request.max_len)
        return news_text(view, item_count, request.max_len)

    def read(self, answer: str) -> Move | str:
        """The move of an answer; for an answer without one the next message or, after ``ask_again``
        of these, an empty move."""
        text = parse_move(answer)
        if text is not None:
            return Move(text)
        if self._retries == 0:
            return Move("", format_failure=True)
        self._retries -= 1
        return missing_text(answer)


async def converse(
    episode: Episode,
    queue: EpisodeQueue,
    answer: Callable[[str, str], Awaitable[str | None]],
    ask_again: int = ASK_AGAIN,
) -> Play:
    """Play an episode to its end with a chat model on each open seat.

    ``answer(player, message)`` gives the player's answer to a message, or None when it cannot
    answer any more (its window or its budget of tokens is full), which ends the play as oversize.
    """
    seats: dict[str, Conversation] = {}
    await queue.start(episode)
    while not episode.done:
        turn = episode.turn
        assert turn is not None
        name = episode.player
        seat = seats.setdefault(name, Conversation(ask_again))
        said: Move | str | OversizeError = seat.ask(turn.request)
        while isinstance(said, str):
            reply = await answer(name, said)
            said = OversizeError(f"{name} can read no more") if reply is None else seat.read(reply)
        await queue.step(episode, said)
    return episode.play
