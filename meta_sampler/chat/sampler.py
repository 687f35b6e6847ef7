"""The sampler ``chat``: a model behind an OpenAI-compatible endpoint invents games.

One request asks for a list of games; every program of the answer is checked, and one that cannot be
used is sent back once with all its problems. Given the cache of answers, proposals are a function
of state and arguments.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from meta_sampler.base import BudgetReachedError, Fate, Outcome, Proposal, Provenance, SamplerError
from meta_sampler.chat.answers import (
    MAX_ANSWER,
    ProgramText,
    ReadProgram,
    candidate,
    programs_in,
)
from meta_sampler.chat.cache import AnswerCache, CachedAnswer, cache_folder, key_of
from meta_sampler.chat.prompt import Brief, OutcomeHistory, hash_of, messages, repair_messages
from meta_sampler.screening.soundness import KnownGames
from meta_sampler.settings import ChatSamplerSettings
from xgl.chat.calls import RequestBatch, UsageCounter, ask_once, run
from xgl.chat.client import Endpoint, Fault, Message, read_key
from xgl.chat.settings import Usage
from xgl.errors import BudgetError, PlayerError, excerpt
from xgl.language.canonical import Game
from xgl.language.syntax import MAIN_PLAYER

NAME = "chat"
INVENT = "invent"
"""Name of a request for games in a proposal's provenance."""
ASKED_AGAIN = "asked again"
"""Name of the repair: the program was sent back with its errors."""
BETWEEN = "\n\n[asked again]\n\n"
"""Separates the first version from the second one in ``raw``."""


class WindowError(Exception):
    """A prompt does not fit the model's window."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """Tokens read and written, and seconds."""

    prompt: int
    new: int
    seconds: float

    @staticmethod
    def of(answer: CachedAnswer) -> RequestCost:
        """The cost of an answer."""
        return RequestCost(answer.prompt_tokens, answer.new_tokens, answer.seconds)

    def __add__(self, other: RequestCost) -> RequestCost:
        return RequestCost(
            self.prompt + other.prompt, self.new + other.new, self.seconds + other.seconds
        )

    def share(self, place: int, parts: int) -> RequestCost:
        """One of ``parts`` shares; those of all places add up."""
        prompt, new = (n // parts + (place < n % parts) for n in (self.prompt, self.new))
        return RequestCost(prompt, new, self.seconds / parts)


@dataclass(frozen=True, slots=True)
class AnswerSlot:
    """The program at one ``place`` of the answer to request ``draw``, with its cost so far."""

    draw: int
    place: int
    program: ProgramText
    candidate: ReadProgram
    cost: RequestCost
    repairs: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it may be sent back: it is a program, and it has a problem."""
        return self.candidate.game is None and self.candidate.fate is not Fate.NO_PROGRAM


class Chat:
    """A :class:`~meta_sampler.base.MetaSampler` that remembers what was accepted and refused.

    Raises :class:`SamplerError` if the key is not in the environment. ``meter`` adds up the cost of
    answers; those from the cache count with their original cost.
    """

    def __init__(self, settings: ChatSamplerSettings | None = None) -> None:
        self.settings = settings or ChatSamplerSettings()
        self.endpoint = self.settings.endpoint()
        self.cache = AnswerCache(cache_folder(self.settings.cache))
        self.meter = UsageCounter()
        self.history = OutcomeHistory()
        with _sampler_errors():
            read_key(self.endpoint)

    def check(self) -> None:
        """Send one short request, so that a run with a wrong key, model or address does not begin;
        it counts towards no budget.

        Raises :class:`SamplerError`.
        """
        with _sampler_errors():
            ask_once([self.endpoint])

    def charge(self, tokens: int, dollars: float) -> None:
        """Count what an earlier session of the run has spent towards the budgets."""
        self.meter.count(Usage(prompt_tokens=tokens, dollars=dollars))

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """At most ``n`` proposals; those that cannot be used have no game, and a reason.

        Raises :class:`SamplerError` if the endpoint refuses or does not answer after all retries,
        and :class:`BudgetReachedError`; answers received before are in the cache.
        """
        settings, library = self.settings, self.settings.library_games
        relatives = tuple(self.history.relatives(parent, scope, settings.related_games, seed))
        refusals = tuple(self.history.refusals(parent, settings.refused_games))
        brief = Brief(parent, relatives, refusals, n, role)
        while True:
            try:
                with _sampler_errors():
                    slots = run(self._round(brief, library, seed))
                return list(self._proposals(slots, brief, library, (parent, *scope)))
            except WindowError as error:
                if not library and not brief.accepted_games and not brief.refusals:
                    raise SamplerError(f"{self.endpoint.place}: {error}") from None
                library //= 2
                brief = replace(
                    brief,
                    accepted_games=brief.accepted_games[: len(brief.accepted_games) // 2],
                    refusals=brief.refusals[: len(brief.refusals) // 2],
                )

    # -- requests ------------------------------------------------------------------------------

    async def _round(self, brief: Brief, library: int, seed: int) -> list[AnswerSlot]:
        """The programs of all answers to one brief, after repairs."""
        async with Endpoint(self.endpoint) as endpoint:
            batch = RequestBatch(self.endpoint, endpoint, self.meter)
            work = (
                partial(self._draw, batch, part, library, seed, draw)
                for draw, part in enumerate(self._parts(brief))
            )
            slots = [slot for answer in await batch.gather(work) for slot in answer]
            for attempt in range(1, 1 + self.settings.ask_again):
                slots = await batch.gather(
                    partial(self._repair, batch, brief, slot, seed, attempt) for slot in slots
                )
            return slots

    def _parts(self, brief: Brief) -> list[Brief]:
        """The brief of each request: as few requests as can be, alike in size."""
        requests = -(-brief.games // self.settings.per_request)
        each, larger = divmod(brief.games, requests) if requests else (0, 0)
        return [replace(brief, games=each + (draw < larger)) for draw in range(requests)]

    async def _draw(
        self, batch: RequestBatch, brief: Brief, library: int, seed: int, draw: int
    ) -> list[AnswerSlot]:
        """The programs of the answer to one request."""
        answer = await self._answer(batch, messages(brief, self.settings, library), seed, draw)
        cost = RequestCost.of(answer)
        programs = programs_in(answer.text)[-brief.games :]  # drafts come first
        if not programs:
            nothing = ReadProgram("", None, ("the answer holds no program",), Fate.NO_PROGRAM)
            raw = excerpt(answer.text, MAX_ANSWER)
            return [AnswerSlot(draw, 0, ProgramText("", "", raw), nothing, cost)]
        shares = [cost.share(place, len(programs)) for place in range(len(programs))]
        return [
            AnswerSlot(draw, place, program, self._candidate(program, brief), share)
            for place, (program, share) in enumerate(zip(programs, shares, strict=True))
        ]

    async def _repair(
        self, batch: RequestBatch, brief: Brief, slot: AnswerSlot, seed: int, attempt: int
    ) -> AnswerSlot:
        """The program after one repair; unchanged if the answer holds none."""
        if not slot.open:
            return slot
        request = repair_messages(brief, self.settings, slot.program.text, slot.candidate.errors)
        try:
            answer = await self._answer(batch, request, seed, slot.draw, slot.place, attempt)
        except WindowError:
            return slot  # a program so long that it cannot be sent back
        raw = f"{slot.program.raw}{BETWEEN}{excerpt(answer.text, MAX_ANSWER)}"
        repaired_program = [slot.program, *programs_in(answer.text)][-1]
        program = replace(repaired_program, raw=raw, intent=slot.program.intent)
        return replace(
            slot,
            program=program,
            candidate=self._candidate(program, brief),
            cost=slot.cost + RequestCost.of(answer),
            repairs=(*slot.repairs, ASKED_AGAIN),
        )

    def _candidate(self, program: ProgramText, brief: Brief) -> ReadProgram:
        return candidate(program.text, brief.parent, self.settings, brief.role)

    async def _answer(
        self, batch: RequestBatch, request: list[Message], *draw: int
    ) -> CachedAnswer:
        """The answer from the cache, else from the endpoint. Raises :class:`WindowError`."""
        key = key_of(self.endpoint, request, *draw)
        cached_answer = self.cache.get(key)
        if cached_answer is not None:
            dollars = self.endpoint.prices.of(cached_answer.prompt_tokens, cached_answer.new_tokens)
            tokens = {
                "prompt_tokens": cached_answer.prompt_tokens,
                "new_tokens": cached_answer.new_tokens,
            }
            batch.meter.count(Usage(**tokens, dollars=dollars))
            return cached_answer
        began = time.perf_counter()
        reply, usage = await batch.reply(request, "games", hash_of(request), *draw)
        if isinstance(reply, Fault):
            raise WindowError(reply.message)
        seconds = time.perf_counter() - began
        answer = CachedAnswer(reply.text, reply.cut, usage.prompt_tokens, usage.new_tokens, seconds)
        self.cache.put(key, request, answer)
        return answer

    # -- proposals -----------------------------------------------------------------------------

    def _proposals(
        self, slots: Sequence[AnswerSlot], brief: Brief, library: int, games: Sequence[Game]
    ) -> Iterator[Proposal]:
        """Proposals in the order of draws and places; repetitions are refused."""
        known_games = KnownGames(games)
        for slot in slots:
            origin = self._origin(slot, brief, library)
            text, new = slot.candidate.text, slot.candidate.game
            if new is None:
                yield Proposal(text, None, slot.candidate.errors, origin, slot.candidate.fate)
            elif new in known_games:
                yield Proposal(text, None, ("a known game",), origin, Fate.KNOWN)
            else:
                known_games.add(new)
                yield Proposal(text, new, (), origin)

    def _origin(self, slot: AnswerSlot, brief: Brief, library: int) -> Provenance:
        request = messages(self._parts(brief)[slot.draw], self.settings, library)
        return Provenance(
            NAME,
            (INVENT,),
            brief.shown_ids,
            model=self.settings.model,
            prompt_hash=hash_of(request),
            raw=slot.program.raw,
            repairs=(*slot.program.repairs, *slot.repairs, *slot.candidate.repairs),
            tokens=slot.cost.prompt + slot.cost.new,
            seconds=slot.cost.seconds,
            dollars=self.endpoint.prices.of(slot.cost.prompt, slot.cost.new),
            intent=slot.program.intent,
        )

    # -- history -------------------------------------------------------------------------------

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Remember whose child was accepted, and what was refused and why."""
        self.history.observe(outcomes)

    def state(self) -> dict[str, Any]:
        """The history of outcomes; the sampler's costs are in the archive's rows."""
        return self.history.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        self.history.restore(state)


@contextmanager
def _sampler_errors() -> Iterator[None]:
    """The client's errors as those of a sampler, without their traceback."""
    try:
        yield
    except BudgetError as error:
        raise BudgetReachedError(str(error)) from None
    except PlayerError as error:
        raise SamplerError(str(error)) from None
