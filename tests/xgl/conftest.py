"""A deterministic judge, stories and players behind the protocols."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from support.programs import PROGRAMS

from xgl import Cast, Instance, Metadata, Play, Program, Seeds, game, parse, play_all
from xgl import syntax as syn
from xgl.dialects import DIALECTS
from xgl.errors import OversizeError
from xgl.presentation import render
from xgl.requests import Move, ScoreRequest, StoryRequest, TokenScores, TruthRequest, Turn, View
from xgl.truth import decide

_TOKEN = re.compile(r"\s*\S+|\s+$")


def number(*key: object) -> int:
    """An integer below 2^32 named by a key."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big")


@dataclass
class WordJudge:
    """A token is a word with the space before it; its bits hang on all text before it.

    Bits are whole eighths, so sums are exact. Requests of more than ``window`` tokens are
    oversize. Statements that no rule decides are true as ``believes`` says.
    """

    window: int = 10_000
    believes: Callable[[str], bool] = lambda statement: "bad" not in statement
    scored: list[list[ScoreRequest]] = field(default_factory=list)
    judged: list[list[TruthRequest]] = field(default_factory=list)

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        self.scored.append(requests)
        return [self._score(request) for request in requests]

    def _score(self, request: ScoreRequest) -> TokenScores | OversizeError:
        before = [token for part in request.context for token in _TOKEN.findall(part)]
        tokens = _TOKEN.findall(request.text)
        if len(before) + len(tokens) > self.window:
            return OversizeError("too long for the judge")
        bits = tuple(
            number(request.scoring.bos, before, tokens[: index + 1]) % 128 / 8
            for index in range(len(tokens))
        )
        return TokenScores(bits if request.scoring.first_token else bits[1:])

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        self.judged.append(requests)
        return [self._truth(request) for request in requests]

    def _truth(self, request: TruthRequest) -> bool | OversizeError:
        if request.predicate is not None:
            return decide(request.predicate, self.count)
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

    asked: list[tuple[int, StoryRequest]] = field(default_factory=list)

    def tell(self, asked: list[tuple[int, StoryRequest]]) -> list[str]:
        self.asked += asked
        return [f"tale {seed} {request.site} {request.prompt}".strip() for seed, request in asked]


@dataclass
class ScriptPlayer:
    """Says its script, the same one in every instance, and keeps the turns it was given."""

    script: Sequence[str | OversizeError]
    turns: list[Turn] = field(default_factory=list)
    said: defaultdict[Seeds, int] = field(default_factory=lambda: defaultdict(int))

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        self.turns += turns
        return [self._next(turn.seeds) for turn in turns]

    def _next(self, seeds: Seeds) -> Move | OversizeError:
        line = self.script[self.said[seeds]]
        self.said[seeds] += 1
        return line if isinstance(line, OversizeError) else Move(line)


@dataclass
class EchoPlayer:
    """Says words that hang on all that it sees, and keeps what it saw."""

    views: defaultdict[Seeds, list[View]] = field(default_factory=lambda: defaultdict(list))

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        for turn in turns:
            self.views[turn.seeds].append(turn.request.view)
        return [Move(self._words(turn.request.view)) for turn in turns]

    def _words(self, view: View) -> str:
        seed = number(view.player, render(view))
        return ("bad word", "a good word", "tale & more, and more", "")[seed % 4]


@dataclass
class Table:
    """Plays single games; judge, stories and players stay here to be looked at."""

    judge: WordJudge = field(default_factory=WordJudge)
    stories: NumberedStories = field(default_factory=NumberedStories)
    players: dict[str, ScriptPlayer] = field(default_factory=dict)

    def play(
        self,
        code: str,
        *script: str | OversizeError,
        dialect: str = "paper",
        map_seed: int = 7,
        metadata: Metadata | None = None,
        **scripts: Sequence[str | OversizeError],
    ) -> Play:
        """``script`` is what black says, ``scripts`` what the others say."""
        lines = {"black": script, **scripts}
        self.players = {name: ScriptPlayer(said) for name, said in lines.items()}
        played = Instance(game(parse(code, dialect), metadata), Seeds(map_seed, 0))
        [play] = play_all([played], Cast(self.judge, self.stories, dict(self.players)))
        return play

    def views(self, player: str) -> list[View]:
        return [turn.request.view for turn in self.players[player].turns]

    def bits(self, text: str, *context: str, dialect: str = "paper") -> float:
        """What the judge gives a text by itself."""
        [answer] = WordJudge().score([ScoreRequest(text, context, DIALECTS[dialect].scoring)])
        assert isinstance(answer, TokenScores)
        return answer.total


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture(scope="session")
def programs() -> st.SearchStrategy[Program]:
    """Valid programs of either dialect."""
    return PROGRAMS


@pytest.fixture
def echo_player() -> Callable[[], EchoPlayer]:
    return EchoPlayer


@pytest.fixture
def seat() -> Callable[[EchoPlayer], Cast]:
    """A cast in which one player sits on every chair."""

    def cast(player: EchoPlayer) -> Cast:
        return Cast(WordJudge(), NumberedStories(), dict.fromkeys(syn.PLAYERS, player))

    return cast
