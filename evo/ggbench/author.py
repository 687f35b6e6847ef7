"""A chat model that writes games: a rule book, its program, its list of moves (section 2.2 and
appendices B.1 to B.3 of the paper), each in one request with one message; then its category.

An answer without a usable text ends its game; the stage and the reason are recorded. A failure of
the network ends the run instead, and no paid answer is paid again.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from evo.config.ggbench import GGBenchConfig
from evo.ggbench.game import CATEGORIES, MOST_BYTES, ProgramGame
from evo.ggbench.guest.main import STANDARD
from evo.ggbench.paid_answers import PaidAnswers, UnusableAnswerError, expense
from evo.ggbench.prompts import request
from evo.measure.players import chat_settings
from meta_sampler.chat.cache import CachedAnswer
from xgl.chat.accounting import Usage
from xgl.chat.answers import blocks, document, final_text
from xgl.chat.calls import RequestBatch
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError
from xgl.models.references import ChatName, parse

PROMPT_TOKENS, ANSWER_TOKENS = 6_500, 3_200
"""Tokens of one game's four requests, for texts as long as the paper's (Table 1)."""
SETTING = " (ggbench.author_tokens)"
"""The setting that bounds an answer."""
MODULES = ", ".join(STANDARD.split())
_LABELS = ("python", "py", "python3")
_CLASS = re.compile(r"^class\s+CustomEnv\b", re.MULTILINE)
_OPEN = re.compile(r"^[ \t]*(```|~~~)", re.M)


@dataclass(frozen=True)
class WrittenGame:
    """The texts of a game that were written. ``failure``: the stage at which a text is missing, and
    why."""

    game: ProgramGame
    failure: str | None
    usage: Usage


def find_chat_model(name: str, key: str, config: GGBenchConfig) -> ChatSettings:
    """The model that writes games, tries or sorts them. ``key``: the setting or flag that names it.

    Raises :class:`ConfigError`, and :class:`~xgl.errors.PlayerError` for a key that is missing.
    """
    model = parse(name, key)
    if not isinstance(model, ChatName):
        raise ConfigError(f"{key}: found {name!r}, expected chat:MODEL or chat:MODEL@URL")
    return chat_settings(model.model, model.url, config.chat)


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
                texts[index] = extract(whole_text(answer, self.settings.answer_tokens, SETTING))
            except UnusableAnswerError as error:
                failure = None if stage == "category" else f"{stage}: {error}"
                break
        rules, source, moves, kind = texts
        author = f"chat:{self.settings.model}"
        game = ProgramGame(f"written{number}", rules, source, moves, kind or None, author)
        return WrittenGame(game, failure, usage)


def whole_text(answer: CachedAnswer, most: int, setting: str = "") -> str:
    """The answer's text without thoughts. Raises :class:`UnusableAnswerError` for one that was cut
    or holds nothing."""
    text = final_text(answer.text.encode(errors="replace").decode())
    if answer.cut:
        raise UnusableAnswerError(f"the answer was cut at {most} tokens{setting}")
    if not text:
        held = "holds thoughts and nothing after them" if answer.text.strip() else "is empty"
        raise UnusableAnswerError(f"the answer {held}")
    if len(text.encode()) > MOST_BYTES:
        raise UnusableAnswerError(f"the answer is longer than {MOST_BYTES} bytes")
    return text


def prose(answer: str) -> str:
    """The rule book of an answer, or its list of moves. Raises :class:`UnusableAnswerError`."""
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
    """The program of an answer: its blocks of Python, joined; if none has that label, blocks
    without one, or any that are Python; or the whole answer if it is Python itself. Of several
    classes CustomEnv, the last counts: those before it are drafts.

    Raises :class:`UnusableAnswerError`. The filters judge the program.
    """
    found = list(blocks(answer))
    texts = (
        [block.text for block in found if block.label in _LABELS]
        or [block.text for block in found if not block.label]
        or [text for text in [block.text for block in found] or [answer] if _is_python(text)]
    )
    wholes = [place for place, text in enumerate(texts) if _CLASS.search(text)]
    texts = [text for place, text in enumerate(texts) if place not in wholes[:-1]]
    code = "\n\n".join(text.strip("\n") for text in texts).replace("\0", "")
    if not code.strip():
        is_cut = len(_OPEN.findall(answer)) % 2 == 1
        missing = "its block of Python does not end" if is_cut else "it holds no block of Python"
        raise UnusableAnswerError(missing)
    return code + "\n"


def _is_python(text: str) -> bool:
    """Whether it is a program with a class."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of the answer's syntax
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.ClassDef) for node in tree.body)
