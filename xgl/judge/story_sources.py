"""Sources of the texts of maps (docs/specification.md, "Maps"): a corpus, or a model that writes.

Even map seeds are for training, odd ones for evaluation. A corpus is
divided in the same way, so training and evaluation share neither a seed nor a text.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from xgl.chat.answers import final_text
from xgl.chat.calls import RequestBatch, UsageCounter, run
from xgl.chat.client import Endpoint, Fault, follow_up
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError, StoryError, excerpt
from xgl.judge.story_files import WRITERS
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import retry_in_halves
from xgl.lm.sampling import sample, stop_tokens
from xgl.models.corpus import divided
from xgl.models.smollm2 import cache_root
from xgl.random_streams import stream
from xgl.runtime.requests import StoryRequest


class CorpusStories:
    """Passages of a corpus that begin at a sentence; each text belongs to one division.

    ``truncate(text, tokens)`` cuts to judge tokens. The sites of one map tell different texts.
    """

    def __init__(self, texts: Sequence[str], truncate: Callable[[str, int], str]) -> None:
        self.truncate = truncate
        self.divisions = divided(texts)

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A passage for each (map seed, request), a function of both. Raises :class:`StoryError`
        for a request with a prompt: passages are there, and follow none."""
        for _, request in requests:
            if request.prompt:
                prompt = excerpt(request.prompt, 60)
                raise StoryError(f"a corpus cannot follow the prompt {prompt!r}, {WRITERS}")
        return [self._passage(request.map_of(seed), request) for seed, request in requests]

    def _passage(self, map_seed: int, request: StoryRequest) -> str:
        texts = self.divisions[map_seed & 1]
        first = int(stream("map", map_seed).integers(len(texts)))
        # Sites step through the corpus by a seventh of it, so that the few of one map never meet.
        text = texts[(first + request.site * (1 + len(texts) // 7)) % len(texts)]
        # Sentences with enough after them, and the beginning always.
        ends = [match.end() for match in re.finditer(r"[.!?]\s+|[。！？।]\s*", text)]
        starts = [0, *(end for end in ends if len(text) - end >= 4 * request.tokens)]
        start = starts[int(stream("site", map_seed, request.site).integers(len(starts)))]
        return self.truncate(text[start:], request.tokens).strip()


STORY_ROWS = 64
"""Stories that are written at once."""


class JudgeStories:
    """Stories that a model of this machine writes at temperature 1, one for each map and site: the
    judge's own, or another one.

    ``truncate(text, tokens)`` cuts to judge tokens.
    """

    def __init__(self, lm: LanguageModel, truncate: Callable[[str, int], str]) -> None:
        self.lm = lm
        self.truncate = truncate
        self._stops = stop_tokens(lm, "\n")
        self._texts: dict[tuple[int, StoryRequest], str] = {}

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A story for each (map seed, request); each is written once."""
        requests = [(request.map_of(seed), request) for seed, request in requests]
        new = [key for key in dict.fromkeys(requests) if key not in self._texts]
        for first in range(0, len(new), STORY_ROWS):
            batch = new[first : first + STORY_ROWS]
            texts = retry_in_halves(self._write, batch, "stories to write")
            self._texts.update(zip(batch, texts, strict=True))
        return [self._texts[key] for key in requests]

    def forget(self) -> None:
        """Drop the stories written so far: they change the batches of later ones."""
        self._texts.clear()

    def _write(self, batch: Sequence[tuple[int, StoryRequest]]) -> list[str]:
        limits = [request.tokens for _, request in batch]
        prompts = [(self.lm.bos, *self.lm.encode(request.prompt)) for _, request in batch]
        uniforms = [stream("story", seed, r.site).random(max(limits)) for seed, r in batch]
        continuations = sample(self.lm, prompts, limits, np.stack(uniforms), self._stops)
        texts = [
            " ".join(self.lm.decode(continuation.ids).split()) for continuation in continuations
        ]
        return [self.truncate(text, limit) for text, limit in zip(texts, limits, strict=True)]


INSTRUCTION = (
    "Write what is asked for, as plain text on one line: no title, no comment, no quotation marks "
    "around it. At most {tokens} tokens."
)
LENGTH = 64
"""Least tokens that a chat model is asked for."""
USUAL = "the beginning of a short story about something that others would not write about"
"""What is asked for where a program names nothing."""


class ChatStories:
    """Texts that a chat model writes, one for each map and site.

    A chat model does not repeat itself, and every worker needs the same text: the first text
    that comes is kept below ``folder`` and is the text from then on.
    """

    def __init__(
        self,
        settings: ChatSettings,
        truncate: Callable[[str, int], str],
        folder: Path | None = None,
    ) -> None:
        self.settings, self.truncate = settings, truncate
        self.folder = folder or cache_root() / "stories"
        self.meter = UsageCounter()

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """A text for each (map seed, request); each is asked for once.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint does not answer, and
        :class:`StoryError` if it writes nothing.
        """
        requests = [(request.map_of(seed), request) for seed, request in requests]
        keys = {key: self._path(*key) for key in dict.fromkeys(requests)}
        if new := {path: key for key, path in keys.items() if not path.exists()}:
            run(self._write([*new.values()]))
        texts = {key: path.read_text(encoding="utf-8") for key, path in keys.items()}
        return [self.truncate(texts[key], key[1].tokens).strip() for key in requests]

    def _path(self, map_seed: int, request: StoryRequest) -> Path:
        model = self.settings.base_url.rstrip("/"), self.settings.model
        # Games that take less of a map's text take the beginning of the same one.
        asked = request.site, max(LENGTH, request.tokens), request.prompt
        key = json.dumps([*model, map_seed, *asked])
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.txt"

    async def _write(self, keys: Sequence[tuple[int, StoryRequest]]) -> list[str]:
        async with Endpoint(self.settings) as endpoint:
            batch = RequestBatch(self.settings, endpoint, self.meter)
            return await batch.gather(partial(self._ask, batch, *key) for key in keys)

    async def _ask(self, batch: RequestBatch, map_seed: int, request: StoryRequest) -> str:
        system = INSTRUCTION.format(tokens=max(LENGTH, request.tokens))
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": request.prompt or USUAL},
        ]
        for attempt in range(1 + self.settings.ask_again):
            reply, _ = await batch.reply(messages, map_seed, request.site, attempt)
            if isinstance(reply, Fault):
                raise PlayerError(f"{self.settings.place}: {reply.message}")
            if text := " ".join(final_text(reply.text).split()):
                _keep_first(self._path(map_seed, request), text)
                return text
            messages = follow_up(messages, reply.text, "There was no text. Write one.")
        raise StoryError(f"{self.settings.place}: no text in its answers, expected one")


def _keep_first(path: Path, text: str) -> None:
    """Write a file that no other process has written yet, whole. Raises :class:`StoryError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        aside.write_text(text, encoding="utf-8")
        with suppress(FileExistsError):
            os.link(aside, path)  # fails where there is one, unlike a rename
        aside.unlink()
    except OSError as error:
        raise StoryError(
            f"{path.parent} cannot be written ({error.strerror}), expected a folder for the texts "
            "that a chat model writes"
        ) from None
