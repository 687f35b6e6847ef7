"""A chat model behind an OpenAI-compatible endpoint as player (SPEC §3, §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from xgl.errors import OversizeError, PlayerError
from xgl.players.accounting import Usage
from xgl.players.chat_client import Answered, Endpoint, Fault, Kind
from xgl.players.chat_prompt import Message, Reply, again, move_of, opening
from xgl.players.chat_settings import ChatSettings
from xgl.random import seed, stream
from xgl.requests import Move, Turn

Result = TypeVar("Result")
SEED_BITS = 31
"""Servers hold a seed in 32 bits, some of them signed."""


class ChatPlayer:
    """Asks ``settings.model`` for moves, several turns at once; ``usage`` adds up what it did.

    The key is read from the environment at each call and kept nowhere.
    """

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.usage = Usage()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn, in the order asked; an error value where a view is too long.

        A model that gives no move even when asked again has made a failed attempt: its move is
        empty, and the game goes on from there (an ensure may send it back as any other move).

        Raises :class:`PlayerError` where the endpoint refuses or stays silent after all retries,
        and :class:`~xgl.errors.BudgetError` where the budget is spent: a fault of the network is
        never a lost game. The first of these ends the batch: no further request is sent, and those
        under way are waited for, so that what they cost is counted.
        """
        return _run(self._batch(turns)) if turns else []

    async def _batch(self, turns: list[Turn]) -> list[Move | OversizeError]:
        async with Endpoint(self.settings) as endpoint:
            return await _Batch(self, endpoint).moves(turns)


class _Batch:
    """The turns of one call, ``concurrency`` of them at a time."""

    def __init__(self, player: ChatPlayer, endpoint: Endpoint) -> None:
        self.player, self.endpoint = player, endpoint
        self.settings = player.settings
        self.slots = asyncio.Semaphore(self.settings.concurrency)
        self.failure: BaseException | None = None
        self.over = asyncio.Event()

    async def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        given = await asyncio.gather(*map(self._turn, turns), return_exceptions=True)
        if self.failure is not None:
            raise self.failure
        return [move for move in given if isinstance(move, Move | OversizeError)]

    async def _turn(self, turn: Turn) -> Move | OversizeError:
        async with self.slots:
            try:
                return await self._move(turn)
            except BaseException as error:
                self.failure = self.failure or error
                self.over.set()
                raise

    async def _move(self, turn: Turn) -> Move | OversizeError:
        """A view too long for the endpoint loses its oldest rounds, a quarter at a time."""
        rounds = len(turn.request.view.earlier)
        while True:
            view = turn.request.view.latest(rounds)
            asked = replace(turn, request=replace(turn.request, view=view))
            move = await self._move_on(asked)
            if isinstance(move, Move):
                return replace(move, rounds_shown=rounds)
            if not rounds:
                return move
            rounds -= max(1, rounds // 4)

    async def _move_on(self, turn: Turn) -> Move | OversizeError:
        messages = opening(turn.request)
        spent = Usage()
        for asking in range(1 + self.settings.ask_again):
            reply, cost = await self._answer(turn, asking, messages)
            spent += cost
            if isinstance(reply, Fault):
                if asking == 0:
                    return OversizeError(reply.said)
                break  # the view fits, its lengthened conversation does not
            text = move_of(reply.text)
            if text is not None:
                return Move(text, prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)
            messages = again(messages, reply)
        self._count(Usage(failed_attempts=1))
        return Move("", prompt_tokens=spent.prompt_tokens, new_tokens=spent.new_tokens)

    async def _answer(
        self, turn: Turn, asking: int, messages: list[Message]
    ) -> tuple[Reply | Fault, Usage]:
        """The answer, or the fault of a view too long; and what all its requests cost."""
        key = (*turn.key, asking)
        spent, sent = Usage(), 0
        while True:
            self._permit()
            answered = await self.endpoint.ask(messages, seed("chat", *key, bits=SEED_BITS))
            cost = self._cost(answered, asked_again=sent == 0 < asking, retry=sent > 0)
            self._count(cost)
            spent += cost
            outcome = answered.outcome
            if isinstance(outcome, Reply) or outcome.kind is Kind.OVERSIZE:
                return outcome, spent
            sent += 1
            self._check_patience(outcome, sent)
            await self._pause(outcome, sent, stream("back-off", *key, sent).random())

    def _permit(self) -> None:
        """Raises where no further request may be sent."""
        if self.failure is not None:
            raise self.failure
        self.settings.budget.check(self.player.usage)

    def _cost(self, answered: Answered, *, asked_again: bool, retry: bool) -> Usage:
        prompt, new = answered.tokens or (0, 0)
        return Usage(
            requests=1,
            retries=int(retry),
            asked_again=int(asked_again),
            unmetered=int(answered.tokens is None),
            prompt_tokens=prompt,
            new_tokens=new,
            dollars=self.settings.prices.of(prompt, new),
        )

    def _count(self, usage: Usage) -> None:
        self.player.usage += usage

    def _check_patience(self, fault: Fault, sent: int) -> None:
        """Raises :class:`PlayerError` after ``sent`` requests if there is to be no other."""
        place, longest = self.settings.place, self.settings.max_backoff
        if fault.kind is Kind.FINAL:
            raise PlayerError(f"{place}: {fault.said}")
        if sent > self.settings.retries:
            tries = f"{sent} requests" if sent > 1 else "1 request"
            raise PlayerError(f"{place}: no answer to {tries}; the last: {fault.said}")
        if fault.wait > longest:
            raise PlayerError(
                f"{place}: {fault.said}; it asks to wait {fault.wait:.0f} seconds, and max_backoff "
                f"allows {longest:g}"
            )

    async def _pause(self, fault: Fault, sent: int, uniform: float) -> None:
        """Back off: doubled with each request sent, never shorter than the server asks."""
        doubled = self.settings.first_backoff * 2.0 ** min(sent - 1, 64)
        delay = min(self.settings.max_backoff, doubled) * (1 + uniform) / 2
        with suppress(TimeoutError):  # woken early when the batch is over
            await asyncio.wait_for(self.over.wait(), max(fault.wait, delay))


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of ``work``, also for a caller inside an event loop (a notebook, say)."""
    if not _inside_a_loop():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
