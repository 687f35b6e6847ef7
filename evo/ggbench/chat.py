"""Chat models that write, play and sort games: prompts (App. B and D; their texts are in
``prompt_texts``), and answers, which are stored so that none is paid twice.

A failure of the network ends a run; an answer without a usable text ends its game, or the sorting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evo.ggbench.game import MOST_BYTES, ProgramGame
from evo.ggbench.guest.serve import STANDARD
from xgl.chat.answers import blocks, document, final_text
from xgl.chat.client import Message, RequestBatch
from xgl.chat.paid_answers import CachedAnswer, PaidAnswers, UnusableAnswerError
from xgl.chat.settings import ChatSettings, Usage
from xgl.errors import PlayerError, excerpt
from xgl.escaping import well_formed

FOLDER = Path(__file__).parent / "prompt_texts"


def usage_row(usage: Usage, settings: ChatSettings | None) -> dict[str, Any]:
    """The columns ``tokens`` and ``dollars``: missing where nothing was asked, or has no price."""
    is_priced = usage.requests and settings is not None and settings.has_prices
    dollars = usage.dollars if is_priced else None
    return {"tokens": usage.tokens if usage.requests else None, "dollars": dollars}


def prompt(name: str, **texts: object) -> str:
    """The prompt of a file, with these texts in it."""
    parts = {key: str(text).strip() for key, text in texts.items()}
    return Template((FOLDER / f"{name}.md").read_text("utf-8").strip()).substitute(parts)


def request(name: str, **texts: object) -> list[Message]:
    """The prompt as the only message."""
    return [{"role": "user", "content": prompt(name, **texts)}]


def whole_text(answer: CachedAnswer, most: int) -> str:
    """The answer's text without thoughts. Raises :class:`UnusableAnswerError` for one that was cut
    (at ``most`` tokens) or is too long."""
    text = final_text(well_formed(answer.text))
    if answer.cut:
        raise UnusableAnswerError(f"the answer was cut at {most} tokens")
    if len(text.encode()) > MOST_BYTES:
        raise UnusableAnswerError(f"the answer is longer than {MOST_BYTES} bytes")
    return text


# -- an author (section 2.1, App. B.1 to B.3) ------------------------------------------------------

MODULES = ", ".join(STANDARD.split())
_LABELS = ("python", "py", "python3")
_CLASS = re.compile(r"^class\s+CustomEnv\b", re.MULTILINE)
WrittenGame = tuple[ProgramGame, str | None, Usage]
"""The texts that were written; the stage at which one is missing, and why; what they cost."""


class Author(PaidAnswers):
    def write(self, numbers: Sequence[int]) -> list[WrittenGame]:
        """The games of these numbers, in their order. Raises :class:`~xgl.errors.PlayerError` if
        the endpoint gives no answer, and :class:`~xgl.errors.BudgetError`."""
        return self.gather([partial(self._game, number) for number in numbers])

    async def _game(self, number: int, batch: RequestBatch) -> WrittenGame:
        texts, usage, failure = ["", "", ""], Usage(), None
        stages = {"rules": prose, "program": program, "moves": prose}
        for index, (stage, extract) in enumerate(stages.items()):
            known = {"rules": texts[0], "program": texts[1], "modules": MODULES}
            try:
                messages = request(stage, **known)
                answer, cost = await self.answer(batch, messages, "write", stage, number)
                usage += cost
                texts[index] = extract(whole_text(answer, self.settings.answer_tokens))
            except UnusableAnswerError as error:
                failure = f"{stage}: {error}"
                break
        rules, source, moves = texts
        author = f"chat:{self.settings.model}"
        return ProgramGame(f"written{number}", rules, source, moves, None, author), failure, usage


def prose(answer: str) -> str:
    """The rule book of an answer, or its action description. Raises
    :class:`UnusableAnswerError`."""
    text = document(answer).replace("\0", "").strip()
    if not text:
        raise UnusableAnswerError("the answer is empty")
    return text


def program(answer: str) -> str:
    """The program of an answer: its blocks of Python, joined; if none has that label, the blocks,
    or the whole answer, with the class CustomEnv. Raises :class:`UnusableAnswerError`. The filters
    judge the program."""
    found = list(blocks(answer))
    texts = [block.text for block in found if block.label in _LABELS]
    if not texts:
        others = [*(block.text for block in found), answer]
        texts = [text for text in others if _CLASS.search(text)][:1]
    code = "\n\n".join(text.strip("\n") for text in texts).replace("\0", "")
    if not code.strip():
        raise UnusableAnswerError("it holds no whole block of Python")
    return code + "\n"


# -- kinds of games (App. D) -----------------------------------------------------------------------

CHUNK, PROPOSALS = 20, 8
"""Rule books of one request for proposals, and the explanations that it asks for."""
ATTEMPTS = 3
"""Answers without a usable text after which the sorting ends."""
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
    """Proposes explanations from chunks of rule books, merges those that say the same, and says
    which games belong to them."""

    def sort(self, games: Sequence[ProgramGame], count: int | None = None) -> Clusters:
        """Sort games. ``count``: number of clusters; None: as many as pay. Raises
        :class:`~xgl.errors.PlayerError` if the endpoint gives no answer or no list,
        :class:`~xgl.errors.BudgetError`, and ValueError if no such clusters share no game."""
        chunks = [games[at : at + CHUNK] for at in range(0, len(games), CHUNK)]
        texts = ["\n\n---\n\n".join(game.rules.strip() for game in each) for each in chunks]
        requests = [request("propose", rules=text, count=PROPOSALS) for text in texts]
        works = [partial(self._ask, each, items, "propose", i) for i, each in enumerate(requests)]
        lists = self.gather(works)
        proposals = dict.fromkeys(kind for names, _ in lists for kind in names)
        lines = (f"{index}. {kind}" for index, kind in enumerate(proposals, start=1))
        merging = request("merge", kinds="\n".join(lines))
        [(kinds, merged)] = self.gather([partial(self._ask, merging, items, "merge", 0)])
        pairs = [request("assign", rules=g.rules, kind=kind) for g, kind in product(games, kinds)]
        answers = self.gather([partial(self._ask, each, yes, "assign", 0) for each in pairs])
        belongs = np.array([fits for fits, _ in answers]).reshape(len(games), len(kinds))
        usage = sum((cost for _, cost in [*lists, *answers]), merged)
        return Clusters(kinds, belongs, select(belongs, count), usage)

    async def _ask(
        self,
        messages: list[Message],
        extract: Callable[[str], Any],
        stage: str,
        place: int,
        batch: RequestBatch,
    ) -> tuple[Any, Usage]:
        """What the first usable answer holds, and the cost of all."""
        usage, reason = Usage(), ""
        for attempt in range(ATTEMPTS):
            try:
                answer, cost = await self.answer(batch, messages, stage, place, attempt)
                usage += cost
                return extract(whole_text(answer, self.settings.answer_tokens)), usage
            except UnusableAnswerError as error:
                reason = str(error)
        raise PlayerError(f"ggbench.cluster_model: {reason} {ATTEMPTS} times; expected another one")


def items(answer: str) -> list[str]:
    """The items of a list, each once, at most 400 characters of each. Raises
    :class:`UnusableAnswerError` for none.

    >>> items("Sure:\\n1. **Card game**: cards are played.\\n2) Race: be first.")
    ['Card game: cards are played.', 'Race: be first.']
    """
    kinds = [excerpt(line.replace("**", "").strip(), 400) for line in _ITEM.findall(answer)]
    if not kinds:
        raise UnusableAnswerError(f"found no list in {excerpt(answer, 60)!r}")
    return list(dict.fromkeys(kinds))


def yes(answer: str) -> bool:
    """Whether an answer begins with yes.

    >>> [yes(text) for text in ("Yes", "no.", "**Answer: Yes**, it is.", "Perhaps")]
    [True, False, True, False]
    """
    return _YES.match(answer.lower()) is not None


def select(belongs: NDArray[np.bool_], count: int | None = None) -> tuple[int, ...]:
    """The clusters that leave the fewest games uncovered, by an integer linear program.

    ``belongs`` (games, explanations): which game an explanation fits. A chosen explanation holds
    all games that it fits, and no game may stand in two. ``count``: exactly so many clusters;
    None: as many as pay, each at the price of half a game. Returns the chosen columns. Raises
    ValueError if there is no such choice.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load

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
