"""A deterministic judge, stories and players behind the protocols; the embedded model, loaded once:
no test depends on what it has learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from support.chat_server import ChatServer
from support.chat_turns import KEY, KEY_VARIABLE, Chat, script_of, settings_of
from support.doubles import NumberedStories, ScriptPlayer, WordJudge

from xgl import Cast, Instance, Metadata, Play, Seeds, game, parse, play_all
from xgl.language.dialects import DIALECTS
from xgl.players.chat import ChatPlayer
from xgl.runtime.requests import ScoreRequest, TokenScores, View

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge
    from xgl.lm.language_model import LanguageModel


@dataclass
class Table:
    """Plays single games; judge, stories and players stay here to be looked at."""

    judge: WordJudge = field(default_factory=WordJudge)
    stories: NumberedStories = field(default_factory=NumberedStories)
    players: dict[str, ScriptPlayer] = field(default_factory=dict)

    def play(
        self,
        code: str,
        *script: str,
        dialect: str = "paper",
        map_seed: int = 7,
        metadata: Metadata | None = None,
        **scripts: Sequence[str],
    ) -> Play:
        """``script`` is what black says, ``scripts`` what the others say."""
        lines = {"black": script, **scripts}
        self.players = {name: ScriptPlayer(texts) for name, texts in lines.items()}
        instance = Instance(game(parse(code, dialect), metadata), Seeds(map_seed, 0))
        [play] = play_all([instance], Cast(self.judge, self.stories, dict(self.players)))
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
def lm() -> LanguageModel:
    import torch

    from xgl.lm.language_model import LanguageModel
    from xgl.models import resolve

    torch.set_num_threads(1)
    return LanguageModel(*resolve.load("embedded"), torch.device("cpu"))


@pytest.fixture(scope="session")
def judge(lm: LanguageModel) -> TransformerJudge:
    from xgl.judge.transformer_judge import TransformerJudge

    return TransformerJudge(lm)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ExitStack() as stack:

        def start_chat(*answers: Any, **settings: Any) -> tuple[ChatPlayer, ChatServer]:
            server = stack.enter_context(ChatServer(script_of(answers)))
            return ChatPlayer(settings_of(server.url, **settings)), server

        yield start_chat
