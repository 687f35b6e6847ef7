"""A chat model behind an OpenAI-compatible endpoint as player (docs/players.md)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from xgl.chat.accounting import Usage
from xgl.chat.calls import Calls, Meter, run
from xgl.chat.client import Endpoint, Fault
from xgl.chat.settings import ChatSettings
from xgl.errors import OversizeError
from xgl.players.chat_prompt import again, move_of, opening
from xgl.runtime.requests import Move, Turn


class ChatPlayer:
    """Asks ``settings.model`` for moves, several turns at once; ``usage`` adds up what it did.

    The key is read from the environment at each call and kept nowhere.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.meter = Meter()

    @property
    def usage(self) -> Usage:
        return self.meter.usage

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn, in the order asked; an error value where a view is too long.

        A model that gives no move even when asked again has made a failed attempt: its move is
        empty, and the game goes on from there (an ensure may send it back as any other move).

        Raises :class:`~xgl.errors.PlayerError` where the endpoint refuses or stays silent after all
        retries, and :class:`~xgl.errors.BudgetError` where the budget is spent: a fault of the
        network is never a lost game. The first of these ends the batch.
        """
        return run(self._batch(turns)) if turns else []

    async def _batch(self, turns: list[Turn]) -> list[Move | OversizeError]:
        async with Endpoint(self.settings) as endpoint:
            calls = Calls(self.settings, endpoint, self.meter)
            return await calls.together(partial(self._move, calls, turn) for turn in turns)

    async def _move(self, calls: Calls, turn: Turn) -> Move | OversizeError:
        """A view too long for the endpoint loses its oldest rounds, a quarter at a time."""
        rounds = len(turn.request.view.earlier)
        while True:
            view = turn.request.view.latest(rounds)
            asked = replace(turn, request=replace(turn.request, view=view))
            move = await self._move_on(calls, asked)
            if isinstance(move, Move):
                return replace(move, rounds_shown=rounds)
            if not rounds:
                return move
            rounds -= max(1, rounds // 4)

    async def _move_on(self, calls: Calls, turn: Turn) -> Move | OversizeError:
        messages = opening(turn.request)
        spent = Usage()
        for asking in range(1 + self.settings.ask_again):
            reply, cost = await calls.answer(messages, *turn.key, asking, asked_again=asking > 0)
            spent += cost
            if isinstance(reply, Fault):
                if asking == 0:
                    return OversizeError(reply.said)
                break  # the view fits, its lengthened conversation does not
            text = move_of(reply.text)
            if text is not None:
                return Move(text, prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)
            messages = again(messages, reply)
        self.meter.count(Usage(failed_attempts=1))
        return Move("", prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)
