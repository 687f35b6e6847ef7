"""The sampler ``chat``: a model behind an OpenAI-compatible endpoint invents games.

One request asks for a list of games; every program of the answer is checked. Given the cache of
answers, proposals are a function of state and arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from meta_sampler import base
from meta_sampler.chat_texts import MAX_ANSWER, Brief, messages, programs_in
from meta_sampler.settings import ChatSamplerSettings
from meta_sampler.soundness import KnownGames, child_of
from xgl.chat.client import RequestBatch, ask_once, read_key
from xgl.chat.paid_answers import PaidAnswers, UnusableAnswerError
from xgl.chat.settings import Usage
from xgl.errors import excerpt
from xgl.files import user_path
from xgl.language.canonical import Game
from xgl.language.syntax import MAIN_PLAYER
from xgl.random_streams import stream

NAME = "chat"
MOST_REFUSED = 200
"""Refusals that are remembered; the oldest are forgotten first."""


class Chat(PaidAnswers, base.MetaSampler):
    """A sampler that remembers what was refused. Raises :class:`~xgl.errors.PlayerError` if the key
    is not in the environment."""

    settings: ChatSamplerSettings

    def __init__(self, settings: ChatSamplerSettings | None = None) -> None:
        settings = settings or ChatSamplerSettings()
        folder = None if settings.cache is None else user_path(settings.cache)
        if settings.cache == "auto":
            from xgl.models.smollm2 import cache_root

            folder = cache_root() / "chat"
        super().__init__(settings, folder)
        self._refusals: list[base.Outcome] = []
        read_key(settings)

    def check(self) -> None:
        """By one short request, which counts towards no budget."""
        ask_once([self.settings])

    def charge(self, sampler: str, tokens: int, dollars: float) -> None:
        self.usage += Usage(prompt_tokens=tokens, dollars=dollars)

    def spent(self) -> Usage:
        return self.usage

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[base.Proposal]:
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
    ) -> list[base.Proposal]:
        """The programs of the answer to one request, the first with its cost."""
        request = messages(brief, self.settings)
        try:
            answer, usage = await self.answer(batch, request, seed, draw)
        except UnusableAnswerError as error:
            raise base.SamplerError(f"{self.settings.place}: {error}") from None
        shown = tuple(game.game_id for game in (brief.parent, *brief.accepted_games))
        model, hashed = self.settings.model, base.prompt_hash(request)
        origin = base.Provenance(NAME, ("invent",), shown, model, hashed)
        children = []
        for program in programs_in(answer.text)[-brief.games :]:  # drafts come first
            about = replace(origin, raw=program.raw, intent=program.intent)
            children.append(child_of(program.text, brief.parent, self.settings, about, brief.role))
        if not children:
            about = replace(origin, raw=excerpt(answer.text, MAX_ANSWER))
            nothing = ("the answer holds no program",)
            children = [base.Proposal("", None, nothing, about, base.Fate.NO_PROGRAM)]
        first, *others = children
        tokens, dollars, seconds = usage.tokens, usage.dollars, answer.seconds
        paid = replace(first.provenance, tokens=tokens, dollars=dollars, seconds=seconds)
        return [replace(first, provenance=paid), *others]

    def observe(self, outcomes: Sequence[base.Outcome]) -> None:
        """Remember each refusal, newest first."""
        new = [x for x in reversed(outcomes) if x.code and x.progress is not base.Progress.ACCEPTED]
        self._refusals = [*new, *self._refusals][:MOST_REFUSED]
