"""Kinds of games, which a chat model proposes and assigns (propose, assign, select; appendix D).

The model reads rule books in chunks and proposes kinds; it merges those that say the same; of each
game and kind it says whether they fit. Kinds are then selected so that each text is in one at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from evo.ggbench.author import PaidAnswers, UnusableAnswerError, whole_text
from evo.ggbench.game import ProgramGame
from evo.ggbench.prompts import assign_messages, merge_messages, propose_messages
from xgl.chat.accounting import Usage
from xgl.chat.answers import final_text
from xgl.chat.calls import RequestBatch, run
from xgl.chat.client import Endpoint, Message
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError, excerpt

CHUNK = 20
"""Rule books of one request for proposals."""
PROPOSALS = 8
"""Number of kinds to propose in each request."""
MOST_KIND = 400
"""Most characters of a kind."""
TOKENS_OF_RULES = 450
"""Tokens of a rule book, about: the length of the paper's after its filters (Table 1)."""
_YES_OR_NO = re.compile(r"(?:\W|the|my|final|answer|is)*\b(yes|no)\b")
_ITEM = re.compile(r"^[ \t]*(?:\d{1,4}[.):]|[-*•])[ \t]+(\S.*)$", re.M)


@dataclass(frozen=True)
class KindsOfGames:
    """``belongs`` (games, kinds): the model's answers; ``unclear``: number of answers that were
    neither yes nor no, which count as no."""

    kinds: tuple[str, ...]
    belongs: NDArray[np.bool_]
    clusters: Clusters
    unclear: int
    usage: Usage


def estimate(settings: ChatSettings, games: int) -> str:
    """Largest cost of sorting ``games`` games, in words."""
    chunks = -(-games // CHUNK)
    kinds = chunks * PROPOSALS
    requests = chunks + 1 + games * kinds
    prompt = games * TOKENS_OF_RULES * (1 + kinds) + 60 * requests
    new = 2 * 40 * kinds + 2 * games * kinds
    cost = f", about {settings.prices.of(prompt, new):.2f} dollars" if settings.prices else ""
    return (
        f"{settings.model} sorts {games} games into at most {kinds} kinds: {requests:,} requests, "
        f"about {prompt:,} prompt tokens and {new:,} of answers{cost}; thoughts of a reasoning "
        "model come on top"
    )


class Sorter(PaidAnswers):
    """Proposes kinds and says which games belong to them."""

    def sort(self, games: Sequence[ProgramGame], count: int | None = None) -> KindsOfGames:
        """Sort games into kinds. ``count``: number of clusters; None: as many as pay.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer or no list,
        :class:`~xgl.errors.BudgetError`, and ValueError if no such clusters share no game.
        """
        try:
            kinds, usage = run(self._kinds(games))
            answers, cost = run(self._assignments(games, kinds))
        except UnusableAnswerError as error:
            raise PlayerError(f"{self.settings.model}: {error}") from None
        belongs = np.array([each is True for each in answers]).reshape(len(games), len(kinds))
        unclear = sum(each is None for each in answers)
        return KindsOfGames(tuple(kinds), belongs, select(belongs, count), unclear, usage + cost)

    async def _kinds(self, games: Sequence[ProgramGame]) -> tuple[list[str], Usage]:
        chunks = [games[at : at + CHUNK] for at in range(0, len(games), CHUNK)]
        async with Endpoint(self.settings) as endpoint:
            batch = RequestBatch(self.settings, endpoint, self.meter)
            requests = [
                propose_messages([game.rules for game in chunk], PROPOSALS) for chunk in chunks
            ]
            lists = await batch.gather(
                partial(self._list, batch, messages, "propose", index)
                for index, messages in enumerate(requests)
            )
            proposals = list(dict.fromkeys(kind for names, _ in lists for kind in names))
            [(kinds, cost)] = await batch.gather(
                [partial(self._list, batch, merge_messages(proposals), "merge", 0)]
            )
        return kinds, sum((usage for _, usage in lists), cost)

    async def _list(
        self, batch: RequestBatch, messages: list[Message], stage: str, place: int
    ) -> tuple[list[str], Usage]:
        answer, usage = await self.answer(batch, messages, stage, place)
        return items(whole_text(answer, self.settings.answer_tokens)), usage

    async def _assignments(
        self, games: Sequence[ProgramGame], kinds: Sequence[str]
    ) -> tuple[list[bool | None], Usage]:
        async with Endpoint(self.settings) as endpoint:
            batch = RequestBatch(self.settings, endpoint, self.meter)
            answers = await batch.gather(
                partial(self._belongs, batch, game.rules, kind)
                for game, kind in product(games, kinds)
            )
        return [answer for answer, _ in answers], sum((usage for _, usage in answers), Usage())

    async def _belongs(
        self, batch: RequestBatch, rules: str, kind: str
    ) -> tuple[bool | None, Usage]:
        answer, usage = await self.answer(batch, assign_messages(rules, kind), "assign")
        return yes(answer.text), usage


def items(answer: str) -> list[str]:
    """The items of a list, each once. Raises :class:`UnusableAnswerError` for none.

    >>> items("Sure:\\n1. **Card game**: cards are played.\\n2) Race: be first.")
    ['Card game: cards are played.', 'Race: be first.']
    """
    kinds = [excerpt(line.replace("**", "").strip(), MOST_KIND) for line in _ITEM.findall(answer)]
    if not kinds:
        raise UnusableAnswerError(f"found no list in {excerpt(answer, 60)!r}")
    return list(dict.fromkeys(kinds))


def yes(answer: str) -> bool | None:
    """True for yes, False for no, None for neither.

    >>> [yes(text) for text in ("Yes", "no.", "**Answer: Yes**, it is.", "Perhaps")]
    [True, False, True, None]
    """
    word = _YES_OR_NO.match(final_text(answer).lower())
    return None if word is None else word[1] == "yes"


PRICE = 0.5
"""Price of a cluster, in texts, where their number is free."""


@dataclass(frozen=True)
class Clusters:
    """``columns``: of the chosen explanations; ``members``: for each text its cluster's column,
    None for a text outside all clusters."""

    columns: tuple[int, ...]
    members: tuple[int | None, ...]

    @property
    def covered_count(self) -> int:
        """Number of texts in a cluster."""
        return sum(each is not None for each in self.members)


def select(belongs: NDArray[np.bool_], count: int | None = None) -> Clusters:
    """The clusters that leave the fewest texts uncovered, by an integer linear program.

    ``belongs`` (texts, explanations): which text an explanation fits. A chosen explanation holds
    all texts that it fits, and no text may stand in two. ``count``: exactly so many clusters;
    None: as many as pay, each at the price of half a text. Raises ValueError if there is no
    such choice.
    """
    texts, explanations = belongs.shape
    sizes = belongs.sum(axis=0).astype(float)
    rules = [LinearConstraint(belongs.astype(float), ub=np.ones(texts))]
    if count is not None:
        rules.append(LinearConstraint(np.ones((1, explanations)), lb=count, ub=count))
    cost = -sizes if count is not None else PRICE - sizes
    solution = milp(cost, integrality=np.ones(explanations), bounds=Bounds(0, 1), constraints=rules)
    if solution.x is None:
        raise ValueError(f"found no {count} explanations that share no text")
    columns = tuple(int(column) for column in np.flatnonzero(np.round(solution.x)))
    return Clusters(columns, members(belongs, columns))


def members(belongs: NDArray[np.bool_], columns: Sequence[int]) -> tuple[int | None, ...]:
    """For each text the column of its cluster, None if it has none."""
    return tuple(next((column for column in columns if row[column]), None) for row in belongs)
