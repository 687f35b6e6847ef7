"""Answers of models behind endpoints that are paid for once.

They are on disk, one small file each, named by everything that an answer depends on: endpoint (a
server may call any model by a famous name), model, messages, sampling parameters, and the draw.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter

from xgl.chat.client import ChatClient, Fault, Message, RequestBatch
from xgl.chat.settings import ChatSettings, Usage
from xgl.files import read_bytes, read_json

_VERSION = 3


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A model's answer, with its cost in tokens read and written, and in seconds."""

    text: str
    cut: bool
    prompt_tokens: NonNegativeInt
    new_tokens: NonNegativeInt
    seconds: float


_ANSWER = TypeAdapter(CachedAnswer)


def key_of(settings: ChatSettings, messages: Sequence[Message], *draw: str | int) -> str:
    """Name of the answer to ``messages`` under ``draw``, whatever the account's key is."""
    request = {
        "version": _VERSION,
        "endpoint": settings.base_url.rstrip("/"),
        "model": settings.model,
        "messages": list(messages),
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "answer_tokens": settings.answer_tokens,
        "limit": settings.limit_name,
        "seeded": settings.send_seed,
        "reasoning_effort": settings.reasoning_effort,
        "extra_body": settings.extra_body,
        "draw": list(draw),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


class UnusableAnswerError(Exception):
    """An answer without the text that was asked for; the message says what is missing."""


class PaidAnswers(ChatClient):
    """Answers of one endpoint, none paid for twice: they lie in ``folder``; None: none are stored.
    ``usage`` adds up their cost, that of stored ones included. Several processes may write."""

    def __init__(self, settings: ChatSettings, folder: Path | None = None) -> None:
        super().__init__(settings)
        self.folder = folder

    async def answer(
        self, batch: RequestBatch, messages: list[Message], *draw: str | int
    ) -> tuple[CachedAnswer, Usage]:
        """The answer and what it costs, whether it was paid for now or earlier.

        Raises :class:`UnusableAnswerError` for a request beyond the model's window, and OSError if
        the folder cannot be written.
        """
        key, began = key_of(self.settings, messages, *draw), time.perf_counter()
        async with batch.asked[key]:  # equal requests of a batch are one, as they are after a kill
            if answer := self.stored(key):
                tokens = answer.prompt_tokens, answer.new_tokens
                usage = Usage(1, *tokens, self.settings.dollars(*tokens))
                self.usage += replace(usage, requests=0)
                return answer, usage
            reply, usage = await batch.reply(messages, *draw)
            if isinstance(reply, Fault):
                too_long = f"the request is too long for the model ({reply.message})"
                raise UnusableAnswerError(too_long)
            cost = usage.prompt_tokens, usage.new_tokens, time.perf_counter() - began
            answer = CachedAnswer(reply.text, reply.cut, *cost)
            self._store(key, messages, answer)
            return answer, replace(usage, requests=1)  # as a stored one: retries gave no answer

    def stored(self, key: str) -> CachedAnswer | None:
        """The answer; None if there is none, or if its file is damaged."""
        if (path := self._path(key)) is None:
            return None
        try:
            return _ANSWER.validate_python(read_json(read_bytes(path))["answer"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _store(self, key: str, messages: Sequence[Message], answer: CachedAnswer) -> None:
        """Write an answer with its request: whole or not at all."""
        if (path := self._path(key)) is None:
            return
        record = {"messages": list(messages), "answer": asdict(answer)}
        aside = path.with_suffix(f".{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        os.replace(aside, path)

    def _path(self, key: str) -> Path | None:
        return self.folder and self.folder / key[:2] / f"{key}.json"
