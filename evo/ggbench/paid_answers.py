"""A chat model whose answers are stored, so that none is paid twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from meta_sampler.chat.cache import AnswerCache, CachedAnswer, key_of
from xgl.chat.accounting import Budget, Usage
from xgl.chat.calls import RequestBatch, UsageCounter, run
from xgl.chat.client import Endpoint, Fault, Message
from xgl.chat.settings import ChatSettings

Result = TypeVar("Result")


def expense(settings: ChatSettings, requests: int, prompt: int, new: int) -> str:
    """Estimated requests, tokens and dollars, in words."""
    cost = f", about {settings.prices.of(prompt, new):.2f} dollars" if settings.prices else ""
    tokens = f"about {prompt:,} prompt tokens and {new:,} of answers"
    return f"{requests:,} requests, {tokens}{cost}"


class UnusableAnswerError(Exception):
    """An answer without the text that was asked for; the message says what is missing."""


class PaidAnswers:
    """Answers lie in ``folder``; none is asked for beyond ``budget``."""

    def __init__(self, settings: ChatSettings, folder: Path, budget: Budget) -> None:
        self.settings = replace(settings, budget=budget)
        self.cache, self.meter = AnswerCache(folder), UsageCounter()

    def gather(self, work: Sequence[Callable[[RequestBatch], Awaitable[Result]]]) -> list[Result]:
        """The results of requests that are sent side by side.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer, and
        :class:`~xgl.errors.BudgetError`.
        """

        async def all_of_them() -> list[Result]:
            async with Endpoint(self.settings) as endpoint:
                batch = RequestBatch(self.settings, endpoint, self.meter)
                return await batch.gather(partial(each, batch) for each in work)

        return run(all_of_them()) if work else []

    async def answer(
        self,
        batch: RequestBatch,
        messages: list[Message],
        *draw: str | int,
        asked_again: bool = False,
    ) -> tuple[CachedAnswer, Usage]:
        """The answer and what it costs, whether it was paid for now or earlier.

        Raises :class:`UnusableAnswerError` for a request beyond the model's window.
        """
        key = key_of(self.settings, messages, *draw)
        answer = self.cache.get(key)
        if answer is None:
            reply, cost = await batch.reply(messages, *draw, asked_again=asked_again)
            if isinstance(reply, Fault):
                raise UnusableAnswerError(
                    f"the request is too long for the model ({reply.message})"
                )
            answer = CachedAnswer(reply.text, reply.cut, cost.prompt_tokens, cost.new_tokens, 0.0)
            self.cache.put(key, messages, answer)
        prompt, new = answer.prompt_tokens, answer.new_tokens
        dollars = self.settings.prices.of(prompt, new)
        return answer, Usage(requests=1, prompt_tokens=prompt, new_tokens=new, dollars=dollars)
