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

from evo.ggbench.author import whole_text
from evo.ggbench.game import ProgramGame
from evo.ggbench.paid_answers import PaidAnswers, UnusableAnswerError, expense
from evo.ggbench.prompts import request
from xgl.chat.accounting import Usage
from xgl.chat.answers import final_text
from xgl.chat.calls import RequestBatch
from xgl.chat.client import Message
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
    """``belongs`` (games, kinds): the model's answers; ``columns``: the kinds that were chosen;
    ``unclear``: number of answers that were neither yes nor no, which count as no."""

    kinds: tuple[str, ...]
    belongs: NDArray[np.bool_]
    columns: tuple[int, ...]
    unclear: int
    usage: Usage


def estimate(settings: ChatSettings, games: int) -> str:
    """Largest cost of sorting ``games`` games, in words."""
    chunks = -(-games // CHUNK)
    kinds = chunks * PROPOSALS
    requests = chunks + 1 + games * kinds
    prompt = games * TOKENS_OF_RULES * (1 + kinds) + 60 * requests
    cost = expense(settings, requests, prompt, 2 * 40 * kinds + 2 * games * kinds)
    return (
        f"{settings.model} sorts {games} games into at most {kinds} kinds: {cost}; thoughts of a "
        "reasoning model come on top"
    )


class Sorter(PaidAnswers):
    """Proposes kinds and says which games belong to them."""

    def sort(self, games: Sequence[ProgramGame], count: int | None = None) -> KindsOfGames:
        """Sort games into kinds. ``count``: number of clusters; None: as many as pay.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer or no list,
        :class:`~xgl.errors.BudgetError`, and ValueError if no such clusters share no game.
        """
        chunks = [games[at : at + CHUNK] for at in range(0, len(games), CHUNK)]
        texts = ["\n\n---\n\n".join(game.rules.strip() for game in each) for each in chunks]
        requests = [request("propose", rules=text, count=PROPOSALS) for text in texts]
        try:
            lists = self.gather(
                [partial(self._list, messages, "propose", i) for i, messages in enumerate(requests)]
            )
            proposals = list(dict.fromkeys(kind for names, _ in lists for kind in names))
            lines = (f"{index}. {kind}" for index, kind in enumerate(proposals, start=1))
            merging = request("merge", kinds="\n".join(lines))
            lists += self.gather([partial(self._list, merging, "merge", 0)])
            kinds = lists[-1][0]
            answers = self.gather(
                [partial(self._belongs, game, kind) for game, kind in product(games, kinds)]
            )
        except UnusableAnswerError as error:
            raise PlayerError(f"{self.settings.model}: {error}") from None
        belongs = np.array([yes is True for yes, _ in answers]).reshape(len(games), len(kinds))
        unclear = sum(yes is None for yes, _ in answers)
        usage = sum((cost for _, cost in [*lists, *answers]), Usage())
        return KindsOfGames(tuple(kinds), belongs, select(belongs, count), unclear, usage)

    async def _list(
        self, messages: list[Message], stage: str, place: int, batch: RequestBatch
    ) -> tuple[list[str], Usage]:
        answer, usage = await self.answer(batch, messages, stage, place)
        return items(whole_text(answer, self.settings.answer_tokens)), usage

    async def _belongs(
        self, game: ProgramGame, kind: str, batch: RequestBatch
    ) -> tuple[bool | None, Usage]:
        messages = request("assign", rules=game.rules, kind=kind)
        answer, usage = await self.answer(batch, messages, "assign")
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


def select(belongs: NDArray[np.bool_], count: int | None = None) -> tuple[int, ...]:
    """The clusters that leave the fewest texts uncovered, by an integer linear program.

    ``belongs`` (texts, explanations): which text an explanation fits. A chosen explanation holds
    all texts that it fits, and no text may stand in two. ``count``: exactly so many clusters;
    None: as many as pay, each at the price of half a text. Returns the chosen columns. Raises
    ValueError if there is no such choice.
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
    return tuple(int(column) for column in np.flatnonzero(np.round(solution.x)))
