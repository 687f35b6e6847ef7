"""Chat players of a local server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support.chat_server import ChatServer
from support.chat_turns import KEY, KEY_VARIABLE, Chat, player_of, script_of

from xgl.players.chat import ChatPlayer


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def chat(no_proxy: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ExitStack() as stack:

        def start_chat(*answers: Any, **settings: Any) -> tuple[ChatPlayer, ChatServer]:
            server = stack.enter_context(ChatServer(script_of(answers)))
            return player_of(server, settings), server

        yield start_chat
