"""Chat models that write, play and sort games: prompts (App. B and D; their texts are in
``prompt_texts``), and answers, which are stored so that none is paid twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Template
from typing import TypeVar

from evo.config.measure import ChatConfig
from evo.ggbench.game import MOST_BYTES
from evo.measure.players import chat_settings
from meta_sampler.chat.sampler import AnswerCache, CachedAnswer, key_of
from xgl.chat.answers import final_text
from xgl.chat.calls import RequestBatch, UsageCounter, run
from xgl.chat.client import Endpoint, Fault, Message
from xgl.chat.settings import Budget, ChatSettings, Usage
from xgl.errors import ConfigError
from xgl.models.references import ChatName, parse

FOLDER = Path(__file__).parent / "prompt_texts"
Result = TypeVar("Result")


def find_chat_model(name: str, key: str, chat: ChatConfig) -> ChatSettings:
    """The model that writes games, tries or sorts them. ``key``: the setting or flag that names it.

    Raises :class:`ConfigError`, and :class:`~xgl.errors.PlayerError` for a key that is missing.
    """
    model = parse(name, key)
    if not isinstance(model, ChatName):
        raise ConfigError(f"{key}: found {name!r}, expected chat:MODEL or chat:MODEL@URL")
    return chat_settings(model.model, model.url, chat)


def prompt(name: str, **texts: object) -> str:
    """The prompt of a file, with these texts in it."""
    parts = {key: str(text).strip() for key, text in texts.items()}
    return Template((FOLDER / f"{name}.md").read_text("utf-8").strip()).substitute(parts)


def request(name: str, **texts: object) -> list[Message]:
    """The prompt as the only message."""
    return [{"role": "user", "content": prompt(name, **texts)}]


def expense(settings: ChatSettings, requests: int, prompt_tokens: int, new_tokens: int) -> str:
    """Estimated requests, tokens and dollars, in words."""
    dollars = settings.prices.of(prompt_tokens, new_tokens)
    cost = f", about {dollars:.2f} dollars" if settings.prices else ""
    tokens = f"about {prompt_tokens:,} prompt tokens and {new_tokens:,} of answers"
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
        self, batch: RequestBatch, messages: list[Message], *draw: str | int
    ) -> tuple[CachedAnswer, Usage]:
        """The answer and what it costs, whether it was paid for now or earlier.

        Raises :class:`UnusableAnswerError` for a request beyond the model's window.
        """
        key = key_of(self.settings, messages, *draw)
        answer = self.cache.get(key)
        if answer is None:
            reply, cost = await batch.reply(messages, *draw)
            if isinstance(reply, Fault):
                too_long = f"the request is too long for the model ({reply.message})"
                raise UnusableAnswerError(too_long)
            answer = CachedAnswer(reply.text, reply.cut, cost.prompt_tokens, cost.new_tokens, 0.0)
            self.cache.put(key, messages, answer)
        prompt, new = answer.prompt_tokens, answer.new_tokens
        dollars = self.settings.prices.of(prompt, new)
        return answer, Usage(requests=1, prompt_tokens=prompt, new_tokens=new, dollars=dollars)


def whole_text(answer: CachedAnswer, most: int) -> str:
    """The answer's text without thoughts. Raises :class:`UnusableAnswerError` for one that was cut
    (at ``most`` tokens), is empty or too long."""
    text = final_text(answer.text.encode(errors="replace").decode())
    if answer.cut:
        raise UnusableAnswerError(f"the answer was cut at {most} tokens")
    if not text:
        raise UnusableAnswerError("the answer is empty")
    if len(text.encode()) > MOST_BYTES:
        raise UnusableAnswerError(f"the answer is longer than {MOST_BYTES} bytes")
    return text
