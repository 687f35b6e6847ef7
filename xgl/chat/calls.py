"""Requests of one batch: a limited number at once, retried after temporary faults, within a
budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, wait_exponential

from xgl.chat.client import (
    Endpoint,
    Fault,
    Kind,
    Message,
    Reply,
    one_line,
    served_models,
)
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
            costs.append(self._cost(tokens, asked_again=asked_again, retry=bool(costs)))
            self.meter.count(costs[-1])
            return outcome

        return await self.persist(send, *key), sum(costs, Usage())

    async def persist(
        self, send: Callable[[], Awaitable[Result | Fault]], *key: str | int
    ) -> Result | Fault:
        """The outcome of ``send``, which is called again after faults that may pass; only the fault
        of a request beyond the model's window is one. Raises as :meth:`reply`."""

        async def send_if_open() -> Result | Fault:
            self._check_open()
            return await send()

        retrying = AsyncRetrying(
            retry=retry_if_result(_is_transient),
            stop=self._gives_up,
            wait=partial(self._wait, key),
            sleep=self._sleep,
            before_sleep=self._say_retry,
            retry_error_callback=_outcome,
        )
        outcome: Result | Fault = await retrying(send_if_open)
        if isinstance(outcome, Fault) and outcome.kind is not Kind.OVERSIZE:
            count = retrying.statistics["attempt_number"]
            raise PlayerError(f"{self.settings.place}: {self._reason(outcome, count)}")
        return outcome

    def _check_open(self) -> None:
        """Raises if no further request may be sent."""
        if self.failure is not None:
            raise self.failure
        self.settings.budget.check(self.meter.usage)

    def _cost(self, tokens: tuple[int, int] | None, *, asked_again: bool, retry: bool) -> Usage:
        prompt, new = tokens or (0, 0)
        return Usage(
            requests=1,
            retries=int(retry),
            asked_again=int(asked_again and not retry),
            unmetered=int(tokens is None),
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

    def _say_retry(self, state: RetryCallState) -> None:
        tries = f"request {state.attempt_number + 1} of {self.settings.retries + 1}"
        pause = f"{state.upcoming_sleep:.1f} seconds"
        reason = _outcome(state).message
        log.warning("%s: %s; %s follows in %s", self.settings.place, reason, tries, pause)

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


# -- before a run ----------------------------------------------------------------------------------

QUESTION = [{"role": "user", "content": "Answer with the word yes."}]
MODELS_SECONDS = 10.0
"""For the list of its models, which an endpoint has at hand, even while the model itself loads."""
RETRIES = 2
"""Most of the question: a run that has not begun loses nothing if it ends."""


def ask_once(endpoints: Iterable[ChatSettings]) -> None:
    """Send one short request to each endpoint, so that no run begins with a wrong key, model or
    address; it counts towards no budget.

    Raises :class:`PlayerError`.
    """
    run(_ask_all(dict.fromkeys(endpoints)))


async def _ask_all(endpoints: Iterable[ChatSettings]) -> None:
    for error in await asyncio.gather(*map(_ask, endpoints), return_exceptions=True):
        if error is not None:
            raise error


async def _ask(settings: ChatSettings) -> None:
    settings = replace(settings, retries=min(RETRIES, settings.retries), budget=Budget())
    async with Endpoint(settings) as endpoint:
        models = await endpoint.request("models", seconds=MODELS_SECONDS)
        if isinstance(models, Fault) and models.kind is Kind.TRANSIENT and models.status is None:
            raise PlayerError(f"{settings.place}: {models.message}")

        async def send() -> Reply | Fault:
            return (await endpoint.send(QUESTION, seed("chat", "check", bits=SEED_BITS)))[0]

        batch = RequestBatch(settings, endpoint, UsageCounter())
        try:
            outcome = await batch.persist(send, "check")
        except PlayerError as error:
            names = served_models(models) if isinstance(models, bytes) else []
            is_unknown = names and settings.model not in names
            hint = f"; it serves {one_line(', '.join(names))}" if is_unknown else ""
            raise PlayerError(f"{error}{hint}") from None
        if isinstance(outcome, Fault):  # the question is short: its answer would be too long
            raise PlayerError(f"{settings.place}: {outcome.message}; lower its answer_tokens")


def _is_transient(outcome: object) -> bool:
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
