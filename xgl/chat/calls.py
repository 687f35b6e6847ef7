"""Requests of one batch: so many at once, tried again after faults that pass, within a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xgl.chat.accounting import Usage
from xgl.chat.client import Answered, Endpoint, Fault, Kind, Message, Reply
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError
from xgl.random_streams import seed, stream

Result = TypeVar("Result")
SEED_BITS = 31
"""Servers hold a seed in 32 bits, some of them signed."""


@dataclass
class Meter:
    """Adds up what was asked for; a budget is held against it."""

    usage: Usage = field(default_factory=Usage)

    def count(self, usage: Usage) -> None:
        self.usage += usage


class Calls:
    """The requests of one batch, ``settings.concurrency`` at a time.

    The first error ends the batch: no further request is sent, and those under way are waited for,
    so that what they cost is counted.
    """

    def __init__(self, settings: ChatSettings, endpoint: Endpoint, meter: Meter) -> None:
        self.settings, self.endpoint, self.meter = settings, endpoint, meter
        self.slots = asyncio.Semaphore(settings.concurrency)
        self.failure: BaseException | None = None
        self.over = asyncio.Event()

    async def together(self, work: Iterable[Callable[[], Awaitable[Result]]]) -> list[Result]:
        """The results in order; raises the first error."""
        given: list[Any] = await asyncio.gather(*map(self._one, work), return_exceptions=True)
        if self.failure is not None:
            raise self.failure
        return given  # a result may be an exception itself, as a value

    async def _one(self, work: Callable[[], Awaitable[Result]]) -> Result:
        async with self.slots:
            try:
                return await work()
            except BaseException as error:
                self.failure = self.failure or error
                self.over.set()
                raise

    async def answer(
        self, messages: list[Message], *key: str | int, asked_again: bool = False
    ) -> tuple[Reply | Fault, Usage]:
        """The answer, or the fault of a request beyond the model's window; and what all requests
        for it cost. ``key`` names the seed that is sent.

        Raises :class:`PlayerError` where the endpoint refuses or stays silent after all retries,
        and :class:`~xgl.errors.BudgetError` where the budget is spent.
        """
        spent, sent = Usage(), 0
        while True:
            self._permit()
            answered = await self.endpoint.ask(messages, seed("chat", *key, bits=SEED_BITS))
            cost = self._cost(answered, asked_again=asked_again and not sent, retry=sent > 0)
            self.meter.count(cost)
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
        self.settings.budget.check(self.meter.usage)

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


def run(work: Coroutine[Any, Any, Result]) -> Result:
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
