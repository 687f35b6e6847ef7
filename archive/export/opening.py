"""What a player is asked first on a map, as a prompt of its own."""

from __future__ import annotations

from collections.abc import Sequence

from archive.export.exactness import TextsOf
from archive.export.maps import Map
from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.errors import JudgeError, OversizeError
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import (
    Item,
    Judge,
    Move,
    ScoreRequest,
    Seeds,
    TokenScores,
    TruthRequest,
    Turn,
)

_JOINED = {True: "with a space between", False: "as they are"}
_FIRST = {True: "every token", False: "every token but the first"}


class _Curious:
    """Ends the game where it is first asked, and keeps the question."""

    def __init__(self) -> None:
        self.turn: Turn | None = None

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turn = self.turn or turns[0]
        return [OversizeError("asked") for _ in turns]


class _Unasked:
    """A judge for what happens before the first move: mostly nothing."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        raise JudgeError("a score before the first move")

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        raise JudgeError("a truth before the first move")

    def count(self, text: str) -> int:
        raise JudgeError("tokens before the first move")

    def truncate(self, text: str, max_len: int) -> str:
        raise JudgeError("tokens before the first move")

    def first_tokens(self, text: str, tokens: int) -> str:
        raise JudgeError("tokens before the first move")


def opening(of: Game, role: str, one: Map) -> tuple[Item, ...] | None:
    """What `role`, playing alone, sees when it is first asked; None where that takes a judge."""
    judge: Judge = _Unasked()
    player = _Curious()
    seeds = Seeds(one.map_seed, 0)
    try:
        play_all([Instance(of, seeds)], Cast(judge, TextsOf([one]), {role: player}))
    except JudgeError:
        return None
    return player.turn.request.view.items if player.turn else None


def prompt(of: Game, role: str, items: Sequence[Item]) -> str:
    """The game's rules, what is in sight, and what to answer."""
    dialect = DIALECTS[of.dialect]
    told = [
        "You play a text game in which a language model, the judge, measures in bits how well "
        f"texts predict each other. You are {role}. The program of the game:",
        "",
        of.code,
        "",
        "Its rules, line by line:",
        *(f"{place}. {rule}" for place, rule in enumerate(in_words(of, role), 1)),
        f"Texts are joined by + {_JOINED[dialect.cat_space]}. A // B is what stands in A before "
        "the first B, A % B what stands after it. Of a predicted text "
        f"{_FIRST[dialect.scoring.first_token]} counts. More bits are better.",
        "",
        *(f"{item.label}: {item.text}" for item in items),
        "",
        _asked(of, role),
    ]
    return "\n".join(told)


def _asked(of: Game, role: str) -> str:
    asked = analyse(of.program, of.metadata, role).asked
    moves = sum(each.times for each in asked if each.player == role)
    if moves == 1:
        return "Write your move between <move> and </move>."
    return f"Write your {moves} moves in order, each between <move> and </move>."
