"""The sampler ``chat``: a model behind an OpenAI-compatible endpoint invents games.

One request asks for a list of games; every program of the answer is checked. Given the cache of
answers, proposals are a function of state and arguments.

Paid answers are on disk, one small file each, named by the request. The key is everything that
an answer depends on: endpoint and model, messages, sampling parameters, the seed of the round
and the place of the draw within it. A resumed run makes the same requests and pays nothing;
another round, or another draw of this one, has another key. So has another endpoint: a server
may call any model by a famous name.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter

from meta_sampler.base import (
    Fate,
    MetaSampler,
    Outcome,
    Progress,
    Proposal,
    Provenance,
    SamplerError,
    prompt_hash,
)
from meta_sampler.chat_texts import MAX_ANSWER, Brief, messages, programs_in
from meta_sampler.settings import ChatSamplerSettings
from meta_sampler.soundness import KnownGames, child_of
from xgl.chat.client import ChatClient, Fault, Message, RequestBatch, ask_once, read_key
from xgl.chat.settings import ChatSettings, Usage
from xgl.errors import excerpt
from xgl.files import read_bytes, read_json, user_path
from xgl.language.canonical import Game
from xgl.language.syntax import MAIN_PLAYER
from xgl.random_streams import stream

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
        "reasoning_effort": settings.reasoning_effort,
        "extra_body": settings.extra_body,
        "draw": list(draw),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


class UnusableAnswerError(Exception):
    """An answer without the text that was asked for; the message says what is missing."""


class PaidAnswers(ChatClient):
    """Answers of one endpoint, none of which is paid for twice: they lie in ``folder``; None: none
    are stored. ``usage`` adds up their cost, that of stored ones included. Several processes may
    write."""

    def __init__(self, settings: ChatSettings, folder: Path | None) -> None:
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
        if answer := self.stored(key):
            prompt, new = answer.prompt_tokens, answer.new_tokens
            dollars = self.settings.dollars(prompt, new)
            usage = Usage(requests=1, prompt_tokens=prompt, new_tokens=new, dollars=dollars)
            self.usage += replace(usage, requests=0)
            return answer, usage
        reply, usage = await batch.reply(messages, *draw)
        if isinstance(reply, Fault):
            too_long = f"the request is too long for the model ({reply.message})"
            raise UnusableAnswerError(too_long)
        cost = usage.prompt_tokens, usage.new_tokens, time.perf_counter() - began
        answer = CachedAnswer(reply.text, reply.cut, *cost)
        self._store(key, messages, answer)
        return answer, usage

    def stored(self, key: str) -> CachedAnswer | None:
        """The answer; None if there is none, or if its file is damaged."""
        if (path := self._path(key)) is None:
            return None
        try:
            record = read_json(read_bytes(path))
            return _ANSWER.validate_python(record["answer"])
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


NAME = "chat"
MOST_REFUSED = 200
"""Refusals that are remembered; the oldest are forgotten first."""


class Chat(PaidAnswers, MetaSampler):
    """A sampler that remembers what was refused.

    Raises :class:`~xgl.errors.PlayerError` if the key is not in the environment.
    """

    settings: ChatSamplerSettings

    def __init__(self, settings: ChatSamplerSettings | None = None) -> None:
        settings = settings or ChatSamplerSettings()
        folder = None if settings.cache is None else user_path(settings.cache)
        if settings.cache == "auto":
            from xgl.models.smollm2 import cache_root

            folder = cache_root() / "chat"
        super().__init__(settings, folder)
        self._refusals: list[Outcome] = []
        read_key(settings)

    def check(self) -> None:
        """By one short request, which counts towards no budget."""
        ask_once([self.settings])

    def charge(self, tokens: int, dollars: float) -> None:
        self.usage += Usage(prompt_tokens=tokens, dollars=dollars)

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """At most ``n`` proposals; those that cannot be used have no game, and a reason.

        Raises as :meth:`gather`, and :class:`SamplerError` if the endpoint finds the prompt too
        long; answers received before are in the cache.
        """
        others = [g for g in scope if g.dialect == parent.dialect and g.game_id != parent.game_id]
        order = stream("relatives", parent.game_id, seed).permutation(len(others))
        relatives = [others[int(index)] for index in order[: self.settings.related_games]]
        # The parent's own before all others; the newest of both first.
        refusals = sorted(self._refusals, key=lambda each: each.parent_id != parent.game_id)
        brief = Brief(parent, relatives, refusals[: self.settings.refused_games], n, role)
        requests = max(1, -(-n // self.settings.games))
        each, larger = divmod(n, requests)  # alike in size
        briefs = [brief._replace(games=each + (draw < larger)) for draw in range(requests)]
        work = [partial(self._draw, own, seed, draw) for draw, own in enumerate(briefs)]
        answers = self.gather(work)
        known_games = KnownGames((parent, *scope))
        return [known_games.checked(child) for children in answers for child in children]

    async def _draw(
        self, brief: Brief, seed: int, draw: int, batch: RequestBatch
    ) -> list[Proposal]:
        """The programs of the answer to one request, the first with its cost."""
        request = messages(brief, self.settings)
        try:
            answer, usage = await self.answer(batch, request, seed, draw)
        except UnusableAnswerError as error:
            raise SamplerError(f"{self.settings.place}: {error}") from None
        shown = tuple(game.game_id for game in (brief.parent, *brief.accepted_games))
        origin = Provenance(NAME, ("invent",), shown, self.settings.model, prompt_hash(request))
        children = []
        for program in programs_in(answer.text)[-brief.games :]:  # drafts come first
            about = replace(origin, raw=program.raw, intent=program.intent)
            children.append(child_of(program.text, brief.parent, self.settings, about, brief.role))
        if not children:
            about = replace(origin, raw=excerpt(answer.text, MAX_ANSWER))
            nothing = ("the answer holds no program",)
            children = [Proposal("", None, nothing, about, Fate.NO_PROGRAM)]
        first, *others = children
        tokens, dollars, seconds = usage.tokens, usage.dollars, answer.seconds
        paid = replace(first.provenance, tokens=tokens, dollars=dollars, seconds=seconds)
        return [replace(first, provenance=paid), *others]

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Remember each refusal, newest first."""
        newest = [x for x in reversed(outcomes) if x.code and x.progress is not Progress.ACCEPTED]
        self._refusals = [*newest, *self._refusals][:MOST_REFUSED]
