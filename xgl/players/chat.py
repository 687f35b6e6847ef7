"""A chat model behind an OpenAI-compatible endpoint as player (docs/how-to/players.md): its prompt,
and the move taken from its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from xgl.chat.answers import ASK_AGAIN, missing_text, parse_move
from xgl.chat.client import RequestBatch, follow_up
from xgl.chat.paid_answers import PaidAnswers, UnusableAnswerError
from xgl.chat.settings import Usage
from xgl.errors import OversizeError
from xgl.runtime.presentation import Message, first_messages
from xgl.runtime.requests import Move, Turn


class ChatPlayer(PaidAnswers):
    """Asks ``settings.model`` for moves, several turns at once."""

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn, in the order asked; an error value where a view is too long.

        A model that gives no move even when asked again has made a failed attempt: its move is
        empty, and the game continues (an ensure may refuse it like any other move).

        Raises :class:`~xgl.errors.PlayerError` if the endpoint refuses or does not answer after all
        retries, and :class:`~xgl.errors.BudgetError` if the budget is spent: a fault of the network
        is never a lost game. The first of these ends the batch.
        """
        return self.gather([partial(self._move, turn) for turn in turns])

    async def _move(self, turn: Turn, batch: RequestBatch) -> Move | OversizeError:
        usage = Usage()

        async def ask(messages: list[Message], attempt: int) -> tuple[str, bool] | OversizeError:
            nonlocal usage
            try:
                answer, cost = await self.answer(batch, messages, *turn.key, attempt)
            except UnusableAnswerError as error:
                return OversizeError(str(error))
            usage += cost
            return answer.text, answer.cut

        move = await asked_move(turn, ask)
        if isinstance(move, OversizeError):
            return move
        return replace(move, prompt_tokens=usage.prompt_tokens, new_tokens=usage.new_tokens)


Ask = Callable[[list[Message], int], Awaitable[tuple[str, bool] | OversizeError]]
"""A model's answer to messages in an attempt (from 0), and whether it ended at the token limit; an
error value where the messages do not fit the model's window."""


async def asked_move(turn: Turn, ask: Ask) -> Move | OversizeError:
    """The move in a model's answer; empty, a format failure, if it gives none even when asked again
    ``ASK_AGAIN`` times. A view too long for it loses its oldest rounds, a quarter at a time."""
    rounds = len(turn.request.view.earlier)
    while True:
        view = turn.request.view.latest(rounds)
        move = await _attempted(first_messages(replace(turn.request, view=view)), ask)
        if isinstance(move, Move):
            return replace(move, rounds_shown=rounds)
        if not rounds:
            return move
        rounds -= max(1, rounds // 4)


async def _attempted(messages: list[Message], ask: Ask) -> Move | OversizeError:
    for attempt in range(1 + ASK_AGAIN):
        answer = await ask(messages, attempt)
        if isinstance(answer, OversizeError):
            if attempt == 0:
                return answer
            break  # the view fits, its lengthened conversation does not
        text = parse_move(answer[0])
        if text is not None:
            return Move(text)
        messages = follow_up(messages, answer[0], missing_text(*answer))
    return Move("", format_failure=True)
