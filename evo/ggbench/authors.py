"""A chat model that writes games: a rule book, its implementation, its action description (section
2.1 and appendices B.1 to B.3 of the paper), each in one request with one message; then its
category (Table 2).

An answer without a usable text ends its game; the stage and the reason are recorded. A failure of
the network ends the run instead, and no paid answer is paid again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from evo.ggbench.chat import PaidAnswers, UnusableAnswerError, expense, request, whole_text
from evo.ggbench.game import CATEGORIES, ProgramGame
from evo.ggbench.guest.main import STANDARD
from xgl.chat.answers import blocks, document
from xgl.chat.calls import RequestBatch
from xgl.chat.settings import ChatSettings, Usage

PROMPT_TOKENS, ANSWER_TOKENS = 6_500, 3_200
"""Tokens of one game's four requests, for texts as long as the paper's (Table 1)."""
MODULES = ", ".join(STANDARD.split())
_LABELS = ("python", "py", "python3")
_CLASS = re.compile(r"^class\s+CustomEnv\b", re.MULTILINE)
WrittenGame = tuple[ProgramGame, str | None, Usage]
"""The texts that were written; the stage at which one is missing, and why; what they cost."""


def estimate(settings: ChatSettings, count: int) -> str:
    """Estimated cost of ``count`` games, as text."""
    cost = expense(settings, 4 * count, count * PROMPT_TOKENS, count * ANSWER_TOKENS)
    return (
        f"{settings.model} writes {count} games: {cost}; a reasoning model's thoughts come on top, "
        f"at most {4 * count * settings.answer_tokens:,} tokens of answers in all"
    )


class Author(PaidAnswers):
    """Writes games."""

    def write(self, numbers: Sequence[int]) -> list[WrittenGame]:
        """The games of these numbers, in their order.

        Raises :class:`~xgl.errors.PlayerError` if the endpoint gives no answer, and
        :class:`~xgl.errors.BudgetError`.
        """
        return self.gather([partial(self._game, number) for number in numbers])

    async def _game(self, number: int, batch: RequestBatch) -> WrittenGame:
        texts, usage, failure = ["", "", "", ""], Usage(), None
        stages = {"rules": prose, "program": program, "moves": prose, "category": category}
        for index, (stage, extract) in enumerate(stages.items()):
            known = {"rules": texts[0], "program": texts[1], "modules": MODULES}
            try:
                messages = request(stage, **known)
                answer, cost = await self.answer(batch, messages, "write", stage, number)
                usage += cost
                texts[index] = extract(whole_text(answer, self.settings.answer_tokens))
            except UnusableAnswerError as error:
                failure = None if stage == "category" else f"{stage}: {error}"
                break
        rules, source, moves, kind = texts
        author = f"chat:{self.settings.model}"
        game = ProgramGame(f"written{number}", rules, source, moves, kind or None, author)
        return game, failure, usage


def prose(answer: str) -> str:
    """The rule book of an answer, or its action description. Raises
    :class:`~evo.ggbench.chat.UnusableAnswerError`."""
    text = document(answer).replace("\0", "").strip()
    if not text:
        raise UnusableAnswerError("the answer is empty")
    return text


def category(answer: str) -> str:
    """The first of the paper's categories (Table 2) that an answer names."""
    words = re.findall(r"[a-z]+", answer.lower())
    named = next((word for word in words if word in CATEGORIES), None)
    if named is None:
        raise UnusableAnswerError(f"expected one of {', '.join(CATEGORIES)}")
    return named


def program(answer: str) -> str:
    """The program of an answer: its blocks of Python, joined; if none has that label, the blocks,
    or the whole answer, with the class CustomEnv.

    Raises :class:`~evo.ggbench.chat.UnusableAnswerError`. The filters judge the program.
    """
    found = list(blocks(answer))
    texts = [block.text for block in found if block.label in _LABELS]
    if not texts:
        others = [*(block.text for block in found), answer]
        texts = [text for text in others if _CLASS.search(text)][:1]
    code = "\n\n".join(text.strip("\n") for text in texts).replace("\0", "")
    if not code.strip():
        raise UnusableAnswerError("it holds no whole block of Python")
    return code + "\n"
