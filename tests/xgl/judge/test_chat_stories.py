"""A chat model writes the texts of maps: one text a map for everybody, from a real server."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from support.chat_server import ChatServer, Received, Sent, refusal, reply
from support.chat_turns import KEY, KEY_VARIABLE, QUICK

from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError, StoryError
from xgl.judge.story_sources import ChatStories
from xgl.runtime.requests import StoryRequest


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def source(server: ChatServer, folder: Path) -> ChatStories:
    settings = ChatSettings("m", server.url, key_variable=KEY_VARIABLE, **QUICK)
    return ChatStories(settings, lambda text, limit: " ".join(text.split()[:limit]), folder)


def test_a_map_has_the_text_that_came_first_in_every_process(tmp_path: Path) -> None:
    numbers = count()

    def script(request: Received) -> Sent:
        return reply(f"\n Statement {next(numbers)}\nis true of all. ")

    asked = [(5, StoryRequest(site, 4, "a provable statement")) for site in (0, 1, 0)]
    with ChatServer(script) as server:
        first = source(server, tmp_path).story_texts(asked)
        assert source(server, tmp_path).story_texts(asked) == first  # as another worker has them
        assert len(server.received) == 2
        assert all(each.last == "a provable statement" for each in server.received)
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
        other = source(server, tmp_path).story_texts([(7, asked[0][1]), (5, StoryRequest(0, 4))])
    assert first[0] == first[2] != first[1]
    assert all(text.startswith("Statement ") and text.endswith(" is true") for text in first)
    assert len({*first, *other}) == 4


def test_an_endpoint_that_writes_nothing_ends_the_game_with_a_sentence(tmp_path: Path) -> None:
    asked = [(5, StoryRequest(0, 4))]
    with ChatServer(lambda _: reply("  ")) as server:
        with pytest.raises(StoryError, match="no text in its answers"):
            source(server, tmp_path).story_texts(asked)
        assert len(server.received) == 3
    with ChatServer(lambda _: refusal(401)) as server, pytest.raises(PlayerError, match="401"):
        source(server, tmp_path).story_texts(asked)
    assert not list(tmp_path.iterdir())
