"""Paid answers on disk: one small file each, named by the request.

The key is everything that an answer depends on: endpoint and model, messages, sampling parameters,
the seed of the round and the place of the draw within it. A resumed run makes the same requests and
pays nothing; another round, or another draw of this one, has another key. So has another endpoint:
a server may call any model by a famous name.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter

from meta_sampler.base import SamplerError
from xgl.chat.client import Message
from xgl.chat.settings import ChatSettings
from xgl.files import read_bytes, read_json, user_path

_VERSION = 2
LATER = ("reasoning_effort", "extra_body")
"""Parameters that earlier releases did not have: without them, answers have their old names."""


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
    """Name of the answer to ``messages`` under ``draw``; it does not depend on the key of an
    account."""
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
        **{name: value for name in LATER if (value := getattr(settings, name))},
        "draw": list(draw),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def cache_folder(setting: str | None) -> Path | None:
    """The folder of answers for the setting ``cache``; None if none are stored."""
    if setting == "auto":
        from xgl.models.smollm2 import cache_root

        return cache_root() / "chat"
    return None if setting is None else user_path(setting)


class AnswerCache:
    """Answers below ``folder``; if it is None, none are stored. Several processes may write."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def get(self, key: str) -> CachedAnswer | None:
        """The answer; None if there is none, or if its file is damaged."""
        if self.folder is None:
            return None
        try:
            record = read_json(read_bytes(self._path(key)))
            return _ANSWER.validate_python(record["answer"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, messages: Sequence[Message], answer: CachedAnswer) -> None:
        """Store an answer with its request: whole or not at all.

        Raises :class:`SamplerError` if the folder cannot be written.
        """
        if self.folder is None:
            return
        path = self._path(key)
        record = {"messages": list(messages), "answer": asdict(answer)}
        aside = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".partial")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(record, file, ensure_ascii=False)
            os.replace(aside, path)
        except OSError as error:
            if aside is not None:
                with suppress(OSError):
                    os.unlink(aside)
            raise SamplerError(
                f"cache: {self.folder} cannot be written ({error.strerror}), expected a folder "
                "for answers that were paid for"
            ) from None

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"
