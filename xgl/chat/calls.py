"""Requests of one batch: a limited number at once, retried after temporary faults, within a
budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, wait_exponential

from xgl.chat.accounting import Usage
from xgl.chat.client import Endpoint, Fault, Kind, Message, Reply, Response
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError
from xgl.random_streams import seed, stream

Result = TypeVar("Result")
SEED_BITS = 31
"""Servers hold a seed in 32 bits, some of them signed."""


@dataclass
class UsageCounter:
    """Sums up usage; budgets are checked against it."""

    usage: Usage = field(default_factory=Usage)

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
            self._check_open()
            response = await self.endpoint.send(messages, seed("chat", *key, bits=SEED_BITS))
            costs.append(self._cost(response, asked_again=asked_again, retry=bool(costs)))
            self.meter.count(costs[-1])
            return response.outcome

        retrying = AsyncRetrying(
            retry=retry_if_result(_is_transient),
            stop=self._gives_up,
            wait=partial(self._wait, key),
            sleep=self._sleep,
            retry_error_callback=_outcome,
        )
        outcome: Reply | Fault = await retrying(send)
        if isinstance(outcome, Fault) and outcome.kind is not Kind.OVERSIZE:
            raise PlayerError(f"{self.settings.place}: {self._reason(outcome, len(costs))}")
        return outcome, sum(costs, Usage())

    def _check_open(self) -> None:
        """Raises if no further request may be sent."""
        if self.failure is not None:
            raise self.failure
        self.settings.budget.check(self.meter.usage)

    def _cost(self, response: Response, *, asked_again: bool, retry: bool) -> Usage:
        prompt, new = response.tokens or (0, 0)
        return Usage(
            requests=1,
            retries=int(retry),
            asked_again=int(asked_again and not retry),
            unmetered=int(response.tokens is None),
            prompt_tokens=prompt,
            new_tokens=new,
            dollars=self.settings.prices.of(prompt, new),
        )

    # -- retries ---------------------------------------------------------------------------

    def _gives_up(self, state: RetryCallState) -> bool:
        too_long = bool(_outcome(state).wait > self.settings.max_backoff)
        return too_long or state.attempt_number > self.settings.retries

    def _wait(self, key: tuple[str | int, ...], state: RetryCallState) -> float:
        """Seconds to wait: doubled with each request, jittered by the key, at least as
        requested."""
        longest = wait_exponential(self.settings.first_backoff, self.settings.max_backoff)(state)
        jitter = stream("back-off", *key, state.attempt_number).random()
        return max(_outcome(state).wait, longest * (1 + jitter) / 2)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):  # woken early when the batch is over
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


def _is_transient(outcome: Reply | Fault) -> bool:
    return isinstance(outcome, Fault) and outcome.kind is Kind.TRANSIENT


def _outcome(state: RetryCallState) -> Any:
    """The result of the last request."""
    assert state.outcome is not None
    return state.outcome.result()


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
