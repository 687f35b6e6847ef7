"""Goal-driven clusters of games (propose, assign, select; appendix D).

A chat model reads rule books in chunks and proposes explanations of clusters; it merges those that
say the same; of each game and explanation it says whether they fit. Clusters are then selected so
that each game is in one at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from evo.ggbench.chat import PaidAnswers, UnusableAnswerError, request, whole_text
from evo.ggbench.game import ProgramGame
from xgl.chat.answers import final_text
from xgl.chat.calls import RequestBatch
from xgl.chat.client import Message
from xgl.chat.settings import Usage
from xgl.errors import PlayerError, excerpt

CHUNK, PROPOSALS = 20, 8
"""Rule books of one request for proposals, and the explanations that it asks for."""
MOST_TEXT = 400
"""Most characters of an explanation."""
PRICE = 0.5
"""Price of a cluster, in games left out, where their number is free."""
_YES = re.compile(r"(?:\W|the|my|final|answer|is)*\byes\b")
_ITEM = re.compile(r"^[ \t]*(?:\d{1,4}[.):]|[-*•])[ \t]+(\S.*)$", re.M)


class Clusters(NamedTuple):
    """``belongs`` (games, explanations): the model's answers; ``chosen``: the explanations that
    became clusters."""

    explanations: list[str]
    belongs: NDArray[np.bool_]
    chosen: tuple[int, ...]
    usage: Usage


class Clusterer(PaidAnswers):
    """Proposes explanations and says which games belong to them."""

    def sort(self, games: Sequence[ProgramGame], count: int | None = None) -> Clusters:
        """Sort games. ``count``: number of clusters; None: as many as pay.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer or no list,
        :class:`~xgl.errors.BudgetError`, and ValueError if no such clusters share no game.
        """
        chunks = [games[at : at + CHUNK] for at in range(0, len(games), CHUNK)]
        texts = ["\n\n---\n\n".join(game.rules.strip() for game in each) for each in chunks]
        requests = [request("propose", rules=text, count=PROPOSALS) for text in texts]
        works = [partial(self._list, each, "propose", i) for i, each in enumerate(requests)]
        lists = self.gather(works)
        proposals = dict.fromkeys(kind for names, _ in lists for kind in names)
        lines = (f"{index}. {kind}" for index, kind in enumerate(proposals, start=1))
        merging = request("merge", kinds="\n".join(lines))
        [merged] = self.gather([partial(self._list, merging, "merge", 0)])
        kinds = merged[0]
        pairs = [partial(self._belongs, game, kind) for game, kind in product(games, kinds)]
        answers = self.gather(pairs)
        belongs = np.array([fits for fits, _ in answers]).reshape(len(games), len(kinds))
        usage = sum((cost for _, cost in [*lists, merged, *answers]), Usage())
        return Clusters(kinds, belongs, select(belongs, count), usage)

    async def _list(
        self, messages: list[Message], stage: str, place: int, batch: RequestBatch
    ) -> tuple[list[str], Usage]:
        try:
            answer, usage = await self.answer(batch, messages, stage, place)
            return items(whole_text(answer, self.settings.answer_tokens)), usage
        except UnusableAnswerError as error:
            raise PlayerError(f"{self.settings.model}: {error}") from None

    async def _belongs(
        self, game: ProgramGame, kind: str, batch: RequestBatch
    ) -> tuple[bool, Usage]:
        messages = request("assign", rules=game.rules, kind=kind)
        answer, usage = await self.answer(batch, messages, "assign")
        return yes(answer.text), usage


def items(answer: str) -> list[str]:
    """The items of a list, each once. Raises :class:`~evo.ggbench.chat.UnusableAnswerError` for
    none.

    >>> items("Sure:\\n1. **Card game**: cards are played.\\n2) Race: be first.")
    ['Card game: cards are played.', 'Race: be first.']
    """
    kinds = [excerpt(line.replace("**", "").strip(), MOST_TEXT) for line in _ITEM.findall(answer)]
    if not kinds:
        raise UnusableAnswerError(f"found no list in {excerpt(answer, 60)!r}")
    return list(dict.fromkeys(kinds))


def yes(answer: str) -> bool:
    """Whether an answer begins with yes.

    >>> [yes(text) for text in ("Yes", "no.", "**Answer: Yes**, it is.", "Perhaps")]
    [True, False, True, False]
    """
    return _YES.match(final_text(answer).lower()) is not None


def select(belongs: NDArray[np.bool_], count: int | None = None) -> tuple[int, ...]:
    """The clusters that leave the fewest games uncovered, by an integer linear program.

    ``belongs`` (games, explanations): which game an explanation fits. A chosen explanation holds
    all games that it fits, and no game may stand in two. ``count``: exactly so many clusters;
    None: as many as pay, each at the price of half a game. Returns the chosen columns. Raises
    ValueError if there is no such choice.
    """
    games, explanations = belongs.shape
    sizes = belongs.sum(axis=0).astype(float)
    rules = [LinearConstraint(belongs.astype(float), ub=np.ones(games))]
    if count is not None:
        rules.append(LinearConstraint(np.ones((1, explanations)), lb=count, ub=count))
    cost = -sizes if count is not None else PRICE - sizes
    solution = milp(cost, integrality=np.ones(explanations), bounds=Bounds(0, 1), constraints=rules)
    if solution.x is None:
        raise ValueError(f"found no {count} explanations that share no text")
    return tuple(int(column) for column in np.flatnonzero(np.round(solution.x)))
