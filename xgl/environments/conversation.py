"""One player's side of an episode as a chat: the messages to it, and the moves in its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from xgl.chat.answers import ASK_AGAIN, missing_text, parse_move
from xgl.errors import OversizeError
from xgl.runtime.episode import Episode, EpisodeQueue
from xgl.runtime.presentation import RULES, news_text, view_text
from xgl.runtime.requests import Move, MoveRequest, Play

__all__ = ["ASK_AGAIN", "RULES", "converse", "message"]


def message(request: MoveRequest, items_shown: int | None) -> str:
    """The message that asks for a move: the first, for None, shows the whole view, later ones what
    is new in it."""
    if items_shown is None:
        return view_text(request.view, request.max_len)
    return news_text(request.view, items_shown, request.max_len)


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
    shown: dict[str, int] = {}
    await queue.start(episode)
    while episode.turn is not None:
        request = episode.turn.request
        name, text = request.view.player, message(request, shown.get(request.view.player))
        shown[name] = len(request.view.items)
        await queue.step(episode, await _move(answer, name, text, ask_again))
    return episode.play


async def _move(
    answer: Callable[[str, str], Awaitable[str | None]], name: str, text: str, ask_again: int
) -> Move | OversizeError:
    """The move in the first answer that holds one, else an empty one."""
    for _ in range(1 + ask_again):
        reply = await answer(name, text)
        if reply is None:
            return OversizeError(f"{name} can read no more")
        move = parse_move(reply)
        if move is not None:
            return Move(move)
        text = missing_text(reply)
    return Move("", format_failure=True)
