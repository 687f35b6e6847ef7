"""A deterministic judge and stories behind the protocols."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xgl.errors import OversizeError
from xgl.language.syntax import PLAYERS
from xgl.runtime import requests as ask
from xgl.runtime.lockstep import Cast
from xgl.runtime.presentation import render

_TOKEN = re.compile(r"\s*\S+|\s+$")


def number(*key: object) -> int:
    """An integer below 2^32 named by a key."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big")


@dataclass
class WordJudge:
    """A token is a word with the space before it; its bits depend on all text before it.

    Bits are whole eighths, so sums are exact. Requests of more than ``window`` tokens are
    oversize. Statements that no rule decides are true as ``believes`` says.
    """

    window: int = 10_000
    believes: Callable[[str], bool] = lambda statement: "bad" not in statement
    scored: list[list[ask.ScoreRequest]] = field(default_factory=list)
    judged: list[list[ask.TruthRequest]] = field(default_factory=list)

    def score(self, requests: list[ask.ScoreRequest]) -> list[ask.TokenScores | OversizeError]:
        self.scored.append(requests)
        return [self._score(request) for request in requests]

    def _score(self, request: ask.ScoreRequest) -> ask.TokenScores | OversizeError:
        before = [token for part in request.context for token in _TOKEN.findall(part)]
        tokens = _TOKEN.findall(request.text)
        if len(before) + len(tokens) > self.window:
            return OversizeError("too long for the judge")
        bits = tuple(
            number(request.scoring.bos, before, tokens[: index + 1]) % 128 / 8
            for index in range(len(tokens))
        )
        return ask.TokenScores(bits if request.scoring.first_token else bits[1:])

    def truths(self, requests: list[ask.TruthRequest]) -> list[bool | OversizeError]:
        self.judged.append(requests)
        return [self._truth(request) for request in requests]

    def _truth(self, request: ask.TruthRequest) -> bool | OversizeError:
        if self.count(request.statement) > self.window:
            return OversizeError("too long for the judge")
        return self.believes(request.statement)

    def count(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def truncate(self, text: str, max_len: int) -> str:
        return "".join(_TOKEN.findall(text)[:max_len])

    def first_tokens(self, text: str, tokens: int) -> str:
        return self.truncate(text, tokens)


@dataclass
class NumberedStories:
    """Tells ``tale <map seed> <site>`` and the prompt, and remembers what it was asked."""

    asked: list[tuple[int, ask.StoryRequest]] = field(default_factory=list)

    def story_texts(self, requests: list[tuple[int, ask.StoryRequest]]) -> list[str]:
        self.asked += requests
        return [
            f"tale {seed} {request.site} {request.prompt}".strip() for seed, request in requests
        ]


@dataclass
class EchoPlayer:
    """Says words that depend on all that it sees, and keeps what it saw."""

    views: defaultdict[ask.Seeds, list[ask.View]] = field(default_factory=lambda: defaultdict(list))

    def moves(self, turns: list[ask.Turn]) -> list[ask.Move | OversizeError]:
        for turn in turns:
            self.views[turn.seeds].append(turn.request.view)
        return [ask.Move(self._words(turn.request.view)) for turn in turns]

    def _words(self, view: ask.View) -> str:
        seed = number(view.player, render(view))
        return ("bad word", "a good word", "tale & more, and more", "")[seed % 4]


class ScriptPlayer:
    """Says its script and keeps the turns it was given."""

    def __init__(self, script: Sequence[str]) -> None:
        self.lines, self.turns = iter(script), list[ask.Turn]()

    def moves(self, turns: list[ask.Turn]) -> list[ask.Move | OversizeError]:
        self.turns += turns
        return [ask.Move(next(self.lines)) for _ in turns]


def seated(player: Any) -> Cast:
    """A cast in which one player sits on every chair."""
    return Cast(WordJudge(), NumberedStories(), dict.fromkeys(PLAYERS, player))
