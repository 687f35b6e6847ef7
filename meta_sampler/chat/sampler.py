"""The sampler ``chat``: a model behind an OpenAI-compatible endpoint invents games.

One request asks for a list of games; every program of the answer is checked, and what cannot be
used goes back once with all that is wrong with it. Given the cache of answers, proposals are a
function of state and arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from meta_sampler.base import BudgetReached, Outcome, Proposal, Provenance, SamplerError
from meta_sampler.chat.answers import MAX_ANSWER, Checked, Draft, checked, drafts
from meta_sampler.chat.cache import Answer, AnswerCache, key_of
from meta_sampler.chat.memory import Memory
from meta_sampler.chat.prompt import Brief, again, messages, prompt_hash
from meta_sampler.screening.soundness import KnownGames
from meta_sampler.settings import ChatSamplerSettings
from xgl import Game
from xgl.chat.accounting import Usage
from xgl.chat.calls import Meter, RequestBatch, run
from xgl.chat.client import Endpoint, Fault, Message, read_key
from xgl.errors import BudgetError, PlayerError, excerpt

Result = TypeVar("Result")
NAME = "chat"
INVENT = "invent"
"""Name under which a request for games stands in a proposal's provenance."""
ASKED_AGAIN = "asked again"
"""The repair of a program that went back with its errors."""
BETWEEN = "\n\n[asked again]\n\n"
"""Stands in ``raw`` between what was written first and what was written then."""
NO_PROGRAM = "no_program"
"""Fate of an answer that holds no program."""


class WindowError(Exception):
    """A prompt beyond the model's window."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens read and written, and seconds."""

    prompt: int = 0
    new: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.new + other.new, self.seconds + other.seconds)

    def share(self, place: int, parts: int) -> Cost:
        """One of ``parts`` shares; those of all places add up."""
        prompt, new = (n // parts + (place < n % parts) for n in (self.prompt, self.new))
        return Cost(prompt, new, self.seconds / parts)


@dataclass(frozen=True, slots=True)
class Slot:
    """One program on its way: where it stood, what became of it so far, what it cost."""

    draw: int
    place: int
    draft: Draft
    found: Checked
    cost: Cost
    repairs: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it may go back: it is a program, and something is wrong with it."""
        return self.found.game is None and self.found.fate != NO_PROGRAM


class Chat:
    """A :class:`~meta_sampler.base.MetaSampler` that asks, and remembers what was refused.

    Raises :class:`SamplerError` where the key is not in the environment. ``meter`` adds up what was
    asked, answers from the cache at what they cost when they were drawn.
    """

    def __init__(self, settings: ChatSamplerSettings | None = None) -> None:
        self.settings = settings or ChatSamplerSettings()
        self.endpoint = self.settings.endpoint()
        self.cache = AnswerCache(self.settings.folder())
        self.meter = Meter()
        self.memory = Memory()
        _told(self._key)

    def check(self) -> None:
        """Ask the endpoint one word, so that a wrong key, model or address is told at once; this
        counts towards no budget.

        Raises :class:`SamplerError`.
        """
        _told(self._asked_once)

    async def _key(self) -> None:
        read_key(self.endpoint)

    async def _asked_once(self) -> None:
        asked = [{"role": "user", "content": "Answer with the word yes."}]
        async with Endpoint(self.endpoint) as endpoint:
            await RequestBatch(self.endpoint, endpoint, Meter()).reply(asked, "check")

    def charge(self, tokens: int, dollars: float) -> None:
        """Count what an earlier session of the run has spent towards the budgets."""
        self.meter.count(Usage(prompt_tokens=tokens, dollars=dollars))

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        """At most ``n`` games, and what of the answers was none, with its errors.

        Raises :class:`SamplerError` where the endpoint refuses or stays silent after all retries,
        and :class:`BudgetReached`; answers that came before are in the cache.
        """
        chosen, library = self.settings, self.settings.library
        accepted = tuple(self.memory.relatives(parent, scope, chosen.relatives, seed))
        brief = Brief(parent, accepted, tuple(self.memory.refused(parent, chosen.refused)), n)
        while True:
            try:
                slots = _told(self._round, brief, library, seed)
                return list(self._proposals(slots, brief, library, (parent, *scope)))
            except WindowError as error:
                if not library and not brief.accepted and not brief.refused:
                    raise SamplerError(f"{self.endpoint.place}: {error}") from None
                library //= 2
                brief = replace(
                    brief,
                    accepted=brief.accepted[: len(brief.accepted) // 2],
                    refused=brief.refused[: len(brief.refused) // 2],
                )

    # -- asking --------------------------------------------------------------------------------

    async def _round(self, brief: Brief, library: int, seed: int) -> list[Slot]:
        """All answers to one brief, then what was sent back."""
        async with Endpoint(self.endpoint) as endpoint:
            batch = RequestBatch(self.endpoint, endpoint, self.meter)
            parts = _parts(brief.games, self.settings.per_request)
            work = (
                partial(self._drawn, batch, replace(brief, games=part), library, seed, draw)
                for draw, part in enumerate(parts)
            )
            slots = [slot for drawn in await batch.gather(work) for slot in drawn]
            for asking in range(1, 1 + self.settings.ask_again):
                slots = await batch.gather(
                    partial(self._mended, batch, brief, slot, seed, asking) for slot in slots
                )
            return slots

    async def _drawn(
        self, batch: RequestBatch, brief: Brief, library: int, seed: int, draw: int
    ) -> list[Slot]:
        conversation = messages(brief, self.settings, library)
        answer = await self._answer(batch, conversation, seed, draw)
        cost = Cost(answer.prompt_tokens, answer.new_tokens, answer.seconds)
        found = drafts(answer.text)[: brief.games]
        if not found:
            nothing = Checked("", None, ("the answer holds no program",), NO_PROGRAM)
            return [Slot(draw, 0, Draft("", "", excerpt(answer.text, MAX_ANSWER)), nothing, cost)]
        return [
            Slot(
                draw,
                place,
                draft,
                checked(draft.text, brief.parent, self.settings),
                cost.share(place, len(found)),
            )
            for place, draft in enumerate(found)
        ]

    async def _mended(
        self, batch: RequestBatch, brief: Brief, slot: Slot, seed: int, asking: int
    ) -> Slot:
        """The program as it came back; as it was where that is no better."""
        if not slot.open:
            return slot
        conversation = again(brief, self.settings, slot.draft.text, slot.found.errors)
        try:
            answer = await self._answer(batch, conversation, seed, slot.draw, slot.place, asking)
        except WindowError:
            return slot  # a program so long that it cannot be told back
        spent = slot.cost + Cost(answer.prompt_tokens, answer.new_tokens, answer.seconds)
        raw = f"{slot.draft.raw}{BETWEEN}{excerpt(answer.text, MAX_ANSWER)}"
        found = drafts(answer.text)[:1]
        draft = replace(found[0] if found else slot.draft, raw=raw, intent=slot.draft.intent)
        return replace(
            slot,
            draft=draft,
            found=checked(draft.text, brief.parent, self.settings),
            cost=spent,
            repairs=(*slot.repairs, ASKED_AGAIN),
        )

    async def _answer(self, batch: RequestBatch, asked: list[Message], *draw: int) -> Answer:
        """The answer from the cache, else from the endpoint. Raises :class:`WindowError`."""
        key = key_of(self.endpoint, asked, *draw)
        kept = self.cache.get(key)
        if kept is not None:
            dollars = self.endpoint.prices.of(kept.prompt_tokens, kept.new_tokens)
            tokens = {"prompt_tokens": kept.prompt_tokens, "new_tokens": kept.new_tokens}
            batch.meter.count(Usage(**tokens, dollars=dollars))
            return kept
        began = time.perf_counter()
        reply, spent = await batch.reply(asked, "games", prompt_hash(asked), *draw)
        if isinstance(reply, Fault):
            raise WindowError(reply.message)
        seconds = time.perf_counter() - began
        answer = Answer(reply.text, reply.cut, spent.prompt_tokens, spent.new_tokens, seconds)
        self.cache.put(key, asked, answer)
        return answer

    # -- proposals -----------------------------------------------------------------------------

    def _proposals(
        self, slots: Sequence[Slot], brief: Brief, library: int, games: Sequence[Game]
    ) -> Iterator[Proposal]:
        """In the order of draws and places; repetitions are refused."""
        known = KnownGames(games)
        for slot in slots:
            origin = self._origin(slot, brief, library)
            found = slot.found
            if found.game is None:
                yield Proposal(found.text, None, found.errors, origin, fate=found.fate)
            elif found.game in known:
                yield Proposal(found.text, None, ("a known game",), origin, fate="known")
            else:
                known.add(found.game)
                yield Proposal(found.text, found.game, (), origin)

    def _origin(self, slot: Slot, brief: Brief, library: int) -> Provenance:
        part = _parts(brief.games, self.settings.per_request)[slot.draw]
        asked = messages(replace(brief, games=part), self.settings, library)
        return Provenance(
            NAME,
            (INVENT,),
            brief.shown,
            model=self.settings.model,
            prompt_hash=prompt_hash(asked),
            raw=slot.draft.raw,
            repairs=(*slot.draft.repairs, *slot.repairs, *slot.found.repairs),
            tokens=slot.cost.prompt + slot.cost.new,
            seconds=slot.cost.seconds,
            dollars=self.endpoint.prices.of(slot.cost.prompt, slot.cost.new),
            intent=slot.draft.intent,
        )

    # -- memory --------------------------------------------------------------------------------

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Remember whose child was accepted, and what was refused and why."""
        self.memory.observe(outcomes)

    def state(self) -> dict[str, Any]:
        """What it was told; what it has spent is in the archive's rows."""
        return self.memory.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        self.memory.restore(state)


def _parts(games: int, most: int) -> list[int]:
    """How many games each request asks for: as few requests as can be, alike in size."""
    requests = -(-games // most)
    return [games // requests + (place < games % requests) for place in range(requests)]


def _told(work: Callable[..., Coroutine[Any, Any, Result]], *given: Any) -> Result:
    """What ``work`` gives; the client's errors as those of a sampler, without their traceback."""
    try:
        return run(work(*given))
    except BudgetError as error:
        raise BudgetReached(str(error)) from None
    except PlayerError as error:
        raise SamplerError(str(error)) from None
