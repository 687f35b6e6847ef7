"""Requests of one batch: a limited number at once, retried after temporary faults, within a
budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from xgl.chat.client import Endpoint, Fault, Kind, Message, Reply
from xgl.chat.settings import Budget, ChatSettings, Usage
from xgl.errors import PlayerError
from xgl.random_streams import seed, stream

log = logging.getLogger("xgl.chat")
Result = TypeVar("Result")
SEED_BITS = 31
"""Servers hold a seed in 32 bits, some of them signed."""


class UsageCounter:
    """Sums up usage; budgets are checked against it."""

    def __init__(self) -> None:
        self.usage = Usage()

    def count(self, usage: Usage) -> None:
        """Add the usage of a request."""
        self.usage += usage


class RequestBatch:
    """The requests of one batch, ``settings.concurrency`` at a time.

    The first error ends the batch: no further request is sent, and running ones are awaited, so
    that their cost is counted.
    """

    def __init__(self, settings: ChatSettings, endpoint: Endpoint, meter: UsageCounter) -> None:
        self.settings, self.endpoint, self.meter = settings, endpoint, meter
        self.slots = asyncio.Semaphore(settings.concurrency)
        self.failure: BaseException | None = None
        self.over = asyncio.Event()

    async def gather(self, work: Iterable[Callable[[], Awaitable[Result]]]) -> list[Result]:
        """The results in order; raises the first error."""
        results: list[Any] = await asyncio.gather(*map(self._one, work), return_exceptions=True)
        if self.failure is not None:
            raise self.failure
        return results  # a result may be an exception itself, as a value

    async def _one(self, work: Callable[[], Awaitable[Result]]) -> Result:
        async with self.slots:
            try:
                return await work()
            except BaseException as error:
                self.failure = self.failure or error
                self.over.set()
                raise

    async def reply(
        self, messages: list[Message], *key: str | int, asked_again: bool = False
    ) -> tuple[Reply | Fault, Usage]:
        """The reply, or the fault of a request beyond the model's window; and what all requests
        for it cost. ``key`` names the seed that is sent.

        Raises :class:`PlayerError` if the endpoint refuses or does not answer after all retries,
        and :class:`~xgl.errors.BudgetError` if the budget is spent.
        """
        costs: list[Usage] = []

        async def send() -> Reply | Fault:
            number = seed("chat", *key, bits=SEED_BITS)
            outcome, tokens = await self.endpoint.send(messages, number)
            prompt, new = tokens or (0, 0)
            cost = Usage(
                requests=1,
                retries=int(bool(costs)),
                asked_again=int(asked_again and not costs),
                unmetered=int(tokens is None),
                prompt_tokens=prompt,
                new_tokens=new,
                dollars=self.settings.prices.of(prompt, new),
            )
            costs.append(cost)
            self.meter.count(cost)
            return outcome

        return await self.persist(send, *key), sum(costs, Usage())

    async def persist(
        self, send: Callable[[], Awaitable[Result | Fault]], *key: str | int
    ) -> Result | Fault:
        """The outcome of ``send``, which is called again after faults that may pass; only the fault
        of a request beyond the model's window is one. Raises as :meth:`reply`."""
        number = 0
        while True:
            if self.failure is not None:  # the batch is over
                raise self.failure
            self.settings.budget.check(self.meter.usage)
            outcome, number = await send(), number + 1
            if not isinstance(outcome, Fault) or outcome.kind is Kind.OVERSIZE:
                return outcome
            too_long = outcome.wait > self.settings.max_backoff
            if outcome.kind is Kind.FINAL or too_long or number > self.settings.retries:
                raise PlayerError(f"{self.settings.place}: {self._reason(outcome, number)}")
            await self._back_off(outcome, number, key)

    async def _back_off(self, fault: Fault, number: int, key: tuple[str | int, ...]) -> None:
        """Wait after request ``number``: doubled with each, jittered by the key, at least as
        requested; woken early when the batch is over."""
        settings = self.settings
        longest = min(settings.first_backoff * 2.0 ** min(number - 1, 64), settings.max_backoff)
        jitter = stream("back-off", *key, number).random()
        seconds = max(fault.wait, longest * (1 + jitter) / 2)
        tries = f"request {number + 1} of {settings.retries + 1} follows in {seconds:.1f} seconds"
        log.warning("%s: %s; %s", settings.place, fault.message, tries)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)

    def _reason(self, fault: Fault, request_count: int) -> str:
        """Why there is no reply after ``request_count`` requests, for the user."""
        if fault.kind is Kind.FINAL:
            return fault.message
        if request_count > self.settings.retries:
            tries = f"{request_count} requests" if request_count > 1 else "1 request"
            return f"no answer to {tries}; the last: {fault.message}"
        return (
            f"{fault.message}; it asks to wait {fault.wait:.0f} seconds, and max_backoff allows "
            f"{self.settings.max_backoff:g}"
        )


# -- before a run ----------------------------------------------------------------------------------

QUESTION = [{"role": "user", "content": "Answer with the word yes."}]
RETRIES = 2
"""Most of the question: a run that has not begun loses nothing if it ends."""


def ask_once(endpoints: Iterable[ChatSettings]) -> None:
    """Send one short request to each endpoint, so that no run begins with a wrong key, model or
    address; it counts towards no budget.

    Raises :class:`PlayerError`.
    """

    async def ask_all() -> None:
        asked = map(_ask, dict.fromkeys(endpoints))
        for error in await asyncio.gather(*asked, return_exceptions=True):
            if error is not None:
                raise error

    run(ask_all())


async def _ask(settings: ChatSettings) -> None:
    # The budget is for the run's own requests: a resumed run with nothing left must not fail here.
    settings = replace(settings, retries=min(RETRIES, settings.retries), budget=Budget())
    async with Endpoint(settings) as endpoint:
        reply, _ = await RequestBatch(settings, endpoint, UsageCounter()).reply(QUESTION, "check")
    if isinstance(reply, Fault):  # the question is short: its answer would be too long
        raise PlayerError(f"{settings.place}: {reply.message}; lower its answer_tokens")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of ``work``, also for a caller inside an event loop (a notebook, say)."""
    inside = False
    with suppress(RuntimeError):
        inside = asyncio.get_running_loop() is not None
    if not inside:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
